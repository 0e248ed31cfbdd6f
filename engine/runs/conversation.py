"""One instance, asked from the first turn to the last answer."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine import bank
from engine.domain.base import utc_now
from engine.domain.cases import Fixture, Instance, Turn
from engine.domain.chat import (
    Answer,
    ChatModel,
    ChatRequest,
    Dialect,
    FinishReason,
    FixtureRef,
    Message,
    RefusalType,
    ToolCall,
    Usage,
)
from engine.domain.runs import Attempt, ExecutionError, ExecutionStatus, Output
from engine.errors import ProviderError
from engine.judging import refusal

_PLAIN = Dialect()

MAX_TOOL_ROUNDS = 6
"""After so many rounds of tool calls the last answer stands as it is."""


class Material(NamedTuple):
    """A run's frozen fixtures: descriptions by id, bytes by SHA-256."""

    fixtures: Mapping[str, Fixture]
    blobs: Mapping[str, bytes]

    def reference(self, fixture_id: str) -> FixtureRef:
        fixture = self.fixtures[fixture_id]
        return FixtureRef(fixture_id=fixture_id, sha256=fixture.sha256, media_type=fixture.media_type)

    def attachment(self, fixture_id: str) -> str:
        """A document as the model sees it: only what its access policy shows to the model; empty for nothing."""
        fixture = self.fixtures[fixture_id]
        shown = bank.visible(fixture, self.blobs[fixture.sha256], to="model")
        return f"Attachment {fixture_id} ({fixture.media_type}):\n{shown}" if shown else ""

    def evidence(self, instance: Instance) -> str:
        """What the judge may see of the instance's documents, hidden fields of the model included."""
        parts = [
            f"{fixture_id}:\n{bank.visible(fixture, self.blobs[fixture.sha256], to='judge')}"
            for fixture_id in instance.fixture_ids
            if not (fixture := self.fixtures[fixture_id]).is_image
        ]
        return "\n\n".join(parts)


class _Transcript:
    """The conversation so far and what it has cost."""

    def __init__(self, instance: Instance, material: Material, dialect: Dialect) -> None:
        self.material = material
        self.dialect = dialect
        self.messages: list[Message] = []
        self.images: dict[str, bytes] = {}
        self.tool_calls: list[ToolCall] = []
        self.answers: list[Answer] = []
        self.took_s = 0.0
        documents = [name for name in instance.fixture_ids if not material.fixtures[name].is_image]
        parts = [instance.system] if instance.system is not None else []
        parts += [shown for name in documents if (shown := material.attachment(name))]
        if parts:
            # One system message, not several: many endpoints keep only the first.
            references = tuple(material.reference(name) for name in documents)
            self.messages.append(Message(role="system", text="\n\n".join(parts), fixtures=references))

    def say(self, turn: Turn) -> None:
        pictures = [name for name in turn.fixtures if self.material.fixtures[name].is_image]
        references = tuple(self.material.reference(name) for name in pictures)
        for reference in references:
            self.images[reference.sha256] = self.material.blobs[reference.sha256]
        self.messages.append(Message(role="user", text=turn.text, fixtures=references))

    async def ask(self, model: ChatModel, name: str, instance: Instance) -> Answer:
        request = ChatRequest.model_construct(
            model=name,
            messages=tuple(self.messages),
            tools=instance.tools,
            images=self.images,
            temperature=None,
            max_tokens=None,
            dialect=self.dialect,
        )
        started = time.monotonic()
        try:
            answer = await model.complete(request)
        except ProviderError as error:
            self.took_s += _took_s(error, started)
            raise
        self.took_s += _took_s(answer, started)
        self.answers.append(answer)
        self.tool_calls.extend(answer.tool_calls)
        return answer

    def remember(self, answer: Answer) -> None:
        self.messages.append(Message(role="assistant", text=answer.text, tool_calls=answer.tool_calls))

    def answer_calls(self, answer: Answer, instance: Instance) -> None:
        """Feed back the simulated tools' results, so that the next answer is about them."""
        results = {tool.name: tool.result for tool in instance.tools}
        self.remember(answer)
        for call in answer.tool_calls:
            known = call.name in results
            result = results[call.name] if known else {"error": f"there is no tool named {call.name}"}
            self.messages.append(
                Message(role="tool", tool_call_id=call.id, text=json.dumps(result, ensure_ascii=False))
            )

    @property
    def latency_ms(self) -> int:
        """Of the calls that brought an answer, or the last error: no earlier tries, no pauses and no queues."""
        return round(self.took_s * 1000)

    @property
    def tries(self) -> int:
        return sum(answer.tries for answer in self.answers)

    @property
    def usage(self) -> Usage | None:
        """Sums over all calls; a count that one call left unknown is unknown for the whole."""
        usages = [answer.usage or Usage() for answer in self.answers]
        prompt = [usage.prompt_tokens for usage in usages]
        completion = [usage.completion_tokens for usage in usages]
        total = Usage(
            prompt_tokens=None if None in prompt else sum(n for n in prompt if n is not None),
            completion_tokens=None if None in completion else sum(n for n in completion if n is not None),
        )
        return None if total.prompt_tokens is None and total.completion_tokens is None else total


async def converse(
    instance: Instance,
    *,
    model: ChatModel,
    name: str,
    material: Material,
    number: int,
    dialect: Dialect = _PLAIN,
) -> Attempt:
    """Ask one instance, all its turns and tool rounds, in the dialect of the endpoint.

    A ProviderError anywhere makes the whole attempt an execution error that keeps what was sent; an answer that
    did not arrive whole is never kept as one.
    """
    transcript = _Transcript(instance, material, dialect)
    try:
        for position, turn in enumerate(instance.turns):
            transcript.say(turn)
            answer = await transcript.ask(model, name, instance)
            rounds = 0
            while answer.tool_calls and instance.tools and rounds < MAX_TOOL_ROUNDS:
                transcript.answer_calls(answer, instance)
                answer = await transcript.ask(model, name, instance)
                rounds += 1
            if position + 1 < len(instance.turns):
                transcript.remember(answer)
    except ProviderError as error:
        return Attempt(
            number=number,
            execution_status=ExecutionStatus.ERROR,
            messages=tuple(transcript.messages),
            error=ExecutionError(code=error.code, message=error.message),
            latency_ms=transcript.latency_ms,
            tries=transcript.tries + error.tries,
            created_at=utc_now(),
        )
    kinds = [given.refusal_type for given in transcript.answers]
    filtered = next((kind for kind in (RefusalType.GUARDRAIL, RefusalType.PROVIDER_FILTER) if kind in kinds), None)
    return Attempt(
        number=number,
        execution_status=ExecutionStatus.COMPLETED,
        messages=tuple(transcript.messages),
        output=Output(
            text=answer.text,
            refusal_type=refusal.refused_by(answer.text, filtered or answer.refusal_type),
            tool_calls=tuple(transcript.tool_calls),
            finish_reason=_finish_reason(transcript.answers),
        ),
        latency_ms=transcript.latency_ms,
        tries=transcript.tries,
        usage=transcript.usage,
        served_model=answer.served_model,
        reasoning=answer.reasoning,
        created_at=utc_now(),
    )


def _finish_reason(answers: Sequence[Answer]) -> FinishReason:
    """That of the last answer, unless an earlier one was cut at its limit: nobody has seen how that one ends."""
    last = answers[-1].finish_reason
    was_cut = any(answer.finish_reason is FinishReason.LENGTH for answer in answers)
    return FinishReason.LENGTH if was_cut and last is not FinishReason.CONTENT_FILTER else last


def _took_s(came: Answer | ProviderError, started: float) -> float:
    """How long the last call took; where nobody measured it, how long it was waited for since `started`."""
    return time.monotonic() - started if came.took_s is None else came.took_s
