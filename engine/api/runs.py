"""Start, follow, steer and remove runs."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Query
from pydantic import Field

from engine.api.bodies import StrictRoute
from engine.api.dependencies import LARGEST_ID, EngineDep, ExecutionId, IdempotencyKey, Limit, Offset, RunId, UserDep
from engine.api.problems import GUARDED, documented
from engine.domain.base import Model, Page
from engine.domain.runs import Run, RunSpec, RunStatus
from engine.services import runs

router = APIRouter(route_class=StrictRoute, prefix="/runs", tags=["runs"], responses=GUARDED)


class RunRequest(RunSpec):
    """A run as asked for; numbers within what the store can hold, names within what one can be."""

    profile: str = Field(max_length=200)
    bank: str | None = Field(default=None, max_length=200)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    judge_model: str | None = Field(default=None, min_length=1, max_length=200)
    provider_id: int | None = Field(default=None, ge=0, le=LARGEST_ID)
    judge_provider_id: int | None = Field(default=None, ge=0, le=LARGEST_ID)
    seed: int | None = Field(default=None, ge=-LARGEST_ID, le=LARGEST_ID)


class Cancellation(Model):
    """The one change that a run allows."""

    status: Literal["cancelled"]


class JudgeRequest(Model):
    """Which judge, and whether verdicts that are there stay; everything left out: the run's own judge, all answers."""

    judge_provider_id: int | None = Field(default=None, ge=0, le=LARGEST_ID)
    judge_model: str | None = Field(default=None, min_length=1, max_length=200)
    only_missing: bool = False


@router.post(
    "",
    summary="Start a run",
    status_code=202,
    responses=documented(
        (400, "bad_idempotency_key"),
        (404, "unknown_profile unknown_bank provider_not_found"),
        (409, "idempotency_in_progress"),
        413,
        (422, "invalid_input idempotency_key_conflict bank_too_small invalid_bank no_default_provider"),
        (503, "engine_locked_elsewhere"),
    ),
)
def start(body: RunRequest, engine: EngineDep, user: UserDep, idempotency_key: IdempotencyKey = None) -> Run:
    """Returns at once; the engine does the rest.

    Send an `Idempotency-Key` to be able to retry: the same key and body answer with the same run, the same key and
    another body with `422 idempotency_key_conflict`.
    """
    return runs.start(engine, RunSpec(**body.model_dump()), actor=user, idempotency_key=idempotency_key)


@router.get("", summary="List runs, newest first")
def page(
    engine: EngineDep,
    user: UserDep,
    status: RunStatus | None = None,
    profile: str | None = Query(default=None, max_length=200),
    provider_id: int | None = Query(default=None, ge=0, le=LARGEST_ID),
    limit: Limit = 50,
    offset: Offset = 0,
) -> Page[Run]:
    return runs.page(
        engine, actor=user, status=status, profile=profile, provider_id=provider_id, limit=limit, offset=offset
    )


@router.get("/{run_id}", summary="One run, live", responses=documented((404, "run_not_found")))
def get(run_id: RunId, engine: EngineDep, user: UserDep) -> Run:
    return runs.get(engine, run_id, actor=user)


@router.post(
    "/{run_id}/resume",
    summary="Go on where it stopped",
    status_code=202,
    responses=documented((404, "run_not_found"), (409, "run_not_resumable"), (503, "engine_locked_elsewhere")),
)
def resume(run_id: RunId, engine: EngineDep, user: UserDep) -> Run:
    """Executes what has no stored answer and judges what lacks a verdict; no stored answer is bought twice."""
    return runs.resume(engine, run_id, actor=user)


@router.post(
    "/{run_id}/retry-errors",
    summary="Ask again what failed to execute",
    status_code=202,
    responses=documented(
        (404, "run_not_found"),
        (409, "run_not_terminal nothing_to_retry run_not_resumable"),
        (503, "engine_locked_elsewhere"),
    ),
)
def retry_errors(run_id: RunId, engine: EngineDep, user: UserDep) -> Run:
    """Every result with `execution_status=error`, and no other, is executed anew; earlier attempts are kept.

    `run_not_resumable`: the run's provider was deleted.
    """
    return runs.retry_errors(engine, run_id, actor=user)


@router.post(
    "/{run_id}/results/{execution_id}/retry",
    summary="Ask one instance again",
    status_code=202,
    responses=documented(
        (404, "run_not_found result_not_found"),
        (409, "run_not_terminal run_not_resumable"),
        (503, "engine_locked_elsewhere"),
    ),
)
def retry_one(run_id: RunId, execution_id: ExecutionId, engine: EngineDep, user: UserDep) -> Run:
    """Only this one is executed anew, whatever its result is; its earlier attempts and their reviews are kept."""
    return runs.retry_one(engine, run_id, execution_id, actor=user)


@router.post(
    "/{run_id}/judge",
    summary="Judge the stored answers again",
    status_code=202,
    responses=documented(
        (404, "run_not_found provider_not_found"),
        (409, "run_not_terminal judge_gone"),
        413,
        (503, "engine_locked_elsewhere"),
    ),
)
def judge(run_id: RunId, engine: EngineDep, user: UserDep, body: JudgeRequest | None = None) -> Run:
    """The model under test is not called. With `only_missing`, answers that have a verdict keep it."""
    asked = body or JudgeRequest()
    return runs.judge(
        engine,
        run_id,
        judge_provider_id=asked.judge_provider_id,
        judge_model=asked.judge_model,
        only_missing=asked.only_missing,
        actor=user,
    )


@router.patch(
    "/{run_id}", summary="Cancel a run", responses=documented((404, "run_not_found"), (409, "run_terminal"), 413)
)
def cancel(run_id: RunId, body: Cancellation, engine: EngineDep, user: UserDep) -> Run:
    """The body is exactly `{"status": "cancelled"}`; nothing else of a run can be changed."""
    return runs.cancel(engine, run_id, actor=user)


@router.delete(
    "/{run_id}",
    summary="Remove a run that is over",
    status_code=204,
    responses=documented((404, "run_not_found"), (409, "run_not_terminal")),
)
def delete(run_id: RunId, engine: EngineDep, user: UserDep) -> None:
    """Its results and reviews go with it; the audit trail stays."""
    runs.delete(engine, run_id, actor=user)
