"""What a job still has to ask, read from the store a little at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from engine.domain.runs import Execution
from engine.store import Stores

READ_AT_ONCE = 200
"""Instances in memory ahead of the asking; a bank may hold far more than should be."""


class Plan:
    """Executions in plan order; those that are to be asked again come last."""

    def __init__(self, stores: Stores, execution_ids: Sequence[int]) -> None:
        self._stores = stores
        self._ids = deque(execution_ids)
        self._read: deque[Execution] = deque()
        self._reading = asyncio.Lock()

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._read or self._ids)

    async def next(self) -> Execution | None:
        if not self._read:
            # Whoever comes while the last ones are being read waits for them, and does not go home.
            async with self._reading:
                if not self._read and self._ids:
                    some = [self._ids.popleft() for _ in range(min(READ_AT_ONCE, len(self._ids)))]
                    self._read.extend(await asyncio.to_thread(self._stores.results.planned, some))
        return self._read.popleft() if self._read else None

    def again(self, executions: Sequence[Execution]) -> None:
        self._read.extend(executions)
