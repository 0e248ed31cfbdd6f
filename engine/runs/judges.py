"""The judging side of a run: rules at once, a judge model beside the answering."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Self

import structlog

from engine import judging
from engine.domain.chat import ChatModel, Dialect, Pace
from engine.domain.runs import Attempt, Execution, RunConfig, RunStatus
from engine.domain.verdicts import JudgeKind, Judgement, Verdict
from engine.errors import UnavailableError
from engine.judging import prompts
from engine.runs import milestones
from engine.runs.commits import Commits
from engine.runs.conversation import Material
from engine.runs.endpoints import Endpoint
from engine.runs.rate import Rate
from engine.runs.speaking import Keep, Speech, Spoken
from engine.runs.stopping import Stopping

log = structlog.get_logger(__name__)

Judgements = tuple[Judgement, ...]

BACKLOG = 4
"""Answers that may wait for a judge model, as a multiple of what it takes at once. Answering waits beyond that: it is
the judge that sets the pace then, and more would only fill memory."""

UNAVAILABLE = "judge_unavailable"

AWAY_AFTER = 3
"""After so many judgements in a row that could not be had, the judge is asked with less patience."""


class _Waiting(NamedTuple):
    execution: Execution
    attempt: Attempt
    judgements: Judgements


class Judges:
    """The run's judges: the deterministic ones always, a model where one is set, and the arbitration."""

    def __init__(
        self, are_on: bool, config: RunConfig, endpoint: Endpoint | None, material: Material, keep: Keep
    ) -> None:
        """`keep` writes into the run what the judge's endpoint refuses, and so is not sent."""
        self.are_on = are_on
        self.at_once = 0
        self._endpoint = endpoint
        self._material = material
        self._llm: judging.LlmJudge | None = None
        # Runs from before there were rules have none, and are judged again as they were judged.
        self._rubric = judging.Rubric(judging.RuleSet.model_validate(config.rules)) if config.rules else None
        self._distrusted = frozenset(config.distrusted_clauses)
        self._prompts = prompts.thawed(config.judge_prompts, version=config.judge_prompt_version)
        self._speech = Speech(Dialect(), keep)
        self._name = ""
        self._missed = 0
        if endpoint is not None and config.judge is not None:
            self._name = config.judge.model
            self._llm = self._judge(endpoint)
            self.at_once = config.judge.max_concurrency

    def deterministic(self, execution: Execution, attempt: Attempt) -> Judgements:
        """What rules, policy and detectors say; CPU only."""
        return judging.deterministic(execution.instance, attempt, self._rubric)

    def want_opinion(self, execution: Execution, attempt: Attempt, judgements: Judgements) -> bool:
        return self._llm is not None and judging.needs_llm(execution.instance, attempt, judgements)

    async def opinion(self, execution: Execution, attempt: Attempt) -> Judgement:
        """The judge model's, without its vote where people have found it wanting."""
        opinion = await self.plain_opinion(execution, attempt)
        clause = execution.instance.clause
        return judging.without_vote(opinion, clause) if clause in self._distrusted else opinion

    async def plain_opinion(self, execution: Execution, attempt: Attempt) -> Judgement:
        """What the judge model says, whatever its vote counts for."""
        if self._llm is None or self._endpoint is None:
            raise RuntimeError("no judge model is set; want_opinion() says whether there is one")
        evidence = self._material.evidence(execution.instance)
        async with self._endpoint.slot():
            judge = self._llm
            if self._missed >= AWAY_AFTER:
                # A judge that is down must not cost every answer the full patience; one reply and it is itself again.
                judge = self._judge(self._endpoint.impatient())
            opinion = await judge.judge(execution.instance, attempt, evidence=evidence)
        self._missed = self._missed + 1 if is_unavailable(opinion) else 0
        return opinion

    def _judge(self, model: ChatModel) -> judging.LlmJudge:
        return judging.LlmJudge(Spoken(model, self._speech), name=self._name, prompts=self._prompts)

    def conclude(self, execution: Execution, attempt: Attempt, judgements: Judgements) -> Verdict | None:
        """None when judging is off: the judgements are kept as evidence only."""
        if not self.are_on:
            return None
        return judging.conclude(execution.instance, attempt, judgements, distrusted=self._distrusted)

    def all_on_the_wire(self) -> bool:
        return self._endpoint is None or self._endpoint.all_on_the_wire()

    def pace(self) -> Pace:
        """How fast the judge model lets itself be asked; nothing holds up judging without one."""
        if self._endpoint is None:
            return Pace(limit=1, in_flight=0, paused_until=None)
        return self._endpoint.pace()


class JudgingSide:
    """Takes answers that are stored and hands in what is concluded about them. Leaving it gives up what is not done."""

    def __init__(
        self,
        judges: Judges,
        commits: Commits,
        stopping: Stopping,
        guarded: Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]],
    ) -> None:
        self.judges = judges
        self.left_as_they_were = 0
        """Answers that kept an earlier verdict, because the judge could not be reached."""
        self.concluded = 0
        """Answers that got a verdict, or the note that there is none."""
        self.rate = Rate()
        self._commits = commits
        self._stopping = stopping
        self._waiting: asyncio.Queue[_Waiting | None] = asyncio.Queue(max(1, judges.at_once * BACKLOG))
        self._tasks = [asyncio.create_task(guarded(self._ask())) for _ in range(judges.at_once)]

    async def take(self, execution: Execution, attempt: Attempt) -> None:
        """Conclude at once where rules suffice; else queue for the judge model."""
        milestones.reached(milestones.JUDGING)
        judgements = self._deterministic(execution, attempt)
        if self.judges.want_opinion(execution, attempt, judgements):
            await self._waiting.put(_Waiting(execution, attempt, judgements))
        else:
            self._conclude(execution, attempt, judgements)

    async def finish(self) -> None:
        """Wait until everything that was taken is concluded, or the run is to stop."""
        for _ in self._tasks:
            if not await self._stopping.either(self._waiting.put(None)):
                break
        if self._stopping.wish is not None:
            # What waits keeps its null verdict, which a resume judges; whoever waits for more is told that it is over.
            while not self._waiting.empty():
                self._waiting.get_nowait()
            for _ in self._tasks:
                self._waiting.put_nowait(None)
        await self._stopping.finish(self._tasks, self.judges.all_on_the_wire)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ask(self) -> None:
        while self._stopping.wish is None and (next_one := await self._waiting.get()) is not None:
            if self._stopping.wish is not None:
                return
            execution, attempt, judgements = next_one
            opinion = await self._opinion(execution, attempt)
            if is_unavailable(opinion) and attempt.automatic_verdict is not None:
                self.left_as_they_were += 1  # a judge that is away takes no verdict back
                self.rate.finished()
                continue
            self._conclude(execution, attempt, (*judgements, opinion))

    def _deterministic(self, execution: Execution, attempt: Attempt) -> Judgements:
        """One answer that trips up a judge must not take the others with it; no model may pass it either."""
        try:
            return self.judges.deterministic(execution, attempt)
        except Exception as error:  # noqa: BLE001
            kind = self._tripped(execution, error)
            return (
                Judgement(
                    judge=JudgeKind.RULE,
                    verdict=Verdict.NEEDS_HUMAN_REVIEW,
                    reason=f"the rules could not be applied: unexpected {kind}",
                    detail={"code": "internal_error", "reason_zh": f"规则无法应用：意外的 {kind}"},
                ),
            )

    async def _opinion(self, execution: Execution, attempt: Attempt) -> Judgement:
        try:
            return await self.judges.opinion(execution, attempt)
        except UnavailableError:
            raise  # the store cannot take down how the judge is spoken to
        except Exception as error:  # noqa: BLE001
            kind = self._tripped(execution, error)
            return Judgement(
                judge=JudgeKind.LLM,
                verdict=None,
                reason=f"the judge could not be asked: unexpected {kind}",
                detail={"code": UNAVAILABLE, "error": "internal_error", "reason_zh": f"无法询问评判：意外的 {kind}"},
            )

    def _tripped(self, execution: Execution, error: Exception) -> str:
        kind = type(error).__name__  # the class only: the text may hold a prompt
        log.error("judging_failed", execution_id=execution.execution_id, error=kind)
        return kind

    def _conclude(self, execution: Execution, attempt: Attempt, judgements: Judgements) -> None:
        self.concluded += 1
        self.rate.finished()
        verdict = self.judges.conclude(execution, attempt, judgements)
        milestones.reached(milestones.JUDGED)
        write = self._commits.judged(execution.execution_id, attempt.number, verdict=verdict, judgements=judgements)
        write.add_done_callback(self._concluded)

    def _concluded(self, write: asyncio.Future[None]) -> None:
        if not write.cancelled() and (error := write.exception()) is not None:
            self._stopping.ask(RunStatus.INTERRUPTED, str(error))


def is_unavailable(judgement: Judgement) -> bool:
    """Whether this is no opinion, but the word that the judge could not be reached."""
    return judgement.detail is not None and judgement.detail.get("code") == UNAVAILABLE
