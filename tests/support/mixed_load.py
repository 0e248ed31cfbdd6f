"""Sixteen people who read and write while runs are under way."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from engine.assembly import Engine
from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import ExecutionStatus, ResultFilter, RunSpec
from engine.domain.verdicts import ReviewVerdict
from engine.services import health, providers, reports, results, reviews, runs
from tests.support import engines

THREADS = 16
IN_FLIGHT = 16
THINKS_S = 0.2
"""The longest pause between two things a person does; without pauses, sixteen threads measure nothing but one core."""
PATIENCE_S = 60.0


class Load(NamedTuple):
    """What came of it; times in seconds."""

    runs: int
    reads: int
    writes: int
    write_p99_s: float
    write_longest_s: float
    faults: tuple[str, ...]
    """Whatever was raised to one of them, as `class: message`."""


class _Hand(threading.Thread):
    """One of the people, who does one thing after the other."""

    def __init__(self, engine: Engine, number: int, run_id: Callable[[], int], over: threading.Event) -> None:
        super().__init__(name=f"hand-{number}")
        self._engine, self._number, self._run_id, self._over = engine, number, run_id, over
        self._chance = random.Random(number)
        self.reads = 0
        self.writes_s: list[float] = []
        self.faults: list[str] = []

    def run(self) -> None:
        mine = providers.create(
            self._engine,
            ProviderDraft(name=f"of hand {self._number}", kind=ProviderKind.DEMO, default_model="demo-model"),
            actor=engines.ADMIN,
        )
        while not self._over.is_set():
            try:
                if self._chance.random() < 0.7:
                    self._read()
                    self.reads += 1
                elif (write := self._write(mine.id)) is not None:
                    begun = time.perf_counter()
                    write()
                    self.writes_s.append(time.perf_counter() - begun)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                self.faults.append(f"{type(error).__name__}: {error}")
            time.sleep(self._chance.uniform(0, THINKS_S))

    def _read(self) -> None:
        engine, actor, run_id = self._engine, engines.ADMIN, self._run_id()
        self._chance.choice(
            (
                lambda: health.report(engine),
                lambda: runs.page(engine, actor=actor),
                lambda: runs.progress(engine, run_id, actor=actor),
                lambda: results.page(engine, run_id, ResultFilter(), actor=actor),
                lambda: results.facets(engine, run_id, ResultFilter(), actor=actor),
                lambda: reports.by_clause(engine, run_id, actor=actor),
                lambda: reviews.queue(engine, actor=actor),
                lambda: providers.page(engine, actor=actor),
            )
        )()

    def _write(self, provider_id: int) -> Callable[[], object] | None:
        """A review of a finished result, or a change of a provider; None where there is nothing to review yet."""
        engine, chance, actor = self._engine, self._chance, engines.ADMIN
        if chance.random() < 0.5:
            change = ProviderChange(max_concurrency=chance.randint(1, 64))
            return lambda: providers.change(engine, provider_id, change, actor=actor)
        run_id = self._run_id()
        found = results.page(engine, run_id, ResultFilter(execution_status=ExecutionStatus.COMPLETED), actor=actor)
        if not found.items:
            return None
        reviewed = chance.choice(found.items).execution_id
        verdict = chance.choice((ReviewVerdict.PASS, ReviewVerdict.FAIL))
        reason = f"decided by hand {self._number}"
        return lambda: reviews.decide(engine, run_id, reviewed, verdict=verdict, reason=reason, actor=actor)


def mixed_load(engine: Engine, base_url: str, *, seconds: float) -> Load:
    """One run after the other for so long, and the hands beside them."""
    over = threading.Event()
    current: list[int] = []

    def start() -> None:
        endpoint = engines.endpoint(base_url, max_concurrency=IN_FLIGHT)
        spec = RunSpec(profile="full", auto_judge=True)
        current.append(runs.start(engine, spec, actor=engines.ADMIN, endpoint=endpoint).id)

    start()
    hands = [_Hand(engine, number, lambda: current[-1], over) for number in range(THREADS)]
    faults: list[str] = []
    for hand in hands:
        hand.start()
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(0.05)
            now = runs.get(engine, current[-1], actor=engines.ADMIN)
            if now.status.is_over:
                if now.status != "completed":
                    faults.append(f"run {now.id} {now.status}: {now.error}")
                start()
    finally:
        over.set()
        for hand in hands:
            hand.join(PATIENCE_S)
    last = engines.until_over(engine, current[-1])
    if last.status != "completed":
        faults.append(f"run {last.id} {last.status}: {last.error}")
    writes = sorted(taken for hand in hands for taken in hand.writes_s)
    return Load(
        runs=len(current),
        reads=sum(hand.reads for hand in hands),
        writes=len(writes),
        write_p99_s=writes[int(len(writes) * 0.99)] if writes else 0.0,
        write_longest_s=writes[-1] if writes else 0.0,
        faults=(*faults, *(fault for hand in hands for fault in hand.faults)),
    )
