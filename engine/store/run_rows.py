"""From rows to runs, with their counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, func, or_, select

from engine.domain.runs import ExecutionStatus, Run, RunStatus, VerdictCounts, Waiting
from engine.errors import NotFoundError
from engine.store.shown import effective_verdict, with_shown_attempt
from engine.store.tables import attempts, executions, runs

_CAPABILITIES = TypeAdapter(dict[str, bool | None])


def not_found(run_id: int) -> NotFoundError:
    return NotFoundError(f"there is no run {run_id}", code="run_not_found")


def get(connection: Connection, run_id: int) -> Run:
    row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
    if row is None:
        raise not_found(run_id)
    return many(connection, [row])[0]


def many(connection: Connection, rows: Sequence[Row[Any]]) -> list[Run]:
    """Runs with their counts, in one query for all of them."""
    effective = effective_verdict().label("verdict")
    skipped = executions.c.skip_reason.is_not(None).label("skipped")
    counted = connection.execute(
        select(executions.c.run_id, attempts.c.execution_status, effective, skipped, func.count().label("n"))
        .select_from(with_shown_attempt(even_without=True))
        .where(
            executions.c.run_id.in_([row.id for row in rows]),
            or_(executions.c.shown_attempt.is_not(None), executions.c.skip_reason.is_not(None)),
        )
        .group_by(executions.c.run_id, attempts.c.execution_status, effective, skipped)
    ).all()
    tallies: dict[int, dict[str, Any]] = {
        row.id: {"completed": 0, "error": 0, "skipped": 0, "verdicts": {}} for row in rows
    }
    for found in counted:
        tally = tallies[found.run_id]
        if found.skipped:
            tally["skipped"] += found.n
        elif found.execution_status == ExecutionStatus.ERROR:
            tally["error"] += found.n
        else:
            tally["completed"] += found.n
            word = found.verdict or "none"
            tally["verdicts"][word] = tally["verdicts"].get(word, 0) + found.n
    return [_run(row, tallies[row.id]) for row in rows]


def _run(row: Row[Any], tally: Mapping[str, Any]) -> Run:
    return Run(
        id=row.id,
        status=RunStatus(row.status),
        profile=row.profile,
        bank=row.bank,
        auto_judge=row.auto_judge,
        provider_id=row.provider_id,
        provider_name=row.provider_name,
        simulated=row.simulated,
        model=row.model,
        judge_model=row.judge_model,
        total_count=row.total_count,
        completed_count=tally["completed"],
        error_count=tally["error"],
        skipped_count=tally["skipped"],
        verdict_counts=VerdictCounts.model_validate(tally["verdicts"]),
        capabilities=_CAPABILITIES.validate_json(row.capabilities),
        waiting=None if row.waiting is None else Waiting.model_validate_json(row.waiting),
        dataset_sha256=row.dataset_sha256,
        seed=row.seed,
        note=row.note,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        created_by=row.created_by,
        error=row.error,
        warnings=tuple(json.loads(row.warnings)),
    )
