"""One run, from where it stands to its end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import structlog

from engine import judging
from engine.domain.base import utc_now
from engine.domain.chat import ChatModel
from engine.domain.runs import (
    Attempt,
    EndpointSettings,
    Execution,
    ExecutionError,
    ExecutionStatus,
    Job,
    JobKind,
    RunConfig,
    RunStatus,
)
from engine.errors import EngineError, ProviderError, UnavailableError
from engine.runs import milestones, planning
from engine.runs.conversation import Material, converse
from engine.runs.endpoints import Endpoint, EndpointPool
from engine.runs.judges import Judgements, Judges, is_unavailable
from engine.store import GroupCommit, Stores

log = structlog.get_logger(__name__)

KEY_REFUSALS_BEFORE_STOP = 3
"""So many refused keys in a row end the run instead of burning the bank."""

OUTAGES_BEFORE_STOP = 5
"""So many items in a row that could not reach the provider at all end the run."""

GRACE_S = 3.0
"""How long a cancelled or stopping run waits for answers that are already paid for."""

_RATE_WINDOW = 200
"""Items over which the rate is taken."""

STORE_AGAIN_S = 1.0
"""How often the end of a run is offered to a store that was full or away."""

Probe = Callable[[ChatModel, str], Awaitable[dict[str, bool | None]]]

JUDGED_AT_ONCE = 100
"""Stored answers read from the store at a time."""


class Live(NamedTuple):
    """What only the engine's memory knows of a run."""

    in_flight: int
    rate_per_s: float | None


class Ending(NamedTuple):
    """How a run ends; and why, where that is before its last item: cancelled, shutting down, provider or store of no
    use."""

    status: RunStatus
    error: str | None = None


class RunExecution:
    """One job on a run, from its start to its end. Lives on the engine's loop."""

    def __init__(
        self, run_id: int, job: Job, *, stores: Stores, commit: GroupCommit, pool: EndpointPool, probe: Probe
    ) -> None:
        self.run_id = run_id
        self._job = job
        self._stores = stores
        self._commit = commit
        self._pool = pool
        self._probe = probe
        self._in_flight = 0
        self._finished_at: deque[float] = deque(maxlen=_RATE_WINDOW)
        self._stop: Ending | None = None
        self._stopped = asyncio.Event()
        self._closing = asyncio.Event()
        self.unstored: Ending | None = None
        """How the run ended, while the store cannot take it down."""
        self._outage = _Outage()
        self._judging: set[asyncio.Task[None]] = set()
        self._left_as_they_were = 0
        self._writes: set[asyncio.Future[None]] = set()

    # -- seen from outside ------------------------------------------------------------------------------------------

    def live(self) -> Live:
        """Items in flight, and items finished per second over the last ones."""
        times = tuple(self._finished_at)
        span = times[-1] - times[0] if len(times) > 1 else 0.0
        return Live(self._in_flight, (len(times) - 1) / span if span > 0 else None)

    def stop(self, status: RunStatus, error: str | None = None) -> None:
        """Take no further item; finish or drop what is in flight; end as `status`. On the loop's thread only."""
        if self._stop is None:
            self._stop = Ending(status, error)
            self._stopped.set()

    def shut_down(self, error: str) -> None:
        """End as interrupted, and do not wait for a store that cannot take down how it ended."""
        self._closing.set()
        self.stop(RunStatus.INTERRUPTED, error)

    # -- the run ----------------------------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Never raises: whatever happens is written on the run."""
        started = time.monotonic()
        await self._guarded(self._execute())
        status = await self._store_end()
        log.info("run_ended", run_id=self.run_id, status=status, seconds=round(time.monotonic() - started, 3))

    async def _store_end(self) -> RunStatus | None:
        """The status stored; None where the store stayed full or away until the engine stopped.

        Then the next start of the engine calls the run interrupted.
        """
        while True:
            try:
                end = await asyncio.to_thread(self._outcome) if self._stop is None else self._stop
                milestones.reached(milestones.FINISHING)
                await asyncio.to_thread(self._stores.runs.set_status, self.run_id, end.status, error=end.error)
                return end.status
            except UnavailableError as failure:
                if self.unstored is None:
                    log.error("run_status_not_stored", run_id=self.run_id, reason=failure.message)
                self.unstored = self._stop or Ending(RunStatus.INTERRUPTED, failure.message)
            if self._closing.is_set():
                return None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), STORE_AGAIN_S)

    def _outcome(self) -> Ending:
        """What a run is after a job that went to its end."""
        if self._job.kind is not JobKind.EXECUTE and self._stores.results.unexecuted(self.run_id):
            return Ending(self._job.before, self._job.before_error)
        return Ending(RunStatus.COMPLETED)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """A fault outside an item ends the run: in words where the fault is one of ours, else with the log's help."""
        try:
            await work
        except EngineError as error:
            self.stop(RunStatus.INTERRUPTED, error.message)
        except Exception as error:
            log.exception("run_failed", run_id=self.run_id)
            self.stop(
                RunStatus.FAILED, f"an unexpected {type(error).__name__} ended the run; the server's log has more"
            )

    async def _execute(self) -> None:
        runs = self._stores.runs
        run = await asyncio.to_thread(runs.get, self.run_id)
        config = await asyncio.to_thread(runs.config, self.run_id)
        material = Material(
            await asyncio.to_thread(runs.fixtures, self.run_id),
            await asyncio.to_thread(self._stores.blobs.many, self.run_id),
        )
        are_on = run.auto_judge or self._job.kind is JobKind.JUDGE
        async with contextlib.AsyncExitStack() as borrowed:
            judge = await self._borrowed(borrowed, config.judge) if config.judge is not None and are_on else None
            judges = Judges(are_on, config, judge, material)
            if self._job.kind is JobKind.JUDGE:
                await self._judge_stored(judges)
                return
            subject = await self._borrowed(borrowed, config.subject)
            if not run.capabilities:
                await self._probe_and_plan(subject, config, material)
            if self._stop is None:
                await asyncio.to_thread(runs.set_status, self.run_id, RunStatus.RUNNING)
                await self._work(subject, config, material, judges)

    async def _borrowed(self, until: contextlib.AsyncExitStack, settings: EndpointSettings) -> Endpoint:
        endpoint = self._pool.borrow(settings)
        until.push_async_callback(self._pool.give_back, endpoint)
        return endpoint

    async def _probe_and_plan(self, subject: Endpoint, config: RunConfig, material: Material) -> None:
        """Find out once what the model can do; the first success is kept for every resume."""
        runs, results = self._stores.runs, self._stores.results
        await asyncio.to_thread(runs.set_status, self.run_id, RunStatus.PROBING)
        probing = asyncio.ensure_future(self._probe(subject.prober(), config.subject.model))
        await self._until_stopped(probing)
        if not probing.done():
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
            return
        try:
            capabilities = probing.result()
        except ProviderError as error:
            self.stop(RunStatus.INTERRUPTED, f"{error.message}. {error.hint}".rstrip(". ") + ".")
            return
        milestones.reached(milestones.PROBED)
        pending = await asyncio.to_thread(results.pending, self.run_id)
        skipped = planning.to_skip(pending, fixtures=material.fixtures, capabilities=capabilities)
        await asyncio.to_thread(results.skip, self.run_id, skipped)
        await asyncio.to_thread(runs.set_capabilities, self.run_id, capabilities)

    async def _work(self, subject: Endpoint, config: RunConfig, material: Material, judges: Judges) -> None:
        results = self._stores.results
        unjudged: list[int] = []
        if self._job.kind is JobKind.RETRY:
            pending = iter(await asyncio.to_thread(results.planned, self._job.execution_ids))
        else:
            unjudged = await asyncio.to_thread(functools.partial(results.to_judge, self.run_id, only_missing=True))
            pending = iter(await asyncio.to_thread(results.pending, self.run_id))
        workers = [
            asyncio.create_task(
                self._guarded(self._take_items(pending, subject, config.subject.model, material, judges))
            )
            for _ in range(config.subject.max_concurrency)
        ]
        workers.append(asyncio.create_task(self._guarded(self._judge_again(unjudged, judges))))
        await self._finish(workers)
        if self._stop is None:
            # The bank ran out before the outage was long enough to be one: these were single failures after all.
            for execution, attempt in self._outage.held():
                await self._store_answer(execution, attempt)
        await self._finish_judging()

    async def _judge_stored(self, judges: Judges) -> None:
        """Judge what is stored; the model under test is not called."""
        only_missing = self._job.only_missing
        await asyncio.to_thread(self._stores.runs.set_status, self.run_id, RunStatus.RUNNING)
        ids = await asyncio.to_thread(
            functools.partial(self._stores.results.to_judge, self.run_id, only_missing=only_missing)
        )
        await self._finish([asyncio.create_task(self._guarded(self._judge_again(ids, judges)))])
        await self._finish_judging()
        if self._left_as_they_were:
            await asyncio.to_thread(
                self._stores.runs.add_warning,
                self.run_id,
                f"{self._left_as_they_were} answers could not be judged anew, because the judge could not be reached; "
                "they keep the verdict they had",
            )

    async def _finish_judging(self) -> None:
        while self._judging and self._stop is None:
            await self._finish(list(self._judging))
        await self._finish(list(self._judging))
        if self._writes:
            await asyncio.gather(*self._writes, return_exceptions=True)  # _write_done has seen each error

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for all of them; after a stop, no longer than the grace."""
        if not tasks:
            return
        everything = asyncio.gather(*tasks, return_exceptions=True)
        await self._until_stopped(everything)
        if not everything.done():
            await asyncio.wait(tasks, timeout=GRACE_S)
            for task in tasks:
                task.cancel()
            await everything

    async def _until_stopped(self, work: asyncio.Future[Any]) -> None:
        stopped = asyncio.create_task(self._stopped.wait())
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

    async def _take_items(
        self, pending: Iterator[Execution], subject: Endpoint, name: str, material: Material, judges: Judges
    ) -> None:
        while self._stop is None:
            async with subject.slot():
                execution = next(pending, None) if self._stop is None else None
                if execution is None:
                    return
                self._in_flight += 1
                milestones.reached(milestones.CLAIMED)
                try:
                    attempt = await self._ask(execution, subject, name, material)
                    milestones.reached(milestones.ANSWERED)
                    # The slot is kept until the commit, so that a crash costs no more calls than there are slots.
                    for past, failed in self._outage.admit(execution, attempt):
                        await self._store_answer(past, failed)
                finally:
                    self._in_flight -= 1
            if (reason := self._outage.reason_to_stop()) is not None:
                self.stop(RunStatus.INTERRUPTED, reason)
                return
            self._finished_at.append(time.monotonic())
            if attempt.execution_status is ExecutionStatus.COMPLETED:
                await self._judge(execution, attempt, judges)

    async def _ask(self, execution: Execution, subject: Endpoint, name: str, material: Material) -> Attempt:
        number = execution.attempts + 1
        try:
            return await converse(execution.instance, model=subject, name=name, material=material, number=number)
        except Exception as error:  # noqa: BLE001
            # One broken item must not take the others with it. Its class is kept; its text may hold a prompt.
            log.error(
                "item_failed", run_id=self.run_id, execution_id=execution.execution_id, error=type(error).__name__
            )
            return Attempt(
                number=number,
                execution_status=ExecutionStatus.ERROR,
                error=ExecutionError(code="internal_error", message=f"unexpected {type(error).__name__}"),
                latency_ms=0,
                created_at=utc_now(),
            )

    async def _store_answer(self, execution: Execution, attempt: Attempt) -> None:
        """Returns when the attempt is committed: only then does it count as finished."""
        await self._stored(self._commit.answered(execution.execution_id, attempt))

    @staticmethod
    async def _stored(write: Future[None]) -> None:
        # Shielded: a cancelled worker must not withdraw an answer that is on its way to the disk.
        await asyncio.shield(asyncio.wrap_future(write))

    # -- judging ----------------------------------------------------------------------------------------------------

    async def _judge_again(self, execution_ids: list[int], judges: Judges) -> None:
        """Judge answers that are stored already; the model is not asked again."""
        for start in range(0, len(execution_ids), JUDGED_AT_ONCE):
            some = execution_ids[start : start + JUDGED_AT_ONCE]
            for each in await asyncio.to_thread(self._stores.results.answered, some):
                if self._stop is not None:
                    return
                if each.attempt.judgements and not judges.are_on:
                    continue  # a run without automatic judging has its evidence already
                await self._judge(each.execution, each.attempt, judges)

    async def _judge(self, execution: Execution, attempt: Attempt, judges: Judges) -> None:
        """Conclude at once where rules suffice; else ask the judge model in a task beside the answering."""
        milestones.reached(milestones.JUDGING)
        judgements = judging.deterministic(execution.instance, attempt)
        if not judges.want_opinion(execution, attempt, judgements):
            self._write_judged(execution, attempt, judgements, judges)
            return
        await judges.room()
        task = asyncio.create_task(self._guarded(self._ask_judge(execution, attempt, judgements, judges)))
        self._judging.add(task)
        task.add_done_callback(self._judging.discard)

    async def _ask_judge(self, execution: Execution, attempt: Attempt, judgements: Judgements, judges: Judges) -> None:
        try:
            opinion = await judges.opinion(execution, attempt)
        finally:
            judges.leave()
        if is_unavailable(opinion) and attempt.automatic_verdict is not None:
            self._left_as_they_were += 1  # a judge that is away takes no verdict back
            return
        self._write_judged(execution, attempt, (*judgements, opinion), judges)

    def _write_judged(self, execution: Execution, attempt: Attempt, judgements: Judgements, judges: Judges) -> None:
        verdict = judges.conclude(execution, attempt, judgements)
        milestones.reached(milestones.JUDGED)
        write = asyncio.wrap_future(
            self._commit.judged(execution.execution_id, attempt.number, verdict=verdict, judgements=judgements)
        )
        self._writes.add(write)
        write.add_done_callback(self._write_done)

    def _write_done(self, write: asyncio.Future[None]) -> None:
        self._writes.discard(write)
        if not write.cancelled() and (error := write.exception()) is not None:
            self.stop(RunStatus.INTERRUPTED, str(error))


class _Outage:
    """Tells a provider that is down or refuses the key from single failures.

    Items that could not reach the provider are held back, not stored. An item that got through releases them as
    ordinary errors; too many in a row end the run and leave them pending, so that a resume asks them again.
    """

    _CODES = ("auth", "connection", "tls")

    def __init__(self) -> None:
        self._held: list[tuple[Execution, Attempt]] = []

    def admit(self, execution: Execution, attempt: Attempt) -> list[tuple[Execution, Attempt]]:
        """What may be stored now."""
        if attempt.error is not None and attempt.error.code in self._CODES:
            self._held.append((execution, attempt))
            return []
        released, self._held = self._held, []
        return [*released, (execution, attempt)]

    def held(self) -> list[tuple[Execution, Attempt]]:
        return self._held

    def reason_to_stop(self) -> str | None:
        errors = [attempt.error for _, attempt in self._held if attempt.error is not None]
        refused = sum(error.code == "auth" for error in errors)
        if refused >= KEY_REFUSALS_BEFORE_STOP or len(errors) >= OUTAGES_BEFORE_STOP:
            return errors[-1].message
        return None
