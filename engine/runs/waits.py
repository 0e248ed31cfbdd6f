"""Why nothing moves in a run: at once for this process, and from the store for other processes and tabs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog

from engine.domain.base import utc_now
from engine.domain.chat import Pace
from engine.domain.runs import Waiting, WaitingReason
from engine.errors import UnavailableError
from engine.store import Stores

log = structlog.get_logger(__name__)

TICK_S = 0.25
"""How often an endpoint's state is looked at."""

SHOWN_EVERY_S = 1.0
"""The store hears at most so often why a run waits."""


class Waits:
    """One phase of a run. Belongs to the engine's loop; `now` may be read from any thread."""

    def __init__(self, run_id: int, stores: Stores) -> None:
        self.now: Waiting | None = None
        """Why nothing moves; None while something does."""
        self._run_id = run_id
        self._stores = stores
        self._shown: Waiting | None = None
        self._shown_at = float("-inf")

    async def watch(self, pace: Callable[[], Pace], over: asyncio.Event) -> None:
        """Tell of the pauses an endpoint asks for until `over`; then nothing is waited for any more."""
        while not over.is_set():
            await self.tell(self.rate_limited(pace()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), TICK_S)
        self.now = None

    def rate_limited(self, pace: Pace) -> Waiting | None:
        """The pause an endpoint asked for, where no call is under way beside it."""
        if pace.paused_until is None or pace.in_flight:
            return None
        if self.now is not None and self.now.until == pace.paused_until:
            return self.now
        return Waiting(
            reason=WaitingReason.RATE_LIMITED,
            since=utc_now() if self.now is None else self.now.since,
            until=pace.paused_until,
            message="the endpoint asked for a pause, because it is asked too fast",
        )

    async def tell(self, why: Waiting | None) -> None:
        """Why nothing moves now; None when something does."""
        self.now = why
        at = time.monotonic()
        if why == self._shown or at - self._shown_at < SHOWN_EVERY_S:
            return
        try:
            await asyncio.to_thread(self._stores.runs.set_waiting, self._run_id, why)
        except UnavailableError as error:
            log.warning("waiting_not_stored", run_id=self._run_id, reason=error.message)
        self._shown, self._shown_at = why, at
