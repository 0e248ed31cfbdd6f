"""Server-sent events from bytes as they come in.

Lines end with LF, CRLF or CR and with nothing else: the line separators of Unicode stand unescaped in JSON. Nothing is
decoded here, so a character may be split between two chunks.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol, TypeVar

Whole = TypeVar("Whole", covariant=True)

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    name: str
    """Empty where the stream gives none."""
    data: bytes


class Gathering(Protocol[Whole]):
    """Puts one answer together from the events of its stream."""

    def feed(self, event: Event) -> bool:
        """Take one more; True when it was the last. Raises ProviderError for an error or nonsense in the stream."""
        ...

    def whole(self) -> Whole:
        """The answer, once the stream has ended. Raises ProviderError where it lacks its end."""
        ...


class EventReader:
    """Comments, `id` and `retry` lines and keep-alives are dropped: a chat answer has no use for them."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes kept of an event that is not complete yet."""
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = ""
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")  # the second half of a CRLF
        if not chunk:
            return []
        if chunk.endswith(b"\r"):
            self._after_cr = True
        first, *others = _LINE_END.split(chunk)
        self._line.append(first)
        self.held += len(first)
        events: list[Event] = []
        for other in others:
            line = b"".join(self._line)
            self._line = [other]
            self.held += len(other)
            self._take(line, events)
        return events

    def rest(self) -> Event | None:
        """At the end of the stream: what lacks its blank line, and may have been cut off."""
        events: list[Event] = []
        self._take(b"".join(self._line), events)
        self._take(b"", events)
        return events[-1] if events else None

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(Event(self._name, b"\n".join(self._data)))
            self.held -= sum(map(len, self._data))
            self._data, self._name = [], ""
            return
        field, _colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        self.held -= len(line)
        if field == b"data":
            self._data.append(value)
            self.held += len(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")


def looks_like_events(body: bytes) -> bool:
    """Whether a body is a stream of events although its headers call it something else."""
    return body.removeprefix(_BOM).lstrip()[:6].startswith((b"data:", b"event:", b":", b"id:", b"retry:"))
