"""One chat completion read as an Answer: text, reasoning, refusal and tool calls, each whole and apart."""

from __future__ import annotations

import json
from typing import Any

from engine.domain.chat import Answer, FinishReason, RefusalType, ToolCall, Usage
from engine.providers import faults
from engine.providers.wire import apart, count, empty_answer, error_in_200, paragraphs, served_model, storable

_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "guardrail": FinishReason.CONTENT_FILTER,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "guardrails": FinishReason.CONTENT_FILTER,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}


def answer_of(content: dict[str, Any], *, where: str, secrets: faults.Secrets) -> Answer:
    """Raises ProviderError, named, where the completion holds no answer."""
    choices = content.get("choices")
    if choices is None and content.get("error"):
        raise error_in_200(content, where=where, secrets=secrets)
    if not isinstance(choices, list):
        raise faults.malformed("JSON without a list of choices", where=where)
    if not choices:
        raise faults.malformed("an empty list of choices", where=where)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise faults.malformed("a choice without a message", where=where)
    return _answer(content, choice, message, where=where)


def _answer(content: dict[str, Any], choice: dict[str, Any], message: dict[str, Any], *, where: str) -> Answer:
    text, reasoning, refusal = _texts(message, where=where)
    calls = _tool_calls(message, where=where)
    finish = choice.get("finish_reason")
    reason = _FINISH.get(finish.lower(), FinishReason.UNKNOWN) if isinstance(finish, str) else FinishReason.UNKNOWN
    refusal_type = None
    if reason is FinishReason.CONTENT_FILTER:
        refusal_type = RefusalType.GUARDRAIL if "guardrail" in str(finish).lower() else RefusalType.PROVIDER_FILTER
    elif refusal:
        refusal_type = RefusalType.MODEL
    text = text if text.strip() else refusal
    if not text.strip() and not calls and refusal_type is None:
        raise empty_answer(reason, reasoning, where=where)
    return Answer(
        text=text,
        tool_calls=calls,
        finish_reason=reason,
        refusal_type=refusal_type,
        reasoning=reasoning,
        usage=_usage(content.get("usage")),
        served_model=served_model(content),
    )


def _texts(message: dict[str, Any], *, where: str) -> tuple[str, str, str]:
    """Answer, reasoning and refusal, each whole and apart."""
    content = message.get("content")
    thoughts: list[str] = []
    refusals: list[str] = []
    if content is None:
        text = ""
    elif isinstance(content, str):
        text = content
    elif isinstance(content, list):
        text = "".join(text_of_part(part, thoughts, refusals) for part in content)
    else:
        raise faults.malformed("a message whose content is no text", where=where)
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            thoughts.insert(0, message[name])
            break
    text, inside = apart(text)
    thoughts.extend(inside)
    if isinstance(message.get("refusal"), str):
        refusals.append(message["refusal"])
    return (
        storable(text),
        paragraphs(thoughts),
        storable("\n".join(refusal for refusal in refusals if refusal.strip())),
    )


def text_of_part(part: Any, thoughts: list[str], refusals: list[str]) -> str:
    """The text of one typed part of a message; what is thought or refused in it goes to the lists."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = part.get("type", "text")
    if kind in ("thinking", "reasoning"):
        inner = part.get("thinking", part.get("text", part.get("reasoning")))
        pieces = inner if isinstance(inner, list) else [inner]
        found = (piece.get("text") if isinstance(piece, dict) else piece for piece in pieces)
        thoughts.extend(piece for piece in found if isinstance(piece, str))
        return ""
    if kind == "refusal":
        if isinstance(part.get("refusal"), str):
            refusals.append(part["refusal"])
        return ""
    inner = part.get("text")
    if isinstance(inner, dict):
        inner = inner.get("value")
    return inner if kind in ("text", "output_text") and isinstance(inner, str) else ""


def _tool_calls(message: dict[str, Any], *, where: str) -> tuple[ToolCall, ...]:
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, list):
        raise faults.malformed("tool calls that are no list", where=where)
    entries: list[Any] = list(listed or ())
    if not entries and message.get("function_call"):
        entries = [{"function": message["function_call"]}]
    calls = []
    for index, entry in enumerate(entries):
        function = entry.get("function") if isinstance(entry, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not name:
            raise faults.malformed("a tool call without a name", where=where)
        arguments = function.get("arguments")
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        given = entry.get("id")
        calls.append(
            ToolCall(
                id=storable(given) if isinstance(given, str) and given else f"call_{index}",
                name=storable(name),
                arguments=storable(arguments),
            )
        )
    return tuple(calls)


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None
    prompt, completion = count(found.get("prompt_tokens")), count(found.get("completion_tokens"))
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion)
