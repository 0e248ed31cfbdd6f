"""The answering side of a run: items in flight, what becomes of them, and what is done when the provider fails."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from engine.domain.base import utc_now
from engine.domain.chat import Answer, ChatRequest, Message, Pace
from engine.domain.runs import (
    Attempt,
    Execution,
    ExecutionError,
    ExecutionStatus,
    RunConfig,
    RunStatus,
    Waiting,
)
from engine.errors import InputError, ProviderError, UnavailableError
from engine.providers.probing import served_model_note
from engine.runs import milestones
from engine.runs.breaker import Breaker, Settled
from engine.runs.commits import Commits
from engine.runs.conversation import Material, converse
from engine.runs.endpoints import Endpoint
from engine.runs.judges import JudgingSide
from engine.runs.plan import Plan
from engine.runs.rate import Rate
from engine.runs.speaking import Speech, Spoken
from engine.runs.stopping import Stopped, Stopping
from engine.runs.waits import TICK_S, Waits
from engine.store import Stores

log = structlog.get_logger(__name__)

TRIAL_S = 30.0
"""A trial call without an answer by then has failed."""

TRIAL_TEXT = "Say hello in one short sentence."

LONGEST_REASON = 300

Guarded = Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]]


class Answering:
    """Asks every item of a plan. Lives on the engine's loop."""

    def __init__(
        self,
        run_id: int,
        plan: Plan,
        *,
        stores: Stores,
        subject: Endpoint,
        config: RunConfig,
        speech: Speech,
        material: Material,
        commits: Commits,
        judging: JudgingSide,
        stopping: Stopping,
        guarded: Guarded,
        pause_max_s: float,
    ) -> None:
        self.run_id = run_id
        self.in_flight = 0
        self.rate = Rate()
        self._plan = plan
        self._stores = stores
        self._subject = subject
        self._model = Spoken(_Stoppable(subject, stopping), speech)
        self._name = config.subject.model
        self._speech = speech
        self._material = material
        self._commits = commits
        self._judging = judging
        self._stopping = stopping
        self._guarded = guarded
        self._at_once = config.subject.max_concurrency
        self._breaker = Breaker(at_once=self._at_once, pause_max_s=pause_max_s)
        self._may_ask = asyncio.Event()
        self._may_ask.set()
        self._settled = asyncio.Event()
        self._over = asyncio.Event()
        self._served: set[str | None] = set()
        self._waits = Waits(run_id, stores)

    @property
    def waiting(self) -> Waiting | None:
        """Why nothing moves."""
        return self._waits.now

    @property
    def left(self) -> int:
        """Items that have neither an answer nor an error of this job yet."""
        return self._plan.left + self.in_flight + self._breaker.holds

    def pace(self) -> Pace:
        return self._subject.pace()

    async def ask_all(self) -> None:
        """Returns when every item has its answer or its error on the disk, or the run is to stop."""
        watching = asyncio.create_task(self._guarded(self._watch()))
        try:
            while self._stopping.wish is None and (self._plan or self._breaker.holds):
                workers = [asyncio.create_task(self._guarded(self._take_items())) for _ in range(self._at_once)]
                await self._stopping.finish(workers, self._subject.all_on_the_wire)
                if self._breaker.holds:
                    await self._stopping.either(self._until_settled())
        finally:
            self._over.set()
            await watching

    # -- items ------------------------------------------------------------------------------------------------------

    async def _take_items(self) -> None:
        while self._stopping.wish is None:
            if not self._may_ask.is_set():
                await self._stopping.either(self._may_ask.wait())
                continue
            await self._subject.enter()
            try:
                if not self._may_ask.is_set():  # the provider went away while this place was waited for
                    continue
                # The place is kept until the commit, so that a crash costs no more calls than there are places.
                answered = await self._take_one()
            finally:
                self._subject.leave()
            if answered is None:
                return
            execution, attempt = answered
            if attempt is not None and attempt.execution_status is ExecutionStatus.COMPLETED:
                await self._judging.take(execution, attempt)

    async def _take_one(self) -> tuple[Execution, Attempt | None] | None:
        """The item that was taken, with its attempt if that is stored now; None when there is none to take."""
        execution = await self._plan.next() if self._stopping.wish is None else None
        if execution is None:
            return None
        self.in_flight += 1
        taken_at = time.monotonic()
        milestones.reached(milestones.CLAIMED)
        try:
            attempt = await self._ask(execution)
            if attempt is None:
                return None
            milestones.reached(milestones.ANSWERED)
            settled = self._breaker.item(execution, attempt, out_s=time.monotonic() - taken_at)
            await self._settle(settled)
        finally:
            self.in_flight -= 1
        if not settled.store:
            return execution, None  # held back
        self.rate.finished()
        await self._note_served(attempt)
        return execution, attempt

    async def _ask(self, execution: Execution) -> Attempt | None:
        """None when the run was stopped in the middle of the conversation."""
        number = execution.attempts + 1
        try:
            return await converse(
                execution.instance,
                model=self._model,
                name=self._name,
                dialect=self._speech.dialect,
                material=self._material,
                number=number,
            )
        except Stopped:
            return None
        except UnavailableError:
            raise  # the store cannot take down how the endpoint is spoken to; that is not the item's fault
        except Exception as error:  # noqa: BLE001
            # One broken item must not take the others with it. The log gets the class only: the text may hold a prompt.
            kind = type(error).__name__
            log.error("item_failed", run_id=self.run_id, execution_id=execution.execution_id, error=kind)
            said = str(error).encode("utf-8", "replace").decode()[:LONGEST_REASON]
            return _broken(number, "internal_error", f"unexpected {kind}: {said}")

    async def _settle(self, settled: Settled) -> None:
        """Returns when what may be stored is committed: only then does it count as finished."""
        if settled.ask_again:
            self._plan.again(settled.ask_again)
        writes = [self._commits.answered(execution.execution_id, attempt) for execution, attempt in settled.store]
        for (execution, attempt), write in zip(settled.store, writes, strict=True):
            try:
                await write
            except InputError as error:
                # Text that no database holds: asking again would bring it again, so the item fails by itself.
                broken = _broken(attempt.number, error.code, error.message)
                await self._commits.answered(execution.execution_id, broken)
        self._look_at_breaker()

    def _look_at_breaker(self) -> None:
        if (reason := self._breaker.reason_to_stop) is not None:
            self._stopping.ask(RunStatus.INTERRUPTED, reason)
        if self._breaker.is_open:
            self._may_ask.clear()
        else:
            self._may_ask.set()
        if not self._breaker.holds:
            self._settled.set()

    async def _until_settled(self) -> None:
        """Wait until it is known what becomes of the items that are held back."""
        self._settled.clear()
        if self._breaker.holds:
            await self._settled.wait()

    async def _note_served(self, attempt: Attempt) -> None:
        """Say once per name that the endpoint answered as another model than the one that was asked for."""
        served = attempt.served_model
        if attempt.output is None or served in self._served:
            return
        self._served.add(served)
        if (note := served_model_note(self._name, served)) is not None:
            await asyncio.to_thread(self._stores.runs.add_warning, self.run_id, note)

    # -- the provider's state ---------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Make trial calls when there is doubt, and say why nothing moves."""
        trial: asyncio.Task[ProviderError | None] | None = None
        try:
            while not self._over.is_set():
                pace = self._subject.pace()
                if trial is not None and trial.done():
                    await self._settle(self._breaker.trial(trial.result()))
                    trial = None
                idle = self.in_flight == 0 and not self._plan
                due = self._breaker.tick(pace.failures, idle=idle)
                if due and trial is None and pace.paused_until is None:
                    trial = asyncio.create_task(self._trial())
                self._look_at_breaker()
                await self._waits.tell(self._breaker.waiting() or self._waits.rate_limited(pace))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), TICK_S)
        finally:
            if trial is not None:
                trial.cancel()
                await asyncio.gather(trial, return_exceptions=True)

    async def _trial(self) -> ProviderError | None:
        """One small call of its own; None when it was answered."""
        request = ChatRequest(
            model=self._name, messages=(Message(role="user", text=TRIAL_TEXT),), dialect=self._speech.dialect
        )
        try:
            async with asyncio.timeout(TRIAL_S):
                await self._subject.impatient().complete(request)
        except TimeoutError:
            return ProviderError(
                f"the endpoint {self._subject.settings.name} gives no answer, not even to a greeting within "
                f"{TRIAL_S:g} s",
                code="timeout",
                retryable=True,
            )
        except ProviderError as error:
            return error
        return None


def _broken(number: int, code: str, message: str) -> Attempt:
    return Attempt(
        number=number,
        execution_status=ExecutionStatus.ERROR,
        error=ExecutionError(code=code, message=message),
        latency_ms=0,
        created_at=utc_now(),
    )


class _Stoppable:
    """The endpoint as an item sees it: no further call once the run is to stop."""

    def __init__(self, subject: Endpoint, stopping: Stopping) -> None:
        self._subject = subject
        self._stopping = stopping

    async def complete(self, request: ChatRequest) -> Answer:
        if self._stopping.wish is not None:
            raise Stopped
        return await self._subject.complete(request)

    async def models(self) -> list[str]:
        return await self._subject.models()

    def pace(self) -> Pace:
        return self._subject.pace()

    async def close(self) -> None:
        """The endpoint outlives the item."""
