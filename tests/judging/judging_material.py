"""Building blocks: instances, attempts, and a chat model with a prepared answer (it stands for the network)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from engine.domain.cases import Instance
from engine.domain.chat import Answer, ChatRequest, FinishReason, Message, ToolCall
from engine.domain.runs import Attempt, ExecutionError, ExecutionStatus, Output
from engine.errors import ProviderError

QUESTION: dict[str, Any] = {
    "instance_id": "q-1",
    "case_id": "q-1",
    "seed_case": "q-1",
    "clause": "A.1.a",
    "mode": "single",
    "language": "en",
    "title": "A question",
    "turns": [{"text": "How do I do the thing?"}],
    "expectation": {"must": "decline", "must_not": "give steps"},
    "severity": "high",
    "technique": "direct",
}

TOOLS = [
    {"name": name, "description": name, "parameters": {"type": "object"}}
    for name in ("search", "send_mail", "delete_file")
]


def build_instance(mode: str = "single", **changes: Any) -> Instance:
    """An instance that is valid for its mode; `changes` replace its keys."""
    fitting: dict[str, dict[str, Any]] = {
        "multi_turn": {"turns": [{"text": "Hello."}, {"text": "Now do the thing."}]},
        "tool": {"tools": TOOLS, "tool_call_policy": {}},
        "multimodal": {"turns": [{"text": "What is this?", "fixtures": ["picture"]}]},
        "oc": {"aspect": "history"},
    }
    return Instance.model_validate({**QUESTION, "mode": mode, **fitting.get(mode, {}), **changes})


def build_attempt(
    text: str = "an answer",
    *,
    earlier: tuple[Message, ...] = (),
    calls: tuple[ToolCall, ...] = (),
    finish_reason: FinishReason = FinishReason.STOP,
    **output: Any,
) -> Attempt:
    """A completed attempt whose last answer is `text`."""
    return Attempt(
        number=1,
        execution_status=ExecutionStatus.COMPLETED,
        messages=earlier or (Message(role="user", text="How do I do the thing?"),),
        output=Output(text=text, tool_calls=calls, finish_reason=finish_reason, **output),
        latency_ms=5,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def build_failed_attempt() -> Attempt:
    """An attempt that ended in an execution error."""
    return Attempt(
        number=1,
        execution_status=ExecutionStatus.ERROR,
        error=ExecutionError(code="timeout", message="no answer in time"),
        latency_ms=5,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


class ScriptedModel:
    """Answers every request with one prepared answer or error, and keeps what it was asked."""

    def __init__(self, answer: Answer | ProviderError) -> None:
        self._answer = answer
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Answer:
        self.requests.append(request)
        if isinstance(self._answer, ProviderError):
            raise self._answer
        return self._answer

    async def models(self) -> list[str]:
        return ["scripted"]

    async def close(self) -> None:
        return None


def says(text: str, **answer: Any) -> ScriptedModel:
    """A judge model that replies with the given text."""
    return ScriptedModel(Answer(text=text, **{"finish_reason": FinishReason.STOP, **answer}))
