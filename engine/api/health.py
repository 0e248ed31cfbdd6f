"""Whether the server can serve."""

from __future__ import annotations

from fastapi import APIRouter

from engine.api.dependencies import EngineDep
from engine.services import health
from engine.services.health import Health

router = APIRouter(tags=["health"])


@router.get("/health", summary="Is the server well")
def report(engine: EngineDep) -> Health:
    """Open to everybody. 503 when the database does not answer."""
    return health.report(engine)
