"""What a job still has to ask, read from the store a little at a time and ahead of the asking."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from engine.domain.runs import Execution
from engine.store import Stores

READ_AT_ONCE = 200
"""Instances in memory ahead of the asking, twice at most; a bank may hold far more than should be."""


class Plan:
    """Executions in plan order; those that are to be asked again come last."""

    def __init__(self, stores: Stores, execution_ids: Sequence[int]) -> None:
        self._stores = stores
        self._ids = deque(execution_ids)
        self._read: deque[Execution] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._being_read = 0

    @property
    def left(self) -> int:
        """Executions nobody has taken yet."""
        return len(self._read) + self._being_read + len(self._ids)

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._read or self._ids or self._reading)

    async def next(self) -> Execution | None:
        """Raises UnavailableError where the store cannot be read."""
        if len(self._read) < READ_AT_ONCE and self._ids and self._reading is None:
            self._reading = asyncio.create_task(self._read_on())
            self._reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen by who waits
        while not self._read and self._reading is not None:
            # Whoever comes while items are being read waits for them; giving up the wait stops nobody else's.
            await asyncio.shield(self._reading)
        return self._read.popleft() if self._read else None

    def again(self, executions: Sequence[Execution]) -> None:
        self._read.extend(executions)

    async def _read_on(self) -> None:
        some = [self._ids.popleft() for _ in range(min(READ_AT_ONCE, len(self._ids)))]
        self._being_read = len(some)
        try:
            self._read.extend(await asyncio.to_thread(self._stores.results.planned, some))
        except BaseException:
            self._ids.extendleft(reversed(some))  # the next who wants one asks the store again
            raise
        finally:
            self._being_read = 0
            self._reading = None
