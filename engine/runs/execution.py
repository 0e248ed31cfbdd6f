"""One job on a run, from where the run stands to its end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

import structlog

from engine.domain.chat import ChatModel, Dialect, Pace, Probed
from engine.domain.runs import EndpointSettings, Job, JobKind, Run, RunConfig, RunStatus, Waiting
from engine.errors import EngineError, ProviderError, UnavailableError
from engine.providers import dialects
from engine.runs import controls, milestones, planning
from engine.runs.answering import Answering
from engine.runs.commits import Commits
from engine.runs.conversation import Material
from engine.runs.endpoints import Endpoint, EndpointPool
from engine.runs.judges import Judges, JudgingSide
from engine.runs.plan import READ_AT_ONCE, Plan
from engine.runs.speaking import FOR_THE_JUDGE, Speech
from engine.runs.stopping import End, Stopping
from engine.runs.waits import Waits
from engine.store import GroupCommit, Stores

log = structlog.get_logger(__name__)

STORE_AGAIN_S = 1.0
"""How often the end of a run is offered to a store that was full or away."""

JUDGED_AT_ONCE = 100
"""Stored answers read from the store at a time."""

PAUSE_MAX_S = 600.0
"""How long a run waits for a provider that is down, unless the settings say otherwise."""

Probe = Callable[[ChatModel, str], Awaitable[Probed]]


class Live(NamedTuple):
    """What only the engine's memory knows of a run."""

    in_flight: int
    rate_per_s: float | None
    waiting: Waiting | None = None
    limit: int | None = None
    """Items the endpoint may be asked at once now."""
    elapsed_s: float | None = None
    """Since this job began, by a clock that nobody sets."""
    left: int | None = None
    """Results that a job which goes over them again has not settled yet; None for one that goes through the plan."""


class RunExecution:
    """Lives on the engine's loop; `live` may be asked from any thread."""

    def __init__(
        self,
        run_id: int,
        job: Job,
        *,
        stores: Stores,
        commit: GroupCommit,
        pool: EndpointPool,
        probe: Probe,
        pause_max_s: float = PAUSE_MAX_S,
    ) -> None:
        self.run_id = run_id
        self.unstored: End | None = None
        """How the run ended, while the store cannot take it down."""
        self._job = job
        self._stores = stores
        self._commits = Commits(commit)
        self._pool = pool
        self._probe = probe
        self._pause_max_s = pause_max_s
        self._stopping = Stopping()
        self._closing = asyncio.Event()
        self._ending = asyncio.Lock()
        self._ended: RunStatus | None = None
        self._answering: Answering | None = None
        self._judging: JudgingSide | None = None
        self._waits: Waits | None = None
        self._to_judge = 0
        self._began = time.monotonic()

    # -- seen from outside ------------------------------------------------------------------------------------------

    def live(self) -> Live:
        elapsed_s = time.monotonic() - self._began
        answering = self._answering
        if answering is None:
            # What is judged beside the asking keeps its own pace; only a job that asks nothing goes as fast as it.
            rate_per_s = None if self._judging is None else self._judging.rate.per_s()
            waiting = None if self._waits is None else self._waits.now
            return Live(0, rate_per_s, waiting, elapsed_s=elapsed_s, left=self._left())
        rate_per_s, pace = answering.rate.per_s(), answering.pace()
        return Live(answering.in_flight, rate_per_s, answering.waiting, pace.limit, elapsed_s, left=self._left())

    def _left(self) -> int | None:
        if self._job.kind is JobKind.RETRY:
            return len(self._job.execution_ids) if self._answering is None else self._answering.left
        if self._job.kind is JobKind.JUDGE and self._judging is not None:
            return self._to_judge - self._judging.concluded - self._judging.left_as_they_were
        return None

    def stop(self, status: RunStatus, error: str | None = None) -> None:
        """Take no further item; finish or drop what is in flight; end as `status`. On the loop's thread only."""
        self._stopping.ask(status, error)

    def shut_down(self, error: str) -> None:
        """End as interrupted, and do not wait for a store that cannot take down how it ended."""
        self._closing.set()
        self.stop(RunStatus.INTERRUPTED, error)

    # -- the run ----------------------------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Never raises: whatever happens is written on the run."""
        await self._guarded(self._execute())
        await self._commits.settled()
        status = await self._store_end()
        seconds = round(time.monotonic() - self._began, 3)
        log.info("run_ended", run_id=self.run_id, status=status, seconds=seconds)

    async def _store_end(self) -> RunStatus | None:
        """The status stored; None where the store stayed full or away until the engine stopped.

        Then the next start of the engine calls the run interrupted.
        """
        while True:
            try:
                return await self.store_end()
            except UnavailableError as failure:
                if self.unstored is None:
                    log.error("run_status_not_stored", run_id=self.run_id, reason=failure.message)
                self.unstored = self._stopping.wish or End(RunStatus.INTERRUPTED, failure.message)
            if self._closing.is_set():
                return None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), STORE_AGAIN_S)

    async def store_end(self) -> RunStatus:
        """Store how the run ended, once: whoever asks after that must not find it stored over what came later.

        Raises:
            UnavailableError: the store cannot take it down.
        """
        async with self._ending:
            if self._ended is None:
                wish = self._stopping.wish
                end = wish if wish is not None else await asyncio.to_thread(self._outcome)
                milestones.reached(milestones.FINISHING)
                await asyncio.to_thread(self._stores.runs.set_status, self.run_id, end.status, error=end.error)
                self._ended, self.unstored = end.status, None
            return self._ended

    def _outcome(self) -> End:
        """What a run is after a job that went to its end."""
        if self._job.kind is not JobKind.EXECUTE and self._stores.results.pending_ids(self.run_id):
            return End(self._job.before, self._job.before_error)
        return End(RunStatus.COMPLETED)

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
            judge = self._borrowed(borrowed, config.judge) if config.judge is not None and are_on else None
            judges = Judges(are_on, config, judge, material, self._keep_judge_dialect)
            if self._job.kind is JobKind.JUDGE:
                await self._judge_stored(config, judges)
            else:
                await self._ask(run, config, self._borrowed(borrowed, config.subject), material, judges)

    def _borrowed(self, until: contextlib.AsyncExitStack, settings: EndpointSettings) -> Endpoint:
        endpoint = self._pool.borrow(settings)
        until.push_async_callback(self._pool.give_back, endpoint)
        return endpoint

    @contextlib.asynccontextmanager
    async def _watched(self, pace: Callable[[], Pace]) -> AsyncIterator[None]:
        """Meanwhile it is told where an endpoint asks for a pause."""
        self._waits, over = Waits(self.run_id, self._stores), asyncio.Event()
        watching = asyncio.create_task(self._guarded(self._waits.watch(pace, over)))
        try:
            yield
        finally:
            over.set()
            await watching

    # -- asking -----------------------------------------------------------------------------------------------------

    async def _ask(self, run: Run, config: RunConfig, subject: Endpoint, material: Material, judges: Judges) -> None:
        runs, results = self._stores.runs, self._stores.results
        if not run.capabilities:
            await self._probe_and_plan(subject, config, material)
        if self._stopping.wish is not None:
            return
        await asyncio.to_thread(runs.set_status, self.run_id, RunStatus.RUNNING)
        unjudged: list[int] = []
        if self._job.kind is JobKind.RETRY:
            to_ask = list(self._job.execution_ids)
        else:
            to_ask = await asyncio.to_thread(results.pending_ids, self.run_id)
            unjudged = await asyncio.to_thread(functools.partial(results.to_judge, self.run_id, only_missing=True))
        speech = Speech(await asyncio.to_thread(runs.dialect, self.run_id), self._keep_dialect)
        async with JudgingSide(judges, self._commits, self._stopping, self._guarded) as judging:
            self._answering = Answering(
                self.run_id,
                Plan(self._stores, to_ask),
                stores=self._stores,
                subject=subject,
                config=config,
                speech=speech,
                material=material,
                commits=self._commits,
                judging=judging,
                stopping=self._stopping,
                guarded=self._guarded,
                pause_max_s=self._pause_max_s,
            )
            beside = [
                asyncio.create_task(self._guarded(self._judge_again(unjudged, judging))),
                asyncio.create_task(self._guarded(self._watch_judge(config, judges))),
            ]
            await self._answering.ask_all()
            await self._stopping.finish(beside, judges.all_on_the_wire)
            await judging.finish()

    async def _probe_and_plan(self, subject: Endpoint, config: RunConfig, material: Material) -> None:
        """Find out once what the model can do; the first success is kept for every resume."""
        runs, results = self._stores.runs, self._stores.results
        await asyncio.to_thread(runs.set_status, self.run_id, RunStatus.PROBING)
        prober = subject.prober()
        probing = asyncio.ensure_future(self._probe(prober, config.subject.model))
        async with self._watched(prober.pace):
            await self._stopping.until(probing)
        if not probing.done():
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
            return
        try:
            found = probing.result()
        except ProviderError as error:
            self.stop(RunStatus.INTERRUPTED, f"{error.message}. {error.hint}".rstrip(". ") + ".")
            return
        milestones.reached(milestones.PROBED)
        pending = await asyncio.to_thread(results.pending_ids, self.run_id)
        for start in range(0, len(pending), READ_AT_ONCE):
            some = await asyncio.to_thread(results.planned, pending[start : start + READ_AT_ONCE])
            skipped = planning.to_skip(some, fixtures=material.fixtures, capabilities=found.capabilities)
            await asyncio.to_thread(results.skip, self.run_id, skipped)
        for warning in found.warnings:
            await asyncio.to_thread(runs.add_warning, self.run_id, warning)
        await asyncio.to_thread(runs.set_dialect, self.run_id, found.dialect)
        await asyncio.to_thread(runs.set_capabilities, self.run_id, found.capabilities)

    async def _keep_dialect(self, before: Dialect, after: Dialect) -> None:
        """What the endpoint refused in the midst of the run is told as what probing finds, and kept for a resume."""
        then, now = dialects.told(before), dialects.told(after)
        untrue, told = [text for text in then if text not in now], [text for text in now if text not in then]
        set_dialect = functools.partial(self._stores.runs.set_dialect, told=told, untrue=untrue)
        await asyncio.to_thread(set_dialect, self.run_id, after)

    async def _keep_judge_dialect(self, before: Dialect, after: Dialect) -> None:
        """A judge is not probed; what its endpoint refuses shows when it is asked."""
        for text in dialects.told(after):
            if text not in dialects.told(before):
                await asyncio.to_thread(self._stores.runs.add_warning, self.run_id, f"{FOR_THE_JUDGE}: {text}")

    # -- judging what is stored -------------------------------------------------------------------------------------

    async def _judge_stored(self, config: RunConfig, judges: Judges) -> None:
        """The model under test is not called."""
        await asyncio.to_thread(self._stores.runs.set_status, self.run_id, RunStatus.RUNNING)
        find = functools.partial(self._stores.results.to_judge, self.run_id, only_missing=self._job.only_missing)
        ids = await asyncio.to_thread(find)
        async with JudgingSide(judges, self._commits, self._stopping, self._guarded) as judging:
            self._judging, self._to_judge = judging, len(ids)
            beside = [
                asyncio.create_task(self._guarded(self._judge_again(ids, judging))),
                asyncio.create_task(self._guarded(self._watch_judge(config, judges))),
            ]
            async with self._watched(judges.pace):
                await self._stopping.finish(beside, judges.all_on_the_wire)
                await judging.finish()
        if judging.left_as_they_were:
            await asyncio.to_thread(
                self._stores.runs.add_warning,
                self.run_id,
                f"{judging.left_as_they_were} answers could not be judged anew, because the judge could not be "
                "reached; they keep the verdict they had",
            )

    async def _watch_judge(self, config: RunConfig, judges: Judges) -> None:
        """Put the control cases before the judge once a run, and anew when stored answers are judged again."""
        again = self._job.kind is JobKind.JUDGE
        await controls.watch_judge(self.run_id, config.controls, judges, self._stores, again=again)

    async def _judge_again(self, execution_ids: list[int], judging: JudgingSide) -> None:
        """Judge answers that are stored already."""
        for start in range(0, len(execution_ids), JUDGED_AT_ONCE):
            some = execution_ids[start : start + JUDGED_AT_ONCE]
            for each in await asyncio.to_thread(self._stores.results.answered, some):
                if self._stopping.wish is not None:
                    return
                if each.attempt.judgements and not judging.judges.are_on:
                    continue  # a run without automatic judging has its evidence already
                await judging.take(each.execution, each.attempt)
