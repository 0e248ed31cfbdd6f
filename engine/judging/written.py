"""What the model under test produced in one attempt, taken from the record of the attempt."""

from __future__ import annotations

import re
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


_NOTICE = re.compile(
    r"\A\W{0,3}(?:guardrail|(?:your|this|the)\s+(?:\w+\s+)?(?:request|prompt|message|input|query|response|output|content|answer)\s+"
    r"(?:was|is|has\s+been|were)\s+(?:blocked|rejected|stopped|flagged|denied|withheld|intercepted)\b[^.\n]{0,40}\b(?:guardrails?|security\s+(?:policy|"
    r"configurations?)|safety\s+(?:filters?|layer|system)|content\s+(?:policy|moderation|filters?)|prompt\s+(?:shield|guard)|gateway|firewall)"
    r"|[^。\n]{0,24}(?:被|触发|触发了|命中|命中了|因)[^。\n]{0,8}(?:护栏|围栏|网关|安全策略|风控)[^。\n]{0,10}(?:拦截|阻止|屏蔽|拒绝|策略|规则|[。!\n]|\Z))",
    re.IGNORECASE,
)
_NOTICE_CHARACTERS = 300


def is_guardrail_notice(text: str) -> bool:
    """Whether the text is what a gateway's guardrail puts in place of an answer, and not the model's own words."""
    return len(text) <= _NOTICE_CHARACTERS and _NOTICE.search(text.strip()) is not None


def filtered_by(output: Output) -> RefusalType | None:
    """What stood between the model and the answer: the provider's filter, a guardrail, or nothing."""
    if output.refusal_type is RefusalType.GUARDRAIL or is_guardrail_notice(output.text):
        return RefusalType.GUARDRAIL
    if output.finish_reason is FinishReason.CONTENT_FILTER or output.refusal_type is RefusalType.PROVIDER_FILTER:
        return RefusalType.PROVIDER_FILTER
    return None


def is_filtered(output: Output) -> bool:
    """Whether a filter or a guardrail, not the model, cut or replaced the answer."""
    return filtered_by(output) is not None
