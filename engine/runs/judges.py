"""The judging side of a run: the deterministic judges at once, a judge model beside the answering."""

from __future__ import annotations

import asyncio

from engine import judging
from engine.domain.runs import Attempt, Execution, RunConfig
from engine.domain.verdicts import Judgement, Verdict
from engine.runs.conversation import Material
from engine.runs.endpoints import Endpoint

Judgements = tuple[Judgement, ...]

_BACKLOG = 2
"""Answers waiting for a judge, as a multiple of what the judge takes at once; more would only fill memory."""


def is_unavailable(judgement: Judgement) -> bool:
    """Whether this is no opinion, but the word that the judge could not be reached."""
    return judgement.detail is not None and judgement.detail.get("code") == "judge_unavailable"


class Judges:
    """The run's judges: the deterministic ones always, a model where one is set, and the arbitration."""

    def __init__(self, are_on: bool, config: RunConfig, endpoint: Endpoint | None, material: Material) -> None:
        self.are_on = are_on
        self._endpoint = endpoint
        self._material = material
        self._llm: judging.LlmJudge | None = None
        places = 1
        if endpoint is not None and config.judge is not None:
            self._llm = judging.LlmJudge(endpoint, name=config.judge.model)
            places = config.judge.max_concurrency * _BACKLOG
        self._room = asyncio.Semaphore(places)

    def want_opinion(self, execution: Execution, attempt: Attempt, judgements: Judgements) -> bool:
        return self._llm is not None and judging.needs_llm(execution.instance, attempt, judgements)

    async def room(self) -> None:
        await self._room.acquire()

    def leave(self) -> None:
        self._room.release()

    async def opinion(self, execution: Execution, attempt: Attempt) -> Judgement:
        if self._llm is None or self._endpoint is None:
            raise RuntimeError("no judge model is set; want_opinion() says whether there is one")
        evidence = self._material.evidence(execution.instance)
        async with self._endpoint.slot():
            return await self._llm.judge(execution.instance, attempt, evidence=evidence)

    def conclude(self, execution: Execution, attempt: Attempt, judgements: Judgements) -> Verdict | None:
        """None when judging is off: the judgements are kept as evidence only."""
        return judging.conclude(execution.instance, attempt, judgements) if self.are_on else None
