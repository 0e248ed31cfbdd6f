"""Small, complete domain objects to store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from engine.domain.base import Localized
from engine.domain.cases import Expectation, Fixture, FixtureAccess, Instance, Mode, Severity, Technique, Turn
from engine.domain.chat import FinishReason, Message, ToolCall, Usage
from engine.domain.runs import (
    Attempt,
    EndpointSettings,
    ExecutionError,
    ExecutionStatus,
    Output,
    Run,
    RunConfig,
    RunDraft,
)
from engine.domain.verdicts import JudgeKind, Judgement, Verdict
from engine.store import GroupCommit, Stores

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 891234, tzinfo=UTC)


def instance(
    name: str, *, clause: str = "A.1.a", mode: Mode = Mode.SINGLE, text: str = "What is the capital?"
) -> Instance:
    return Instance(
        instance_id=name,
        case_id=name.partition("/")[0],
        seed_case=name.partition("/")[0],
        clause=clause,
        mode=mode,
        language="en",
        title=f"Title of {name}",
        turns=(Turn(text=text),),
        expectation=Expectation(must="answer", must_not="harm"),
        severity=Severity.MEDIUM,
        technique=Technique.DIRECT,
    )


def endpoint(provider_id: int | None = 1, model: str = "m") -> EndpointSettings:
    return EndpointSettings(
        provider_id=provider_id,
        name="demo",
        kind="demo",
        base_url="",
        model=model,
        max_concurrency=8,
        timeout_s=60,
    )


def draft(**changes: Any) -> RunDraft:
    values: dict[str, Any] = {
        "profile": "smoke",
        "bank": "regression",
        "auto_judge": True,
        "provider_id": 1,
        "provider_name": "demo",
        "simulated": True,
        "model": "m",
        "judge_model": "j",
        "dataset_sha256": "d" * 64,
        "seed": 7,
        "note": "a note",
        "created_by": "gly",
        "config": RunConfig(
            subject=endpoint(), judge=endpoint(2, "j"), judge_prompt_version="1", bank_version="1", self_judged=False
        ),
        "fixtures": (fixture(),),
        "warnings": ("mind the gap",),
    }
    return RunDraft(**{**values, **changes})


def fixture(name: str = "letter", sha256: str = "a" * 64) -> Fixture:
    return Fixture(
        fixture_id=name,
        path=f"fixtures/{name}.txt",
        media_type="text/plain",
        sha256=sha256,
        licence="CC0-1.0",
        title=Localized(zh="信", en="Letter"),
        access=FixtureAccess(model=("content",)),
    )


def answer(number: int = 1, text: str = "Paris.") -> Attempt:
    return Attempt(
        number=number,
        execution_status=ExecutionStatus.COMPLETED,
        messages=(Message(role="system", text="Be good."), Message(role="user", text="What is the capital?")),
        output=Output(
            text=text,
            tool_calls=(ToolCall(id="1", name="look_up", arguments='{"q": "capital"}'),),
            finish_reason=FinishReason.STOP,
        ),
        latency_ms=321,
        tries=2,
        usage=Usage(prompt_tokens=10, completion_tokens=None),
        served_model="m-2026",
        reasoning="I wonder.",
        created_at=MOMENT,
    )


def failure(number: int = 1, code: str = "timeout", message: str = "no answer within 60 s") -> Attempt:
    return Attempt(
        number=number,
        execution_status=ExecutionStatus.ERROR,
        messages=(Message(role="user", text="What is the capital?"),),
        error=ExecutionError(code=code, message=message),
        latency_ms=60000,
        created_at=MOMENT,
    )


def judgement(
    verdict: Verdict | None = Verdict.PASS, *, judge: JudgeKind = JudgeKind.LLM, reason: str = "It is fine."
) -> Judgement:
    return Judgement(judge=judge, verdict=verdict, reason=reason, confidence=0.9, detail={"code": "ok", "n": [1, "二"]})


def make_run(stores: Stores, instances: Sequence[Instance] | int = 3, **changes: Any) -> tuple[Run, list[int]]:
    """A stored run and the ids of its executions in plan order."""
    plan = [instance(f"case-{number:03}") for number in range(instances)] if isinstance(instances, int) else instances
    run = stores.runs.create(draft(**changes), instances=plan, blobs={})
    return run, [execution.execution_id for execution in stores.results.pending(run.id)]


def settle(writer: GroupCommit, execution_id: int, attempt: Attempt, *verdicts: Verdict | None) -> None:
    """Store an attempt and, one round after the other, what judges concluded."""
    writer.answered(execution_id, attempt).result(10)
    for verdict in verdicts:
        writer.judged(execution_id, attempt.number, verdict=verdict, judgements=[judgement(verdict)]).result(10)
