"""Kill -9, a hundred times at random and ten times at each named moment of a run, each followed by a resume.

    python -m tests.performance.kill_runs [--kills 100] [--rounds 10]

Each process is the real command. An LLM judge on the same server judges every answer while others are asked. After each
kill: the ledger invariant holds, SQLite's own check and every reference pass, no answer and no verdict is lost, changed
or paid twice; the first violation ends the program.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support import engines
from tests.support.command_line import CommandLine
from tests.support.killing import POINTS, KilledRun
from tests.support.scripted_server import ScriptedServer

ITEMS = 200
IN_FLIGHT = 8
LATENCY_S = 0.05


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill runs and resume them.")
    parser.add_argument("--kills", type=int, default=100, help="at random moments")
    parser.add_argument("--rounds", type=int, default=10, help="kills at each named moment")
    options = parser.parse_args(arguments)
    print(
        f"kill -9 and resume: {ITEMS} items, {IN_FLIGHT} in flight, {LATENCY_S * 1000:g} ms a call, judged by a model"
    )
    failed = False
    for name, sweep, rounds in (("random moments", _random, options.kills), ("named moments", _named, options.rounds)):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, _server() as server:
            run = KilledRun(_command(Path(folder)), server, in_flight=IN_FLIGHT)
            fault = ""
            try:
                sweep(run, rounds)
            except AssertionError as error:
                failed, fault = True, f"; VIOLATED: {error}"
        print(
            f"{name:15} {run.kills:4} kills in {run.runs_finished} runs: at most {run.most_extra} calls and "
            f"{run.most_extra_opinions} opinions lost with one kill, {time.monotonic() - begun:.0f} s{fault}"
        )
    if failed:
        sys.exit(1)


def _random(run: KilledRun, kills: int) -> None:
    chance = random.Random(20261201)
    while run.kills < kills:
        if chance.random() < 0.3:
            run.kill_soon(chance, within_s=2.0, from_start=True)
        else:
            run.kill_soon(chance, within_s=0.6, from_start=False)
    run.finish()


def _named(run: KilledRun, rounds: int) -> None:
    for _ in range(rounds):
        for point in POINTS:
            run.kill_at(point)
        run.finish()


def _server() -> ScriptedServer:
    return ScriptedServer(capable=True, judging=True, latency_s=LATENCY_S)


def _command(folder: Path) -> CommandLine:
    bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(ITEMS)])
    command = CommandLine(folder, BANK_FILE=str(bank))
    command("init-db")
    return command


if __name__ == "__main__":
    main(sys.argv[1:])
