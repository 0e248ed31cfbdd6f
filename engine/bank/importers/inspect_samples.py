"""Inspect samples: one JSON object a line with `input`, and perhaps `choices`, `target`, `id` and `metadata`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.bank.importers import rows
from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin, Place, id_from, id_of_text
from engine.bank.importers.reading import Entry, jsonl_of, refuse
from engine.domain.cases import Choice

_ORIGIN = Origin(set="inspect")


class _Asked(NamedTuple):
    system: str | None
    turns: list[str]


class _Left(ValueError):
    """Why a sample cannot become a case."""


def read(files: Sequence[SourceFile]) -> Imported:
    """All samples of all files."""
    gathering = Gathering()
    for file in files:
        for line, entry in jsonl_of(file):
            _add(gathering, Place(file, line), entry)
    return gathering.imported()


def _add(gathering: Gathering, place: Place, entry: Entry) -> None:
    file, line = place
    metadata = entry.get("metadata") or {}
    if not isinstance(metadata, dict):
        refuse(file, "must be an object", line=line, column="metadata")
    labels = ", ".join(rows.labels_of(metadata))
    try:
        system, turns = _asked(place, entry.get("input"))
        for name in ("files", "setup", "sandbox"):
            if entry.get(name):
                raise _Left(f"needs {name!r}, which a question here has not")
        choice = _choice(place, entry)
        mapped, reason = rows.clause_in(metadata)
        if mapped is None:
            raise _Left(reason)
        details = rows.details_of(metadata)
    except _Left as left:
        return gathering.leave(place, labels, str(left))
    except rows.NotOurs as error:
        return gathering.leave(place, labels, f"metadata.{error}")
    target = entry.get("target")
    if choice is None and details.must is None and isinstance(target, str) and target.strip():
        details = details._replace(must=target.strip())
    original = entry.get("id")
    if original is not None and (isinstance(original, bool) or not isinstance(original, str | int)):
        refuse(file, "must be text or a whole number", line=line, column="id")
    named = str(original) if original is not None and str(original).strip() else None
    return gathering.add(
        place,
        turns,
        mapped,
        origin=_ORIGIN,
        case_id=id_from(named) if named else id_of_text("inspect", mapped.clause, *turns),
        details=details._replace(system=system or details.system, choice=choice),
        original_id=named,
        original_label=labels,
    )


def _asked(place: Place, given: Any) -> _Asked:
    file, line = place
    if isinstance(given, str) and given.strip():
        return _Asked(None, [given])
    if not isinstance(given, list) or not given:
        refuse(file, "must be text or a list of chat messages", line=line, column="input")
    system: list[str] = []
    turns: list[str] = []
    for message in given:
        if not isinstance(message, dict):
            refuse(file, "each message must be an object", line=line, column="input")
        text = _text(place, message.get("content"))
        match message.get("role"):
            case "system" if not turns:
                system.append(text)
            case "user":
                turns.append(text)
            case role:
                raise _Left(f"holds a message of role {role!r} where only the model may speak, or after a question")
    if not turns:
        raise _Left("holds no message of the user")
    return _Asked("\n\n".join(system) or None, turns)


def _text(place: Place, content: Any) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = []
    for part in parts:
        if not isinstance(part, dict):
            refuse(place.file, "a message's content must be text or a list of parts", line=place.line, column="input")
        if part.get("type") != "text":
            raise _Left(f"holds content of type {part.get('type')!r}; only text can be imported")
        if not isinstance(part.get("text"), str) or not part["text"].strip():
            refuse(place.file, "a message holds no text", line=place.line, column="input")
        texts.append(part["text"])
    return "\n".join(texts)


def _choice(place: Place, entry: Entry) -> Choice | None:
    options = entry.get("choices")
    if not options:
        return None
    file, line = place
    if not isinstance(options, list) or not all(isinstance(one, str) and one.strip() for one in options):
        refuse(file, "must be a list of texts", line=line, column="choices")
    if not 2 <= len(options) <= 26:
        refuse(file, f"has {len(options)} options; 2 to 26 can be lettered", line=line, column="choices")
    target = entry.get("target")
    letters = target if isinstance(target, list) else [target]
    if len(letters) > 1:
        raise _Left("has several right options")
    letter = letters[0].strip().upper() if letters and isinstance(letters[0], str) else ""
    answer = ord(letter) - ord("A") if len(letter) == 1 else -1
    if not 0 <= answer < len(options):
        last = chr(ord("A") + len(options) - 1)
        refuse(file, f"must be the letter of the right option, A to {last}", line=line, column="target")
    return Choice(options=tuple(options), answer=answer)
