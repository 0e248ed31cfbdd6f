"""One chat completion put together from its pieces, so that it is read exactly as one that came whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine.domain.chat import Answer
from engine.providers import faults
from engine.providers.openai_answer import text_of_part
from engine.providers.sse import Event
from engine.providers.wire import error_in_200

END = b"[DONE]"


class Pieces:
    """A sse.Gathering. An answer counts as whole only when the stream said that it has ended."""

    def __init__(self, read: Callable[[dict[str, Any]], Answer], *, where: str, secrets: faults.Secrets) -> None:
        """`read` makes an answer of a completion; it raises ProviderError where that holds none."""
        self._read = read
        self._where = where
        self._secrets = secrets
        self._ended = False
        self._size = 0
        self._completion: dict[str, Any] = {"choices": []}
        self._message: dict[str, Any] = {}
        self._content: list[Any] = []
        self._pieces: dict[str, list[str]] = {}
        self._calls: list[dict[str, Any]] = []
        self._places: dict[int, dict[str, Any]] = {}

    def feed(self, event: Event) -> bool:
        data = event.data.strip()
        if data == END:
            self._ended = True
            return True
        if not data:
            return False
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            if event.name != "error":
                raise faults.malformed("a piece of an answer that is not JSON", where=self._where) from None
            chunk = {"error": faults.cleaned(data.decode("utf-8", "replace"), 400)}
        if not isinstance(chunk, dict):
            raise faults.malformed("a piece of an answer that is not an object", where=self._where)
        if event.name == "error" and not chunk.get("error"):
            chunk = {"error": chunk}
        if chunk.get("error"):
            raise error_in_200(chunk, where=self._where, secrets=self._secrets)
        self._add(chunk)
        return False

    def whole(self) -> Answer:
        if not self._ended:
            raise faults.broke_off(where=self._where)
        message = self._message
        if self._content:
            message["content"] = "".join(self._content)
        message |= {name: "".join(texts) for name, texts in self._pieces.items()}
        if self._calls:
            message["tool_calls"] = [_joined(call) for call in self._calls]
        return self._read(self._completion).model_copy(update={"streamed": True})

    def _add(self, chunk: dict[str, Any]) -> None:
        if isinstance(chunk.get("usage"), dict):
            self._completion["usage"] = chunk["usage"]
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._completion.setdefault("model", chunk["model"])
        choices = chunk.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise faults.malformed("a piece of an answer without a list of choices", where=self._where)
        for choice in choices or ():
            if not isinstance(choice, dict):
                raise faults.malformed("a piece of an answer with a choice that is no object", where=self._where)
            if choice.get("index", 0) in (0, None):
                self._add_choice(choice)

    def _add_choice(self, choice: dict[str, Any]) -> None:
        if not self._completion["choices"]:
            self._completion["choices"].append({"message": self._message})
        if choice.get("finish_reason") is not None:
            self._completion["choices"][0]["finish_reason"] = choice["finish_reason"]
        if isinstance(choice.get("usage"), dict):  # some gateways count there
            self._completion["usage"] = choice["usage"]
        delta = choice.get("delta")
        if delta is None:
            return
        if not isinstance(delta, dict):
            raise faults.malformed("a piece of an answer whose delta is no object", where=self._where)
        content = delta.get("content")
        if isinstance(content, str):
            self._content.append(self._counted(content))
        elif isinstance(content, list):
            for part in content:
                self._add_part(part)
        elif content is not None:
            raise faults.malformed("a message whose content is no text", where=self._where)
        for name in ("reasoning_content", "reasoning"):
            if isinstance(delta.get(name), str):
                self._add_text(name, delta[name])
                break
        if isinstance(delta.get("refusal"), str):
            self._add_text("refusal", delta["refusal"])
        if isinstance(delta.get("function_call"), dict):
            self._add_call({"index": 0, "function": delta["function_call"]})
        calls = delta.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            raise faults.malformed("tool calls that are no list", where=self._where)
        for call in calls or ():
            self._add_call(call)

    def _add_part(self, part: Any) -> None:
        """Content that comes in typed parts: thoughts apart from text, each without seams between its pieces."""
        thoughts: list[str] = []
        refusals: list[str] = []
        self._content.append(self._counted(text_of_part(part, thoughts, refusals)))
        for thought in thoughts:
            self._add_text("reasoning_content", thought)
        for refusal in refusals:
            self._add_text("refusal", refusal)

    def _add_text(self, name: str, text: str) -> None:
        self._pieces.setdefault(name, []).append(self._counted(text))

    def _add_call(self, piece: Any) -> None:
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            raise faults.malformed("a tool call without a function", where=self._where)
        call = self._call_of(piece, function)
        if piece.get("id") and not call.get("id"):
            call["id"] = piece["id"]
        if function.get("name") and not call["name"]:
            call["name"] = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["pieces"].append(self._counted(arguments))
        elif arguments is not None:
            call["arguments"] = arguments

    def _call_of(self, piece: dict[str, Any], function: dict[str, Any]) -> dict[str, Any]:
        """The call that a piece belongs to: that of its index, unless it brings a name and an id of its own."""
        index = piece.get("index")
        place = index if type(index) is int else (len(self._calls) if piece.get("id") else len(self._calls) - 1)
        call = self._places.get(place)
        another = call is not None and function.get("name") and piece.get("id") and piece["id"] != call.get("id")
        if call is None or another:
            call = {"name": "", "pieces": []}
            self._calls.append(call)
            self._places[place] = call
        return call

    def _counted(self, text: str) -> str:
        self._size += len(text)
        if self._size > faults.BODY_LIMIT:
            raise faults.too_large(faults.BODY_LIMIT, where=self._where)
        return text


def _joined(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["arguments"] if "arguments" in call else "".join(call["pieces"])
    return {"id": call.get("id"), "function": {"name": call["name"], "arguments": arguments}}
