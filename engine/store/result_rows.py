"""From rows to results: whole attempts with their judgements and reviews, for the executions asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Row, select

from engine.domain.cases import Instance, Mode
from engine.domain.chat import Message, Usage
from engine.domain.runs import (
    Attempt,
    ExecutionError,
    ExecutionStatus,
    Output,
    QueueItem,
    ResultDetail,
)
from engine.domain.verdicts import JudgeKind, Judgement, QueueReason, Review
from engine.store.shown import DECISIVE, effective_verdict, with_shown_attempt
from engine.store.tables import attempts, executions, instances, judgements, reviews, transcripts

AttemptKey = tuple[int, int]

_MESSAGES = TypeAdapter(tuple[Message, ...])


def results(connection: Connection, ids: Sequence[int], shape: type[Any]) -> list[Any]:
    """Results in the order of their ids, in two queries."""
    rows = connection.execute(
        select(
            executions.c.id,
            executions.c.run_id,
            executions.c.instance_id,
            executions.c.case_id,
            executions.c.clause,
            executions.c.mode,
            executions.c.attempts,
            attempts,
            *_texts(),
            effective_verdict().label("verdict"),
            *_review_columns(),
        )
        .select_from(with_shown_attempt().join(transcripts))
        .where(executions.c.id.in_(ids))
        .order_by(executions.c.id)
    ).all()
    trails = _trails(connection, ids)
    found = []
    for row in rows:
        trail = trails[row.execution_id, row.number]
        attempt = _attempt(row, trail)
        values = _shown(row, attempt)
        if shape is QueueItem:
            values["why"] = _why(row.verdict)
        found.append(shape(**values))
    return found


def _why(verdict: str) -> QueueReason:
    """A result in the queue that the judges were sure of was drawn to be audited."""
    return QueueReason.AUDIT if verdict in DECISIVE else QueueReason(verdict)


def _texts() -> tuple[ColumnElement[Any], ...]:
    return (
        transcripts.c.answer,
        transcripts.c.output,
        transcripts.c.usage,
        transcripts.c.messages,
        transcripts.c.reasoning,
    )


def _review_columns() -> tuple[ColumnElement[Any], ...]:
    return (
        reviews.c.verdict.label("review_verdict"),
        reviews.c.reason.label("review_reason"),
        reviews.c.reviewer.label("review_reviewer"),
        reviews.c.created_at.label("review_created_at"),
        reviews.c.version.label("review_version"),
        reviews.c.attempt.label("review_attempt"),
    )


def _shown(row: Row[Any], attempt: Attempt) -> dict[str, Any]:
    """The fields of a Result."""
    return {
        "execution_id": row.id,
        "run_id": row.run_id,
        "instance_id": row.instance_id,
        "case_id": row.case_id,
        "clause": row.clause,
        "mode": Mode(row.mode),
        "execution_status": attempt.execution_status,
        "verdict": row.verdict,
        "automatic_verdict": attempt.automatic_verdict,
        "review": None if row.review_verdict is None else _review(row, prefix="review_"),
        "judgements": attempt.judgements,
        "messages": attempt.messages,
        "output": attempt.output,
        "error": attempt.error,
        "latency_ms": attempt.latency_ms,
        "attempts": row.attempts,
        "usage": attempt.usage,
        "created_at": attempt.created_at,
    }


def details(connection: Connection, ids: Sequence[int]) -> list[ResultDetail]:
    """Whole results in the order of their ids, in four queries."""
    rows = connection.execute(
        select(
            executions,
            instances.c.body,
            effective_verdict().label("verdict"),
            *_review_columns(),
        )
        .select_from(with_shown_attempt().join(instances, instances.c.execution_id == executions.c.id))
        .where(executions.c.id.in_(ids))
        .order_by(executions.c.id)
    ).all()
    histories = attempts_of(connection, ids)
    decisions: dict[int, list[Review]] = defaultdict(list)
    for row in connection.execute(
        select(reviews).where(reviews.c.execution_id.in_(ids)).order_by(reviews.c.execution_id, reviews.c.version)
    ):
        decisions[row.execution_id].append(_review(row))
    found = []
    for row in rows:
        history = histories[row.id]
        shown = next(attempt for attempt in history if attempt.number == row.shown_attempt)
        found.append(
            ResultDetail(
                **_shown(row, shown),
                attempts_history=tuple(history),
                reviews=tuple(decisions[row.id]),
                instance=Instance.model_validate_json(row.body),
                audited=row.audit,
            )
        )
    return found


def attempts_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[Attempt]]:
    """Every attempt of these executions, oldest first."""
    trails = _trails(connection, ids)
    found: dict[int, list[Attempt]] = defaultdict(list)
    for row in connection.execute(
        select(attempts, *_texts())
        .join_from(attempts, transcripts)
        .where(attempts.c.execution_id.in_(ids))
        .order_by(attempts.c.execution_id, attempts.c.number)
    ):
        found[row.execution_id].append(_attempt(row, trails[row.execution_id, row.number]))
    return found


def _trails(connection: Connection, ids: Sequence[int]) -> Mapping[AttemptKey, list[Judgement]]:
    """The newest round of judgements of every attempt."""
    trails: dict[AttemptKey, list[Judgement]] = defaultdict(list)
    for row in connection.execute(
        select(judgements)
        .join_from(judgements, attempts)
        .where(judgements.c.execution_id.in_(ids), judgements.c.round == attempts.c.rounds)
        .order_by(judgements.c.execution_id, judgements.c.number, judgements.c.position)
    ):
        trails[row.execution_id, row.number].append(
            Judgement(
                judge=JudgeKind(row.judge),
                verdict=row.verdict,
                reason=row.reason,
                confidence=row.confidence,
                detail=None if row.detail is None else from_json(row.detail),
            )
        )
    return trails


def _attempt(row: Row[Any], trail: Sequence[Judgement]) -> Attempt:
    return Attempt(
        number=row.number,
        execution_status=ExecutionStatus(row.execution_status),
        automatic_verdict=row.automatic_verdict,
        judgements=tuple(trail),
        messages=_MESSAGES.validate_json(row.messages),
        output=None if row.output is None else Output(text=row.answer, **from_json(row.output)),
        error=None if row.error_code is None else ExecutionError(code=row.error_code, message=row.error_message),
        latency_ms=row.latency_ms,
        tries=row.tries,
        usage=None if row.usage is None else Usage.model_validate_json(row.usage),
        served_model=row.served_model,
        reasoning=row.reasoning,
        created_at=row.created_at,
    )


def _review(row: Row[Any], *, prefix: str = "") -> Review:
    values = row._mapping
    return Review(
        verdict=values[prefix + "verdict"],
        reason=values[prefix + "reason"],
        reviewer=values[prefix + "reviewer"],
        created_at=values[prefix + "created_at"],
        version=values[prefix + "version"],
        attempt=values[prefix + "attempt"],
    )
