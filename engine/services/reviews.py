"""Put the doubtful results before a person, and keep what the person decides."""

from __future__ import annotations

from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Page
from engine.domain.runs import ExecutionStatus, QueueItem
from engine.domain.verdicts import Review, ReviewVerdict
from engine.errors import ConflictError, InputError
from engine.review import decisions


def queue(
    engine: Engine,
    *,
    actor: User,
    run_id: int | None = None,
    clause: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Page[QueueItem]:
    """Results whose effective verdict needs a person, oldest run first."""
    actor.require(Permission.READ)
    return engine.stores.results.queue(run_id=run_id, clause=clause, limit=limit, offset=offset)


def count(engine: Engine, run_id: int, *, actor: User) -> int:
    """How many decisions a run holds, those taken back included. Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    engine.stores.runs.require(run_id)
    return engine.stores.reviews.count(run_id)


def decide(
    engine: Engine,
    run_id: int,
    execution_id: int,
    *,
    verdict: ReviewVerdict,
    reason: str,
    if_version: int | None = None,
    actor: User,
) -> Review:
    """Append a decision; the automatic verdict stays as it was, `clear` returns to it.

    Raises:
        InputError: no reason was given.
        ConflictError: `stale_review`: somebody decided since `if_version`; `nothing_to_review`: it has no answer.
        NotFoundError: no such result.
    """
    actor.require(Permission.REVIEW)
    words = decisions.reason(reason)
    result = engine.stores.results.get(run_id, execution_id)
    if result.execution_status is not ExecutionStatus.COMPLETED:
        raise ConflictError("an execution error has no answer to review; retry it", code="nothing_to_review")
    if verdict is ReviewVerdict.CLEAR and result.review is None:
        raise InputError("there is no decision to clear", code="nothing_to_clear")
    review = engine.stores.reviews.add(
        run_id,
        execution_id,
        attempt=decisions.shown_attempt(result),
        verdict=verdict,
        reason=words,
        reviewer_id=actor.id,
        reviewer=actor.username,
        if_version=if_version,
    )
    engine.record(
        actor, "review.decide", f"result:{execution_id}", run_id=run_id, verdict=verdict, version=review.version
    )
    return review
