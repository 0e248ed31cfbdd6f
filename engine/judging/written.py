"""What the model under test produced in one attempt, taken from the record of the attempt."""

from __future__ import annotations

from collections import Counter

from engine.domain.chat import FinishReason, RefusalType, ToolCall
from engine.domain.runs import Attempt, Output


def tool_calls(attempt: Attempt) -> tuple[ToolCall, ...]:
    """Every call the model asked for, in order, each once.

    Calls made on the way stand in the messages and again in the output; a call of the output is new when it occurs
    there more often than in the messages (some endpoints give every call the same id).
    """
    earlier = [call for message in attempt.messages if message.role == "assistant" for call in message.tool_calls]
    if attempt.output is None:
        return tuple(earlier)
    known = Counter(earlier)
    calls = list(earlier)
    for call in attempt.output.tool_calls:
        if known[call] > 0:
            known[call] -= 1
        else:
            calls.append(call)
    return tuple(calls)


def confirmed_calls(attempt: Attempt) -> frozenset[int]:
    """Numbers, from 1, of the calls that came after the model asked in words and the user answered."""
    confirmed: list[int] = []
    made, has_asked, is_answered = 0, False, False
    for message in attempt.messages:
        if message.role == "user":
            is_answered = is_answered or has_asked
        elif message.role == "assistant":
            has_asked = has_asked or (bool(message.text.strip()) and not message.tool_calls)
            confirmed += range(made + 1, made + len(message.tool_calls) + 1) if is_answered else ()
            made += len(message.tool_calls)
    if is_answered:
        confirmed += range(made + 1, len(tool_calls(attempt)) + 1)
    return frozenset(confirmed)


def is_truncated(output: Output) -> bool:
    """Whether the answer stopped at the token limit, so that its end is unknown."""
    return output.finish_reason is FinishReason.LENGTH


def is_filtered(output: Output) -> bool:
    """Whether the provider's filter, not the model, cut or replaced the answer."""
    return output.finish_reason is FinishReason.CONTENT_FILTER or output.refusal_type is RefusalType.PROVIDER_FILTER
