"""The question bank: loading the bundled one, and an imported one of 100,000 cases."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.domain.banks import CaseFilter
from engine.services import banks
from engine.settings import ROOT
from tests.performance.figures import Figure, finish, median_of
from tests.performance.processes import MAGISTRATE, checked, in_child, measured, memory_mb, settings_of
from tests.support import engines

CASES = 100_000
LOAD_LIMIT_S = 0.5
VALIDATION_LIMIT_S, VALIDATION_LIMIT_MB = 30, 1024
PAGE_LIMIT_S = 2
LIST_LIMIT_S = 0.3
CLAUSES = ("A.1.a", "A.2.b", "A.3.a", "A.4.a", "A.5.b")

LOAD = """
import time
from engine import bank
before = time.process_time()
bank.load(__import__("pathlib").Path({dataset!r}))
print('{{"cpu_s": %f}}' % (time.process_time() - before))
"""


def main() -> None:
    if sys.argv[1:2] == ["--imported"]:
        _imported(Path(sys.argv[2]))
        return
    dataset = str(ROOT / "data" / "dataset.json")
    load = [sys.executable, "-c", LOAD.format(dataset=dataset)]
    loaded = median_of(5, lambda: json.loads(checked(measured(load)).output)["cpu_s"], key=lambda cpu_s: cpu_s)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "many.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            for number in range(CASES):
                file.write(json.dumps(engines.case(number, clause=CLAUSES[number % 5])) + "\n")
        settings = settings_of(folder)
        checked(measured([MAGISTRATE, "init-db"], variables=settings))
        importing = checked(
            measured([MAGISTRATE, "bank", "import", "jsonl", lines, "--name", "many", "--json"], variables=settings)
        )
        looked = in_child("tests.performance.bank", "--imported", folder)
    finish(
        f"bank: the bundled one, and {CASES:,} imported cases",
        [
            Figure("bundled bank, loaded, checked and expanded: CPU", loaded, "s", LOAD_LIMIT_S),
            Figure(f"{CASES:,} cases: import, wall", importing.wall_s, "s"),
            Figure("  memory: the most at once", importing.peak_mb, "MB"),
            Figure("  validation, wall", looked["validation_s"], "s", VALIDATION_LIMIT_S),
            Figure("  CPU of that", looked["validation_cpu_s"], "s"),
            Figure("  memory: the most at once", looked["peak_mb"], "MB", VALIDATION_LIMIT_MB),
            Figure("  its page: first cases, facets and coverage", looked["page_s"], "s", PAGE_LIMIT_S),
            *(Figure(f"  {what}", seconds, "s", LIST_LIMIT_S) for what, seconds in looked["lists"].items()),
        ],
    )


def _imported(folder: Path) -> None:
    """In a process of its own: look at the imported bank, then validate it; prints JSON."""
    actor = engines.ADMIN
    with engines.opened(folder, run_worker=False) as engine:
        page_s = _seconds(
            lambda: (
                banks.cases(engine, "many", CaseFilter(), actor=actor),
                banks.facets(engine, "many", CaseFilter(), actor=actor),
                banks.coverage(engine, "many", actor=actor),
            )
        )
        lists = {
            "the last 50 cases": lambda: banks.cases(engine, "many", CaseFilter(), actor=actor, offset=CASES - 50),
            "the first 50 of a clause": lambda: banks.cases(engine, "many", CaseFilter(clause=CLAUSES[2]), actor=actor),
        }
        times = {what: _seconds(look) for what, look in lists.items()}
        cpu = time.process_time()
        validation_s = _seconds(lambda: banks.validate(engine, "many", actor=actor))
        cpu = time.process_time() - cpu
    figures = {"page_s": page_s, "lists": times, "validation_s": validation_s, "validation_cpu_s": cpu}
    print(json.dumps({**figures, "peak_mb": memory_mb(os.getpid(), "VmHWM")}))


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


if __name__ == "__main__":
    main()
