"""Decisions of people: appended, never changed."""

from __future__ import annotations

from sqlalchemy import func, insert, select, update

from engine.domain.base import utc_now
from engine.domain.runs import ExecutionStatus
from engine.domain.verdicts import Review, ReviewVerdict
from engine.errors import ConflictError, NotFoundError
from engine.store.database import Database
from engine.store.tables import attempts, executions, reviews


class ReviewStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, run_id: int) -> int:
        """How many decisions were taken in a run, those taken back included."""
        query = (
            select(func.count())
            .select_from(reviews.join(executions, executions.c.id == reviews.c.execution_id))
            .where(executions.c.run_id == run_id)
        )
        with self._database.reading() as connection:
            return connection.scalar(query) or 0

    def add(
        self,
        run_id: int,
        execution_id: int,
        *,
        attempt: int,
        verdict: ReviewVerdict,
        reason: str,
        reviewer_id: int | None,
        reviewer: str,
        if_version: int | None,
    ) -> Review:
        """Append a decision about the attempt the reviewer saw.

        Args:
            if_version: The newest review version the reviewer saw, 0 for none; None does not ask.

        Raises:
            NotFoundError: code `result_not_found`.
            ConflictError: code `stale_review` when somebody has decided since, or when a newer attempt is shown;
                code `not_reviewable` when there is no answer to decide about.
        """
        now = utc_now()
        with self._database.writing() as connection:
            shown = connection.execute(
                select(executions.c.shown_attempt, attempts.c.execution_status, reviews.c.version)
                .select_from(
                    executions.join(
                        attempts,
                        (attempts.c.execution_id == executions.c.id)
                        & (attempts.c.number == executions.c.shown_attempt),
                    ).join(reviews, reviews.c.id == attempts.c.latest_review_id, isouter=True)
                )
                .where(executions.c.id == execution_id, executions.c.run_id == run_id)
            ).first()
            if shown is None:
                raise NotFoundError(f"run {run_id} has no result {execution_id}", code="result_not_found")
            if shown.shown_attempt != attempt:
                raise ConflictError(
                    f"attempt {shown.shown_attempt} has come since; read it before you decide", code="stale_review"
                )
            if shown.execution_status != ExecutionStatus.COMPLETED:
                raise ConflictError("there is no answer to decide about", code="not_reviewable")
            if if_version is not None and (shown.version or 0) > if_version:
                raise ConflictError(
                    f"somebody has decided since (version {shown.version}); read it before you decide",
                    code="stale_review",
                )
            newest = connection.scalar(
                select(func.max(reviews.c.version)).where(reviews.c.execution_id == execution_id)
            )
            version = (newest or 0) + 1
            key = connection.execute(
                insert(reviews).values(
                    execution_id=execution_id,
                    attempt=attempt,
                    version=version,
                    verdict=verdict.value,
                    reason=reason,
                    reviewer_id=reviewer_id,
                    reviewer=reviewer,
                    created_at=now,
                )
            ).inserted_primary_key
            assert key is not None
            connection.execute(
                update(attempts)
                .where(attempts.c.execution_id == execution_id, attempts.c.number == attempt)
                .values(latest_review_id=key[0])
            )
        return Review(
            verdict=verdict, reason=reason, reviewer=reviewer, created_at=now, version=version, attempt=attempt
        )
