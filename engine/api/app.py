"""The one FastAPI application, mounted at `/api` by the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from engine import __version__
from engine.api import auth, documentation, events, health, problems, providers, results, reviews, runs
from engine.api.envelope import REQUEST_ID, Envelope
from engine.assembly import Engine

DESCRIPTION = """\
Examine a large language model against 31 safety clauses, and fetch the evidence.

Sign in with `POST /v1/auth/login` and send `Authorization: Bearer <access_token>` with every other request.
Errors are RFC 9457 problem documents; programs rely on their `code`. Every answer carries `X-Request-ID`.
"""


class _Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The schema, with the media type that our errors really have."""
        fresh = not self.openapi_schema
        schema = super().openapi()
        if fresh:
            for path in schema["paths"].values():
                for operation in path.values():
                    for status, answer in operation["responses"].items():
                        if status >= "400" and "application/json" in answer.get("content", {}):
                            answer["content"] = {problems.MEDIA_TYPE: answer["content"]["application/json"]}
        return schema


def create_api(engine: Engine | None = None, *, allow_origins: Sequence[str] | None = None) -> FastAPI:
    """The API over an engine.

    Args:
        engine: None while the server starts; set `app.state.engine` as soon as it is there. Until then every route
            that needs it answers 503.
        allow_origins: Origins that may call from a browser; by default those of the engine's settings.
    """
    if allow_origins is None and engine is not None:
        allow_origins = [origin.strip() for origin in engine.settings.cors_allow_origins.split(",") if origin.strip()]
    app = _Api(
        title="Magistrate",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=problems.documented((422, "invalid_input"), (500, "internal_error"), 503),
    )
    app.state.engine = engine
    app.state.streams = events.Streams()
    problems.install(app)
    documentation.install(app)
    for router in (
        health.router,
        auth.router,
        providers.router,
        runs.router,
        events.router,
        results.router,
        reviews.router,
    ):
        app.include_router(router, prefix="/v1")
    if allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(allow_origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", REQUEST_ID],
            expose_headers=[REQUEST_ID, "Content-Disposition", "Retry-After"],
        )
    app.add_middleware(Envelope)
    return app
