"""A run of 100,000 results in the store: what people look at, each asked some times."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.domain.clauses import BY_ID
from engine.domain.runs import ResultFilter
from engine.domain.verdicts import Verdict
from engine.services import reports, results, runs
from engine.store import GroupCommit
from tests.performance.figures import Figure, finish, p95
from tests.store.samples import answer, draft, instance, judgement
from tests.support import engines

RESULTS = 100_000
WAVE = 512
TIMES = 9
LOOK_LIMIT_S = 1.0
VERDICTS = (Verdict.PASS, Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.NEEDS_HUMAN_REVIEW)


def main() -> None:
    clauses = tuple(BY_ID)
    plan = [instance(f"case-{n:06}", clause=clauses[n % len(clauses)], text=f"Question {n}?") for n in range(RESULTS)]
    actor = engines.ADMIN
    with tempfile.TemporaryDirectory() as name, engines.opened(Path(name), run_worker=False) as engine:
        began = time.monotonic()
        run = engine.stores.runs.create(draft(provider_id=None), instances=plan, blobs={})
        created_s = time.monotonic() - began
        filled_s = _fill(GroupCommit(engine.database), engine.stores.results.pending(run.id))
        everything, failed = ResultFilter(), ResultFilter(verdict=Verdict.FAIL)

        def page(where: ResultFilter, offset: int = 0) -> Callable[[], object]:
            return lambda: results.page(engine, run.id, where, actor=actor, offset=offset)

        looks: dict[str, Callable[[], object]] = {
            "the run with its counts": lambda: runs.get(engine, run.id, actor=actor),
            "the list of runs": lambda: runs.page(engine, actor=actor),
            "the first 50 results": page(everything),
            "the last 50 results": page(everything, RESULTS - 50),
            "the first 50 failed": page(failed),
            "the first 50 failed of a clause": page(failed.model_copy(update={"clause": clauses[3]})),
            "facets": lambda: results.facets(engine, run.id, everything, actor=actor),
            "facets of the failed": lambda: results.facets(engine, run.id, failed, actor=actor),
            "counts by clause": lambda: reports.by_clause(engine, run.id, actor=actor),
            "totals": lambda: reports.totals(engine, run.id, actor=actor),
            "search for a word in 1 of 1,000": page(ResultFilter(q="Answer 123")),
            "search for a word that is nowhere": page(ResultFilter(q="nowhere to be found")),
        }
        times = {what: p95([_seconds(look) for _ in range(TIMES)]) for what, look in looks.items()}
    finish(
        f"store: {RESULTS:,} results",
        [
            Figure("the run is planned within", created_s, "s"),
            Figure("answers and verdicts are stored at", RESULTS / filled_s, "a s"),
            *(Figure(f"{what}: 95 % within", seconds, "s", LOOK_LIMIT_S) for what, seconds in times.items()),
        ],
    )


def _fill(commit: GroupCommit, pending: list) -> float:
    commit.start()
    began = time.monotonic()
    for start in range(0, len(pending), WAVE):
        wave = pending[start : start + WAVE]
        for write in [
            commit.answered(each.execution_id, answer(text=f"Answer {start + position}."))
            for position, each in enumerate(wave)
        ]:
            write.result()
        for position, each in enumerate(wave):
            verdict = VERDICTS[position % len(VERDICTS)]
            write = commit.judged(each.execution_id, 1, verdict=verdict, judgements=[judgement(verdict)])
        write.result()
    commit.stop()
    return time.monotonic() - began


def _seconds(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


if __name__ == "__main__":
    main()
