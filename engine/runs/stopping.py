"""How a run is stopped before its last item, and how long what is in flight may take then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from engine.domain.runs import RunStatus

ON_THE_WIRE_S = 3.0
"""How long a stopped run waits for answers that are under way and paid for."""

NO_NEW_CALL_S = 0.8
"""After so long no call may start any more, so an item that would repeat one is given up."""

_TICK_S = 0.05


class End(NamedTuple):
    """What a run is at the end of a job, and why."""

    status: RunStatus
    error: str | None = None


class Stopped(Exception):
    """Raised inside an item instead of making a further call for a run that was stopped."""


class Stopping:
    """The wish to stop one run. Belongs to the engine's loop."""

    def __init__(self) -> None:
        self.wish: End | None = None
        self._wished = asyncio.Event()
        self._wished_at = 0.0

    def ask(self, status: RunStatus, error: str | None = None) -> None:
        """The first wish counts."""
        if self.wish is None:
            self.wish = End(status, error)
            self._wished_at = time.monotonic()
            self._wished.set()

    async def until(self, work: asyncio.Future[Any]) -> None:
        """Wait for the work, or for the wish."""
        wished = asyncio.create_task(self._wished.wait())
        await asyncio.wait({work, wished}, return_when=asyncio.FIRST_COMPLETED)
        wished.cancel()

    async def either(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Whether the work was done before the wish; what was not done by then is given up."""
        task = asyncio.create_task(work)
        await self.until(task)
        if task.done():
            return True
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return False

    async def finish(self, tasks: Sequence[asyncio.Task[None]], all_on_the_wire: Callable[[], bool]) -> None:
        """Wait for all tasks. Once the run is to stop they get a moment, and longer if no call of theirs would be new.

        `all_on_the_wire` says whether every call that is waited for is under way, so that none would be repeated.
        """
        if not tasks:
            return
        everything = asyncio.gather(*tasks, return_exceptions=True)
        await self.until(everything)
        while not everything.done():
            waited_s = time.monotonic() - self._wished_at
            if waited_s >= ON_THE_WIRE_S or (waited_s >= NO_NEW_CALL_S and not all_on_the_wire()):
                break
            await asyncio.wait({everything}, timeout=_TICK_S)
        for task in tasks:
            task.cancel()
        await everything
