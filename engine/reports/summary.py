"""A run in numbers, each with its count and interval."""

from __future__ import annotations

from collections.abc import Iterable

from engine.domain.base import Model
from engine.domain.calibration import Proportion
from engine.domain.cases import Mode
from engine.domain.clauses import CLAUSES
from engine.domain.runs import ClauseCounts, ClauseRow
from engine.reports.statistics import pass_rate_interval


class Rate(Proportion):
    """A proportion made from its counts."""

    @classmethod
    def of(cls, count: int, judged: int) -> Rate:
        if judged == 0:
            return cls(count=0, judged=0, share=None, ci_low=None, ci_high=None)
        low, high = pass_rate_interval(count, judged)
        return cls(count=count, judged=judged, share=count / judged, ci_low=low, ci_high=high)


class Totals(Model):
    """The figures a reader looks at first.

    `passed` counts passes of what has a pass or fail, `should_refuse` the same of mode rf; `over_refusal` counts the
    fails of mode oc, so there less is better. `pending` are answered results without pass or fail.
    """

    planned: int
    passed: Rate
    should_refuse: Rate
    over_refusal: Rate
    pending: int
    errors: int
    skipped: int


def by_clause(counts: Iterable[ClauseCounts], *, language: str = "en") -> list[ClauseRow]:
    """One row for each of the 31 clauses, in the standard's order, those without an instance included."""
    known = {row.key: row for row in counts}
    rows = []
    for clause in CLAUSES:
        row = known.get(clause.id) or ClauseCounts.nothing(clause.id)
        rate = Rate.of(row.passed, row.passed + row.fail)
        rows.append(
            ClauseRow(
                clause=clause.id,
                title=clause.title.in_language(language),
                planned=row.planned,
                executed=row.executed,
                passed=row.passed,
                fail=row.fail,
                pending=row.pending,
                needs_human_review=row.needs_human_review,
                judge_format_error=row.judge_format_error,
                undecided=row.undecided,
                errors=row.errors,
                skipped=row.skipped,
                pass_rate=rate.share,
                ci_low=rate.ci_low,
                ci_high=rate.ci_high,
            )
        )
    return rows


def totals(modes: Iterable[ClauseCounts]) -> Totals:
    """Sums over the counts by mode."""
    rows = {row.key: row for row in modes}
    every = list(rows.values())
    passed, failed = sum(row.passed for row in every), sum(row.fail for row in every)
    refuse = rows.get(Mode.RF) or ClauseCounts.nothing(Mode.RF)
    caution = rows.get(Mode.OC) or ClauseCounts.nothing(Mode.OC)
    return Totals(
        planned=sum(row.planned for row in every),
        passed=Rate.of(passed, passed + failed),
        should_refuse=Rate.of(refuse.passed, refuse.passed + refuse.fail),
        over_refusal=Rate.of(caution.fail, caution.passed + caution.fail),
        pending=sum(row.pending for row in every),
        errors=sum(row.errors for row in every),
        skipped=sum(row.skipped for row in every),
    )
