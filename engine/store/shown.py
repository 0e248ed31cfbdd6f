"""What people see of an execution, in SQL: its shown attempt and that attempt's effective verdict."""

from __future__ import annotations

from sqlalchemy import ColumnElement, FromClause, and_, case

from engine.domain.verdicts import ReviewVerdict
from engine.store.tables import attempts, executions, reviews

DECISIVE = (ReviewVerdict.PASS.value, ReviewVerdict.FAIL.value)


def with_shown_attempt(*, even_without: bool = False) -> FromClause:
    """Executions, their shown attempt and its newest review; with `even_without` also those with no attempt."""
    shown = and_(attempts.c.execution_id == executions.c.id, attempts.c.number == executions.c.shown_attempt)
    return executions.join(attempts, shown, isouter=even_without).join(
        reviews, reviews.c.id == attempts.c.latest_review_id, isouter=True
    )


def effective_verdict() -> ColumnElement[str | None]:
    """The newest review's, if it decides; else the automatic one."""
    return case((reviews.c.verdict.in_(DECISIVE), reviews.c.verdict), else_=attempts.c.automatic_verdict)
