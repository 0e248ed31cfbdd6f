"""What waits for a person, and what people decided."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from engine.api.bodies import StrictRoute
from engine.api.dependencies import LARGEST_ID, EngineDep, ExecutionId, Limit, Offset, RunId, UserDep
from engine.api.problems import GUARDED, documented
from engine.api.results import Clause
from engine.domain.base import Model, Page
from engine.domain.runs import QueueItem
from engine.domain.verdicts import Review, ReviewVerdict
from engine.services import reviews

router = APIRouter(route_class=StrictRoute, tags=["reviews"], responses=GUARDED)


class ReviewRequest(Model):
    verdict: ReviewVerdict
    reason: str = Field(min_length=1, max_length=10_000)
    if_version: int | None = Field(default=None, ge=0, le=LARGEST_ID)
    """The newest version the reviewer saw, 0 for none; somebody else's newer decision then answers 409."""


@router.get("/review-queue", summary="What waits for a person")
def queue(
    engine: EngineDep,
    user: UserDep,
    run_id: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
    clause: Clause | None = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Page[QueueItem]:
    return reviews.queue(engine, actor=user, run_id=run_id, clause=clause, limit=limit, offset=offset)


@router.post(
    "/runs/{run_id}/results/{execution_id}/reviews",
    summary="Decide on a result",
    status_code=201,
    responses=documented((404, "result_not_found"), (409, "stale_review nothing_to_review"), 413),
)
def decide(run_id: RunId, execution_id: ExecutionId, body: ReviewRequest, engine: EngineDep, user: UserDep) -> Review:
    """Appended to the history; the automatic verdict stays as it was, and `clear` returns to it."""
    return reviews.decide(
        engine,
        run_id,
        execution_id,
        verdict=body.verdict,
        reason=body.reason,
        if_version=body.if_version,
        actor=user,
    )
