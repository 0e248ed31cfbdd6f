"""One message put together from the events of its stream, so that it is read exactly as one that came whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine.domain.chat import Answer
from engine.errors import ProviderError
from engine.providers import faults
from engine.providers.sse import Event

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""What each kind of delta adds to; other kinds, such as signatures, are of no use here."""


class Pieces:
    """A sse.Gathering. A message counts as whole only when the stream said that it has ended."""

    def __init__(
        self,
        read: Callable[[dict[str, Any]], Answer],
        *,
        where: str,
        failed: Callable[[dict[str, Any]], ProviderError],
    ) -> None:
        """`read` makes an answer of a message, `failed` an error of an error event."""
        self._read = read
        self._where = where
        self._failed = failed
        self._ended = False
        self._size = 0
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}

    def feed(self, event: Event) -> bool:
        if not event.data.strip():
            return False
        try:
            content = json.loads(event.data)
        except (ValueError, RecursionError):
            raise faults.malformed("a piece of an answer that is not JSON", where=self._where) from None
        if not isinstance(content, dict):
            raise faults.malformed("a piece of an answer that is not an object", where=self._where)
        kind = content.get("type") or event.name
        if kind == "error" or content.get("error"):
            raise self._failed(content)
        if kind == "message_start":
            self._message = dict(_object(content.get("message")))
        elif kind == "content_block_start":
            self._blocks[_index(content)] = dict(_object(content.get("content_block")))
        elif kind == "content_block_delta":
            self._add(_index(content), _object(content.get("delta")))
        elif kind == "message_delta":
            self._message.update(_object(content.get("delta")))
            counted = {name: value for name, value in _object(content.get("usage")).items() if value is not None}
            self._message["usage"] = {**_object(self._message.get("usage")), **counted}
        elif kind == "message_stop":
            self._ended = True
        return self._ended

    def whole(self) -> Answer:
        if not self._ended:
            raise faults.broke_off(where=self._where)
        blocks = [self._block(index) for index in sorted(self._blocks)]
        return self._read({**self._message, "content": blocks}).model_copy(update={"streamed": True})

    def _add(self, index: int, delta: dict[str, Any]) -> None:
        piece = delta.get(_TEXTS.get(str(delta.get("type")), ""))
        if not isinstance(piece, str):
            return
        if index not in self._blocks:
            raise faults.malformed("a piece of a block that never began", where=self._where)
        self._size += len(piece)
        if self._size > faults.BODY_LIMIT:
            raise faults.too_large(faults.BODY_LIMIT, where=self._where)
        self._texts.setdefault(index, []).append(piece)

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks[index]
        text = "".join(self._texts.get(index, ()))
        if not text:
            return block
        if block.get("type") == "tool_use":
            return {**block, "input": text}
        name = "thinking" if block.get("type") == "thinking" else "text"
        return {**block, name: str(block.get(name) or "") + text}


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _index(content: dict[str, Any]) -> int:
    found = content.get("index")
    return found if type(found) is int else 0
