"""A run followed live: server-sent events, read from the store, so that it does not matter which process runs it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from engine.api import problems
from engine.api.dependencies import EngineDep, RunId, TokenDep, UserDep
from engine.api.problems import GUARDED, documented
from engine.assembly import Engine
from engine.domain.accounts import User
from engine.domain.runs import ProgressEvent
from engine.errors import EngineError, TooManyAttempts
from engine.services import accounts, runs

LOOK_EVERY_S = 0.3
"""How often the store is looked at, however many follow the same run; so events are at most a few a second."""

HEARTBEAT_S = 15.0
"""A comment after so long without an event keeps proxies from taking the connection for dead."""

RECHECK_S = 1.0
"""How often a stream makes sure that its reader may still read."""

STREAMS_A_USER = 10

router = APIRouter(prefix="/runs", tags=["runs"], responses=GUARDED)


class _Look(NamedTuple):
    at: float
    found: asyncio.Task[ProgressEvent]


class Streams:
    """The streams that are open in this process; lives on the server's loop."""

    def __init__(self) -> None:
        self._of_user: Counter[int] = Counter()
        self._of_run: Counter[int] = Counter()
        self._looks: dict[int, _Look] = {}

    def enter(self, run_id: int, user_id: int) -> None:
        """Raises TooManyAttempts `too_many_streams`."""
        if self._of_user[user_id] >= STREAMS_A_USER:
            raise TooManyAttempts(
                f"{STREAMS_A_USER} streams are open already; close one first", retry_after_s=1, code="too_many_streams"
            )
        self._of_user[user_id] += 1
        self._of_run[run_id] += 1

    def leave(self, run_id: int, user_id: int) -> None:
        self._of_user -= Counter({user_id: 1})
        self._of_run -= Counter({run_id: 1})
        if not self._of_run[run_id]:
            self._looks.pop(run_id, None)

    async def look(self, engine: Engine, run_id: int, user: User) -> ProgressEvent:
        """How the run stands, at most `LOOK_EVERY_S` old; all who follow a run share one look. Raises EngineError."""
        now = asyncio.get_running_loop().time()
        look = self._looks.get(run_id)
        if look is None or now - look.at >= LOOK_EVERY_S:
            look = _Look(now, asyncio.create_task(run_in_threadpool(_progress, engine, run_id, user)))
            self._looks[run_id] = look
        return await asyncio.shield(look.found)


def _progress(engine: Engine, run_id: int, user: User) -> ProgressEvent:
    return ProgressEvent.of(runs.progress(engine, run_id, actor=user))


class EventStream(StreamingResponse):
    """A stream that gives its place back however it ends, also when its reader is gone before the first event."""

    def __init__(self, content: AsyncIterator[str], *, streams: Streams, run_id: int, user_id: int) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._place = (streams, run_id, user_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        streams, run_id, user_id = self._place
        try:
            await super().__call__(scope, receive, send)
        finally:
            streams.leave(run_id, user_id)


EXAMPLE = (
    'data: {"status":"running","done":262,"total":451,"errors":5,"in_flight":64,"rate":51.2,"eta_s":3.7,'
    '"waiting":null,"verdict_counts":{"pass":201,"fail":40,"needs_human_review":12,"judge_format_error":0,"none":4}}'
    "\n\n"
)

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events until the run is over; `waiting` as in the run, `rate` in instances a second",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
    }
}


@router.get(
    "/{run_id}/events",
    summary="Follow a run live",
    response_class=StreamingResponse,
    responses=documented((404, "run_not_found"), (429, "too_many_streams")) | ANSWERS,
)
async def events(run_id: RunId, engine: EngineDep, user: UserDep, token: TokenDep, request: Request) -> EventStream:
    """Server-sent events: one at once, then one whenever something changes, a few a second at most; the last one has
    the run's end state. Comments in between only keep the connection open. An event named `problem` says why a stream
    ended early, such as a session that ended meanwhile.
    """
    streams: Streams = request.app.state.streams
    streams.enter(run_id, user.id)
    try:
        first = await streams.look(engine, run_id, user)
    except BaseException:
        streams.leave(run_id, user.id)
        raise
    told = _told(streams, engine, run_id, user, token=token, first=first)
    return EventStream(told, streams=streams, run_id=run_id, user_id=user.id)


async def _told(
    streams: Streams, engine: Engine, run_id: int, user: User, *, token: str, first: ProgressEvent
) -> AsyncIterator[str]:
    """The stream's text. Between two looks it sleeps on the loop; no thread is held."""
    clock = asyncio.get_running_loop().time
    now, spoke_at, checked_at = first, clock(), clock()
    yield _event(now)
    try:
        while not now.status.is_over and not engine.stopping.is_set():
            await asyncio.sleep(LOOK_EVERY_S)
            if clock() - checked_at >= RECHECK_S:
                await run_in_threadpool(accounts.authenticate, engine, token)
                checked_at = clock()
            before, now = now, await streams.look(engine, run_id, user)
            if now != before:
                yield _event(now)
                spoke_at = clock()
            elif clock() - spoke_at >= HEARTBEAT_S:
                yield ": still here\n\n"
                spoke_at = clock()
    except EngineError as error:
        yield f"event: problem\n{_data(problems.Outline(code=error.code, detail=error.message).model_dump_json())}"


def _event(now: ProgressEvent) -> str:
    return _data(now.model_dump_json())


def _data(line: str) -> str:
    return f"data: {line}\n\n"
