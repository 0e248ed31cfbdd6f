"""The writer's answers, brought back to the engine's loop with one wake-up for many results."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from engine.domain.runs import Attempt
from engine.domain.verdicts import Judgement, Verdict
from engine.store import GroupCommit


class Commits:
    """One job's results on their way to the disk. Belongs to the loop it was made on."""

    def __init__(self, commit: GroupCommit) -> None:
        self._commit = commit
        self._loop = asyncio.get_running_loop()
        self._back: deque[tuple[asyncio.Future[None], BaseException | None]] = deque()
        self._woken = False
        self._under_way = 0
        self._all_done = asyncio.Event()
        self._all_done.set()

    def answered(self, execution_id: int, attempt: Attempt) -> asyncio.Future[None]:
        """Done when the attempt is committed: only then does it count as finished. Giving up the wait stops nothing."""
        return self._watched(self._commit.answered(execution_id, attempt))

    def judged(
        self, execution_id: int, number: int, *, verdict: Verdict | None, judgements: Sequence[Judgement]
    ) -> asyncio.Future[None]:
        return self._watched(self._commit.judged(execution_id, number, verdict=verdict, judgements=judgements))

    async def settled(self) -> None:
        """Wait until everything that was handed in is on the disk or refused."""
        await self._all_done.wait()

    def _watched(self, write: Future[None]) -> asyncio.Future[None]:
        told: asyncio.Future[None] = self._loop.create_future()
        self._under_way += 1
        self._all_done.clear()
        write.add_done_callback(partial(self._written, told))
        return told

    def _written(self, told: asyncio.Future[None], write: Future[None]) -> None:
        """In the writer's thread."""
        self._back.append((told, write.exception()))
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._woken = False  # before the queue is emptied: what is added meanwhile wakes again, or is seen here
        while self._back:
            told, error = self._back.popleft()
            self._under_way -= 1
            if told.done():  # whoever waited has given up
                continue
            if error is None:
                told.set_result(None)
            else:
                told.set_exception(error)
        if not self._under_way:
            self._all_done.set()
