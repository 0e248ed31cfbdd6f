"""Chat messages of other tools as system text and turns of the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class LeftOut(ValueError):
    """Why something cannot become a case, in words for the report of the import."""


class Conversation(NamedTuple):
    """System text before the first turn, and what the user says."""

    system: str | None
    turns: list[str]


def conversation_of(messages: Iterable[tuple[Any, Any]]) -> Conversation:
    """From roles and contents in order; a content is text, an object with `text`, or a list of such parts.

    Raises:
        LeftOut: somebody else speaks (in our runs the model answers by itself), or there is more or less than text.
    """
    system: list[str] = []
    turns: list[str] = []
    for role, content in messages:
        text = _text(content)
        if role == "system" and not turns:
            system.append(text)
        elif role == "user":
            turns.append(text)
        else:
            raise LeftOut(f"holds a message of role {role!r} where only the model may speak, or after a question")
    if not turns:
        raise LeftOut("holds no message of the user")
    return Conversation("\n\n".join(system) or None, turns)


def messages_in(values: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    """Roles and contents of message objects. Raises LeftOut at anything else."""
    for one in values:
        if not isinstance(one, dict):
            raise LeftOut("holds a message that is no object")
        yield one.get("role"), one.get("content")


def _text(content: Any) -> str:
    texts = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(part, dict) and (part.get("type", "text") != "text" or part.get("data_path")):
            raise LeftOut(f"holds content of type {part.get('type', 'file')!r}; only text can be imported")
        if not isinstance(text, str) or not text.strip():
            raise LeftOut("holds a message without text")
        texts.append(text)
    if not texts:
        raise LeftOut("holds a message without text")
    return "\n".join(texts)
