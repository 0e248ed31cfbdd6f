"""H7: kill -9 in the middle of an import, fifty times; what is left is the whole bank or none of it.

    python -m tests.performance.kill_imports [--kills 50] [--cases 3000]

Each import is the real command on one database. After each kill SQLite's own check passes, no case lies about without
its bank, and the bank is there with all its cases or not at all; what is not there can be imported at once. The first
violation ends the program.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine.store.database import installed_driver
from tests.support import engines
from tests.support.command_line import CommandLine

KILLS = 50
CASES = 3000


class Outcome(NamedTuple):
    """What so many kills left: `killed` ended a process that had not ended by itself."""

    killed: int
    whole: int
    none: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill imports.")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--cases", type=int, default=CASES, help="of the bank that is imported")
    options = parser.parse_args(arguments)
    print(f"kill -9 in an import of {options.cases} cases")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = CommandLine(Path(folder))
        command("init-db")
        try:
            outcome = sweep(command, kills=options.kills, cases=options.cases)
        except AssertionError as error:
            print(f"VIOLATED: {error}")
            sys.exit(1)
    print(
        f"{options.kills} imports, {outcome.killed} killed before their end: {outcome.whole} left the whole bank, "
        f"{outcome.none} none of it, {time.monotonic() - begun:.0f} s"
    )


def sweep(command: CommandLine, *, kills: int, cases: int, seed: int = 20261201) -> Outcome:
    """Import the same file under a new name each time and kill the command at a moment within it.

    The moments close in on the one at which a bank comes to be there, and lie mostly just before it: that is where a
    part of a bank would be seen.

    Raises:
        AssertionError: something is left of a bank that is not there whole.
    """
    chance = random.Random(seed)
    file = command.folder / "killed.jsonl"
    file.write_text("".join(json.dumps(engines.case(number)) + "\n" for number in range(cases)), encoding="utf-8")
    begun = time.monotonic()
    command("bank", "import", "jsonl", file, "--name", "undisturbed")
    usual_s = time.monotonic() - begun
    edge = 0.75  # the share of the usual time after which the bank is there, as far as is known
    killed = whole = none = 0
    for number in range(kills):
        name = f"killed-{number}"
        with command.start("bank", "import", "jsonl", file, "--name", name) as process:
            time.sleep(max(0.2, edge + chance.uniform(-0.2, 0.05)) * usual_s)
            process.kill()
            process.communicate(timeout=30)
        acknowledged = process.returncode == 0
        killed += not acknowledged
        stored = left(command.database).get(name)
        assert stored in (None, (cases, cases, cases)), f"{name} is there in part: {stored}"
        assert stored is not None or not acknowledged, f"{name} was acknowledged and is not there"
        edge += 0.03 if stored is None else -0.03
        whole += stored is not None
        none += stored is None
        if stored is None and none == 1:
            command("bank", "import", "jsonl", file, "--name", name)  # nothing of the first try is in the way
    return Outcome(killed, whole, none)


def left(database: Path) -> dict[str, tuple[int, int, int]]:
    """By imported bank: the cases it counts, and the rows and texts of cases it has. Checks the whole file.

    Raises:
        AssertionError: the file is damaged, or a case belongs to no bank.
    """
    connection = installed_driver().connect(str(database))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        orphans = connection.execute("SELECT count(*) FROM bank_cases WHERE bank_id NOT IN (SELECT id FROM banks)")
        assert orphans.fetchone() == (0,), "cases without a bank"
        rows = connection.execute(
            "SELECT b.name, b.cases, count(c.id), count(t.case_row_id) FROM banks b "
            "LEFT JOIN bank_cases c ON c.bank_id = b.id LEFT JOIN bank_case_texts t ON t.case_row_id = c.id "
            "WHERE b.source = 'jsonl' GROUP BY b.id"
        ).fetchall()
    finally:
        connection.close()
    return {name: (counted, cases, texts) for name, counted, cases, texts in rows}


if __name__ == "__main__":
    main()
