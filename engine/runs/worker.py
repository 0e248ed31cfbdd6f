"""The engine's one background thread with one asyncio loop; every run of the process lives on it."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from engine.domain.runs import Job, RunStatus
from engine.errors import UnavailableError
from engine.runs.endpoints import Connect, EndpointPool
from engine.runs.execution import PAUSE_MAX_S, Live, Probe, RunExecution
from engine.runs.stopping import End
from engine.store import GroupCommit, Stores

log = structlog.get_logger(__name__)

CANCEL_POLL_S = 0.5
"""How often requests to cancel that came from another process are looked for."""

ALIVE_POLL_S = 1.0
"""How often whoever waits for the engine looks whether it is still there."""

STOP_TIMEOUT_S = 9.0
"""A stop is over within ten seconds, whatever a provider does."""

SWITCH_INTERVAL_S = 0.002
"""How long a thread that computes keeps the engine's loop, and with it every call, waiting. Python's own 5 ms cost a
run with 64 calls at once 7 % of its time; less than 2 ms costs CPU for the switches."""

STOPPED = "the server was stopped; resume to go on"
DIED = "the engine has died, the server's log says why; restart the server, then resume to go on"


class Worker:
    """Runs runs. `submit`, `cancel` and `live` may be called from any thread."""

    def __init__(
        self,
        *,
        stores: Stores,
        commit: GroupCommit,
        connect: Connect,
        probe: Probe,
        pause_max_s: float = PAUSE_MAX_S,
    ) -> None:
        """`pause_max_s`: how long a run waits for a provider that is down."""
        self._stores = stores
        self._commit = commit
        self._connect = connect
        self._probe = probe
        self._pause_max_s = pause_max_s
        self._executions: dict[int, RunExecution] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._mutex = threading.Lock()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_requested: asyncio.Event | None = None
        self._stopped_by_s: float | None = None
        self._thread = threading.Thread(target=self._main, name="engine", daemon=True)

    def start(self) -> None:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._thread.start()
        self._ready.wait()

    def stop(self) -> float:
        """End every run as interrupted and keep what is finished; wait for that until the time for it is over.

        Returns the seconds that are left of that time, which begins once, however often this is called.
        """
        if self._loop is not None and self._stop_requested is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop_requested.set)
        if self._stopped_by_s is None:
            self._stopped_by_s = time.monotonic() + STOP_TIMEOUT_S
        self._thread.join(max(0.0, self._stopped_by_s - time.monotonic()))
        return max(0.0, self._stopped_by_s - time.monotonic())

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def require_alive(self) -> asyncio.AbstractEventLoop:
        """The engine's loop. Raises UnavailableError when its thread has ended."""
        if self._loop is None or not self.is_alive:
            raise UnavailableError("the engine is not running; restart the server", code="engine_stopped")
        return self._loop

    def submit(self, run_id: int, job: Job | None = None) -> None:
        """Work on a run whose status says that nobody does; without a job, start it or go on with it.

        Raises:
            UnavailableError: the engine's thread has ended, or is about to.
        """
        self._done_on_loop(self.require_alive(), self._submit(run_id, job or Job()))

    def cancel(self, run_id: int) -> None:
        """Ask a run under way to end as cancelled; nothing happens when it is not."""
        self._on_loop(lambda: self._cancel(run_id))

    def live(self, run_id: int) -> Live | None:
        """None when the run is not under way here."""
        with self._mutex:
            execution = self._executions.get(run_id)
        return execution.live() if execution is not None else None

    def unstored_end(self, run_id: int) -> End | None:
        """How a run ended that the store still calls unfinished, because it is full or the engine has died."""
        ends = self.unstored_ends()
        return ends.get(run_id, ends.get(None))

    def unstored_ends(self) -> dict[int | None, End]:
        """The same for every such run by its id; under None, for all others that the store calls unfinished."""
        if not self.is_alive:
            return {None: End(RunStatus.INTERRUPTED, DIED)}
        with self._mutex:
            executions = list(self._executions.values())
        return {each.run_id: end for each in executions if (end := each.unstored) is not None}

    def store_end(self, run_id: int) -> None:
        """Store the end of a run that the store did not take down; it is not stored again, over what comes later.

        Raises:
            UnavailableError: it is still full or away, or the engine's thread has ended.
        """
        loop = self.require_alive()
        with self._mutex:
            execution = self._executions.get(run_id)
        if execution is not None and execution.unstored is not None:
            self._done_on_loop(loop, execution.store_end())

    def _done_on_loop(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, object]) -> None:
        done = asyncio.run_coroutine_threadsafe(work, loop)
        while True:
            try:
                done.result(ALIVE_POLL_S)
                return
            except TimeoutError:
                self.require_alive()  # a thread that has died meanwhile takes nothing up

    # -- on the loop's thread ---------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException:
            log.exception("engine_died")
            try:
                self._stores.runs.interrupt_unfinished(DIED)
            except UnavailableError as error:
                log.error("runs_not_interrupted", reason=error.message)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_requested = asyncio.Event()
        self._pool = EndpointPool(self._connect)
        self._ready.set()
        watching = asyncio.create_task(self._watch_cancel_requests())
        await self._stop_requested.wait()
        watching.cancel()
        for execution in list(self._executions.values()):
            execution.shut_down(STOPPED)
        await asyncio.gather(watching, *self._tasks.values(), return_exceptions=True)

    async def _submit(self, run_id: int, job: Job) -> None:
        while (ending := self._tasks.get(run_id)) is not None:
            # Its last status is stored already, or nobody could have resumed it; it is only winding up.
            await asyncio.wait({ending})
        if self._stop_requested is None or self._stop_requested.is_set():
            # Nobody would tell it to end, and it would be cut off in the middle.
            raise UnavailableError("the engine is being stopped; start it again", code="engine_stopped")
        execution = RunExecution(
            run_id,
            job,
            stores=self._stores,
            commit=self._commit,
            pool=self._pool,
            probe=self._probe,
            pause_max_s=self._pause_max_s,
        )
        with self._mutex:
            self._executions[run_id] = execution
        self._tasks[run_id] = asyncio.create_task(self._execute(execution))

    async def _execute(self, execution: RunExecution) -> None:
        try:
            await execution.execute()
        finally:
            with self._mutex:
                del self._executions[execution.run_id]
            del self._tasks[execution.run_id]

    def _cancel(self, run_id: int) -> None:
        execution = self._executions.get(run_id)
        if execution is not None:
            execution.stop(RunStatus.CANCELLED)

    async def _watch_cancel_requests(self) -> None:
        """Obey `magistrate cancel` of another process within a second."""
        while True:
            await asyncio.sleep(CANCEL_POLL_S)
            if not self._executions:
                continue
            try:
                wanted = await asyncio.to_thread(self._stores.runs.cancel_requests)
            except UnavailableError as error:
                log.warning("cancel_requests_unreadable", reason=error.message)
                continue
            for run_id in wanted:
                self._cancel(run_id)

    def _on_loop(self, act: Callable[[], None]) -> None:
        if self._loop is not None and self.is_alive:
            self._loop.call_soon_threadsafe(act)
