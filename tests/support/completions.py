"""Chat completions as servers write them, whole and as a stream of events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def message(text: str | None, **parts: Any) -> dict[str, Any]:
    """A completion around one assistant message; `finish_reason`, `usage` and `model` belong to the completion."""
    finish = parts.pop("finish_reason", "stop")
    usage = parts.pop("usage", {"prompt_tokens": 10, "completion_tokens": 5})
    model = parts.pop("model", "scripted")
    return {
        "id": "completion",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text, **parts}, "finish_reason": finish}],
        "usage": usage,
    }


def event(content: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + (content if isinstance(content, bytes) else json.dumps(content).encode()) + b"\n\n"


def chunk(completion: Mapping[str, Any], delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    """One piece of a streamed completion."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": completion.get("model"), "choices": [choice]}


def streamed(completion: Mapping[str, Any], *, usage: bool = True, size: int = 5) -> list[bytes]:
    """A completion as a server streams it: role first, texts `size` characters at a time, the reason why it stopped,
    its usage where that was asked for, and the end."""
    choice = completion["choices"][0]
    said = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "reasoning", "content", "refusal"):
        text = said.get(name)
        if isinstance(text, str):
            deltas += [{name: text[start : start + size]} for start in range(0, len(text), size)]
        elif isinstance(text, list):
            deltas += [{name: [part]} for part in text]
    for index, call in enumerate(said.get("tool_calls") or ()):
        arguments = call["function"].get("arguments")
        pieces = arguments if isinstance(arguments, str) else json.dumps(arguments)
        named = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [named]})
        for start in range(0, len(pieces), size):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": pieces[start : start + size]}}]})
    events = [chunk(completion, delta) for delta in deltas]
    events.append(chunk(completion, {}, finish=choice.get("finish_reason")))
    if usage:
        events.append({**chunk(completion, {}), "choices": [], "usage": completion.get("usage")})
    return [*map(event, events), event(b"[DONE]")]
