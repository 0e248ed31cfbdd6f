"""A run's verdicts beside people's, clause by clause and pooled, from counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from engine.domain.calibration import Basis, ClauseCalibration, Confusion, Corrected, JudgeFigures, Uncorrected
from engine.domain.clauses import CLAUSES
from engine.domain.runs import ClauseCounts
from engine.reports.agreement import corrected_rate, of_confusion
from engine.reports.summary import Rate

LEAST_AUDITED = 10
"""So many decisions on audited answers, and a corrected rate rests on these alone."""


class Counts(NamedTuple):
    """What the figures of one clause, or of all, are made of."""

    passed: int = 0
    judged: int = 0
    automatic_passed: int = 0
    automatic_judged: int = 0
    people: Confusion = Confusion()
    audited: Confusion = Confusion()
    judge: Confusion = Confusion()


class Measured(NamedTuple):
    """Counts by clause; a clause that is absent has none."""

    effective: Mapping[str, ClauseCounts]
    automatic: Mapping[str, tuple[int, int]]
    """Passes, and passes and fails, of the automatic verdicts."""
    people: Mapping[str, Confusion]
    audited: Mapping[str, Confusion]
    """The part of `people` that is about answers drawn for audit."""
    judge: Mapping[str, Confusion]

    def of(self, clause: str) -> Counts:
        row = self.effective.get(clause) or ClauseCounts.nothing(clause)
        passed, judged = self.automatic.get(clause, (0, 0))
        none = Confusion()
        return Counts(
            row.passed,
            row.passed + row.fail,
            passed,
            judged,
            self.people.get(clause, none),
            self.audited.get(clause, none),
            self.judge.get(clause, none),
        )


def by_clause(measured: Measured, *, distrusted: Collection[str]) -> tuple[ClauseCalibration, ...]:
    """Clauses with a verdict, a decision of people or a judge without a vote, in the standard's order."""
    found = []
    for clause in CLAUSES:
        counts = measured.of(clause.id)
        if counts != Counts() or clause.id in distrusted:
            found.append(
                ClauseCalibration(
                    clause=clause.id,
                    title=clause.title,
                    distrusted=clause.id in distrusted,
                    **_values(counts),
                )
            )
    return tuple(found)


def pooled(measured: Measured) -> JudgeFigures:
    """All clauses as one."""
    every = [measured.of(clause.id) for clause in CLAUSES]
    return JudgeFigures(
        **_values(
            Counts(
                sum(each.passed for each in every),
                sum(each.judged for each in every),
                sum(each.automatic_passed for each in every),
                sum(each.automatic_judged for each in every),
                total(each.people for each in every),
                total(each.audited for each in every),
                total(each.judge for each in every),
            )
        )
    )


def total(cells: Iterable[Confusion]) -> Confusion:
    """The sum, cell by cell."""
    every = list(cells)
    return Confusion(
        true_positive=sum(each.true_positive for each in every),
        false_positive=sum(each.false_positive for each in every),
        false_negative=sum(each.false_negative for each in every),
        true_negative=sum(each.true_negative for each in every),
    )


def _values(counts: Counts) -> dict[str, Any]:
    corrected, basis, uncorrected = _corrected(counts)
    return {
        "passed": Rate.of(counts.passed, counts.judged),
        "automatic": Rate.of(counts.automatic_passed, counts.automatic_judged),
        "agreement": of_confusion(counts.people),
        "audited": counts.audited.n,
        "judge": of_confusion(counts.judge) if counts.judge.n else None,
        "corrected": corrected,
        "basis": basis,
        "uncorrected": uncorrected,
    }


def _corrected(counts: Counts) -> tuple[Corrected | None, Basis | None, Uncorrected | None]:
    """The rate with what it rests on, or why there is none."""
    if not counts.automatic_judged:
        return None, None, Uncorrected.NO_VERDICTS
    basis = Basis.AUDITED if counts.audited.n >= LEAST_AUDITED else Basis.EVERY
    cells = counts.audited if basis is Basis.AUDITED else counts.people
    if not cells.n:
        return None, None, Uncorrected.NO_DECISIONS
    found = corrected_rate(counts.automatic_passed, counts.automatic_judged, cells)
    if found is not None:
        return found, basis, None
    one_class = 0 in (cells.true_positive + cells.false_negative, cells.true_negative + cells.false_positive)
    return None, None, Uncorrected.ONE_CLASS if one_class else Uncorrected.NO_BETTER_THAN_CHANCE
