"""Judges beside people: what they said of the same answers, and of answers whose verdict is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, case, delete, func, insert, select, text

from engine.domain.calibration import Confusion
from engine.domain.controls import ControlOutcome
from engine.domain.verdicts import JudgeKind, Verdict
from engine.store.database import Database
from engine.store.shown import DECISIVE, with_shown_attempt
from engine.store.tables import IS_AUDITED, attempts, controls, executions, judgements, reviews, runs

DISTRUSTED = "distrusted"
"""How a judgement says that its judge had no vote on the clause; `said` beside it keeps what it concluded."""


def _said() -> ColumnElement[str]:
    return func.json_extract(judgements.c.detail, "$.said")


class AgreementStore:
    """Counts are made in the database; positive is pass."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_model(self, judge_model: str, prompt_version: str | None) -> dict[str, Confusion]:
        """By clause: a judge model's own opinion against people's newest decision on the same attempt.

        Counted are answers on which both say pass or fail, over every opinion of this model under this version of
        the prompts, in whatever run: one run may have been judged by two models.
        """
        latest = and_(
            judgements.c.execution_id == attempts.c.execution_id,
            judgements.c.number == attempts.c.number,
            judgements.c.round == attempts.c.rounds,
            judgements.c.judge == JudgeKind.LLM.value,
        )
        # A vote, or what would have been one had it not been taken away. Doubtful opinions are no votes.
        said = case(
            (judgements.c.verdict.in_(DECISIVE), judgements.c.verdict),
            (func.json_extract(judgements.c.detail, "$.doubt") == DISTRUSTED, _said()),
        )
        wanted = [
            func.json_extract(judgements.c.detail, "$.model") == judge_model,
            func.json_extract(judgements.c.detail, "$.prompt_version").is_not_distinct_from(prompt_version),
        ]
        query = (
            select(executions.c.clause, said.label("said"), reviews.c.verdict, func.count())
            .select_from(
                reviews.join(
                    attempts,
                    and_(
                        attempts.c.latest_review_id == reviews.c.id,
                        attempts.c.execution_id == reviews.c.execution_id,
                    ),
                )
                .join(executions, executions.c.id == attempts.c.execution_id)
                .join(judgements, latest)
            )
            .where(*wanted, reviews.c.verdict.in_(DECISIVE), said.in_(DECISIVE))
            .group_by(executions.c.clause, said, reviews.c.verdict)
        )
        return self._confusions(query)

    def of_run(self, run_id: int, *, audited_only: bool = False) -> dict[str, Confusion]:
        """By clause: the automatic verdict of a run against people's newest decision on the same attempt.

        `audited_only`: on the shown attempts of what was drawn for audit, which is a random sample; of the others
        somebody chose what to look at.
        """
        query = (
            select(executions.c.clause, attempts.c.automatic_verdict.label("said"), reviews.c.verdict, func.count())
            .select_from(
                executions.join(attempts, attempts.c.execution_id == executions.c.id).join(
                    reviews, reviews.c.id == attempts.c.latest_review_id
                )
            )
            .where(
                executions.c.run_id == run_id,
                reviews.c.verdict.in_(DECISIVE),
                attempts.c.automatic_verdict.in_(DECISIVE),
            )
            .group_by(executions.c.clause, attempts.c.automatic_verdict, reviews.c.verdict)
        )
        if audited_only:
            query = query.where(text(f"executions.{IS_AUDITED}"), attempts.c.number == executions.c.shown_attempt)
        return self._confusions(query)

    def automatic(self, run_id: int) -> dict[str, tuple[int, int]]:
        """By clause: automatic passes, and automatic passes and fails, of the shown attempts."""
        passed, _failed = DECISIVE
        query = (
            select(
                executions.c.clause,
                func.sum(case((attempts.c.automatic_verdict == passed, 1), else_=0)),
                func.count(),
            )
            .select_from(with_shown_attempt())
            .where(executions.c.run_id == run_id, attempts.c.automatic_verdict.in_(DECISIVE))
            .group_by(executions.c.clause)
        )
        with self._database.reading() as connection:
            return {clause: (passes, judged) for clause, passes, judged in connection.execute(query)}

    def audited(self, run_id: int) -> tuple[int, int]:
        """How many instances of a run were drawn for audit, and how many of them have an automatic pass or fail."""
        query = (
            select(func.count(), func.count(case((attempts.c.automatic_verdict.in_(DECISIVE), 1))))
            .select_from(with_shown_attempt(even_without=True))
            .where(executions.c.run_id == run_id, text(f"executions.{IS_AUDITED}"))
        )
        with self._database.reading() as connection:
            drawn, confident = connection.execute(query).one()
            return drawn, confident

    def _confusions(self, query: object) -> dict[str, Confusion]:
        counts: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        with self._database.reading() as connection:
            for clause, said, decided, number in connection.execute(query):  # type: ignore[call-overload]
                counts[clause][decided, said] = number
        passed, failed = DECISIVE
        return {
            clause: Confusion(
                true_positive=cells.get((passed, passed), 0),
                false_positive=cells.get((failed, passed), 0),
                false_negative=cells.get((passed, failed), 0),
                true_negative=cells.get((failed, failed), 0),
            )
            for clause, cells in sorted(counts.items())
        }

    def add_controls(self, run_id: int, outcomes: Sequence[ControlOutcome]) -> None:
        """In place of those the run may have: they are of the judge it has now."""
        with self._database.writing() as connection:
            connection.execute(delete(controls).where(controls.c.run_id == run_id))
            connection.execute(
                insert(controls),
                [
                    {
                        "run_id": run_id,
                        "control_id": each.control_id,
                        "expected": each.expected.value,
                        "verdict": None if each.verdict is None else each.verdict.value,
                        "reason": each.reason,
                        "created_at": each.created_at,
                    }
                    for each in outcomes
                ],
            )

    def controls(self, run_id: int) -> tuple[ControlOutcome, ...]:
        """What the run's judge made of the control cases, by their id."""
        query = select(controls).where(controls.c.run_id == run_id).order_by(controls.c.control_id)
        with self._database.reading() as connection:
            return tuple(
                ControlOutcome(
                    control_id=row.control_id,
                    expected=Verdict(row.expected),
                    verdict=None if row.verdict is None else Verdict(row.verdict),
                    reason=row.reason,
                    created_at=row.created_at,
                )
                for row in connection.execute(query)
            )

    def controls_before(self, run_id: int, judge_model: str) -> tuple[int, tuple[ControlOutcome, ...]] | None:
        """The newest earlier run of the same judge model that has outcomes, and these; None when there is none."""
        query = (
            select(func.max(runs.c.id))
            .select_from(runs.join(controls, controls.c.run_id == runs.c.id))
            .where(runs.c.id < run_id, runs.c.judge_model == judge_model, controls.c.verdict.is_not(None))
        )
        with self._database.reading() as connection:
            earlier = connection.scalar(query)
        return None if earlier is None else (earlier, self.controls(earlier))
