"""How many calls an endpoint is asked at once: as many as configured, fewer while it says that this is too fast.

Additive increase, multiplicative decrease, as congestion control on networks does it. A call that meets no limit passes
without waiting for the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from datetime import timedelta

from engine.domain.base import Timestamp, utc_now
from engine.domain.chat import Pace

KEPT = 0.7
"""What an episode of "too fast" leaves of the limit."""

REGROWTH = 16
"""A round trip of successes gives back this part of the configured limit, and at least one place."""


class Limiter:
    """Places for calls to one endpoint. Belongs to one event loop; `pace` may be read from any thread."""

    def __init__(self, most: int) -> None:
        """`most` is how many calls may ever be in flight at once."""
        self._most = most
        self._limit = most
        self._in_flight = 0
        self._failures = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._earned = 0.0
        self._lowered_at = float("-inf")
        self._opens_at = float("-inf")
        self._paused_until: Timestamp | None = None
        self._opening: asyncio.TimerHandle | None = None

    async def enter(self) -> None:
        """Take a place, in the order of asking; every `enter` that returns needs one `leave`."""
        if self._in_flight < self._limit and not self._waiting and self._opening is None:
            self._in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the place was given just before: pass it on
                self._in_flight -= 1
                self._admit()
            raise

    def leave(self) -> None:
        """Give a place back; where an answer came, `succeeded` follows."""
        self._in_flight -= 1
        self._failures += 1
        if self._waiting:
            self._admit()

    def succeeded(self) -> None:
        """An answer came: places that were taken away come back slowly."""
        self._failures = 0
        if self._limit == self._most:
            return
        self._earned += max(1.0, self._most / REGROWTH) / self._limit
        if self._earned >= 1:
            self._limit = min(self._most, self._limit + int(self._earned))
            self._earned = 0.0
            self._admit()

    def too_fast(self, *, called_at: float) -> None:
        """The endpoint said so to a call made at `called_at` (monotonic seconds).

        Calls that were under way when the limit last fell belong to the same episode: they count once together.
        """
        self._earned = 0.0
        if called_at < self._lowered_at:
            return
        self._lowered_at = time.monotonic()
        self._limit = max(1, int(self._limit * KEPT))

    def pause(self, seconds: float) -> None:
        """Let no call start for so long; a shorter pause never shortens a longer one."""
        opens_at = time.monotonic() + seconds
        if opens_at <= self._opens_at:
            return
        self._opens_at = opens_at
        self._paused_until = utc_now() + timedelta(seconds=seconds)
        if self._opening is not None:
            self._opening.cancel()
        self._opening = asyncio.get_running_loop().call_later(seconds, self._open)

    def pause_left_s(self) -> float:
        """How long no call may start; 0 when calls may."""
        return 0.0 if self._opening is None else max(0.0, self._opens_at - time.monotonic())

    def pace(self) -> Pace:
        paused = time.monotonic() < self._opens_at
        return Pace(
            limit=self._limit,
            in_flight=self._in_flight,
            paused_until=self._paused_until if paused else None,
            failures=self._failures,
        )

    def _open(self) -> None:
        self._opening = None
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._in_flight < self._limit and self._opening is None:
            turn = self._waiting.popleft()
            if not turn.done():  # one that is done was cancelled while it waited
                self._in_flight += 1
                turn.set_result(None)
