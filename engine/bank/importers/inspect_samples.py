"""Inspect samples: one JSON object a line with `input`, and perhaps `choices`, `target`, `id` and `metadata`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.bank.importers import rows
from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.conversation import Conversation, LeftOut, conversation_of, messages_in
from engine.bank.importers.gathering import Gathering, Origin, Place, id_from, id_of_text
from engine.bank.importers.published.lettered import with_options
from engine.bank.importers.reading import Entry, jsonl_of, refuse
from engine.domain.cases import Choice

_ORIGIN = Origin(set="inspect")


def read(files: Sequence[SourceFile]) -> Imported:
    """All samples of all files."""
    gathering = Gathering()
    for file in files:
        for line, entry in jsonl_of(file):
            _add(gathering, Place(file, line), entry)
    return gathering.imported()


def _add(gathering: Gathering, place: Place, entry: Entry) -> None:
    file, line = place
    metadata, original, target = entry.get("metadata") or {}, entry.get("id"), entry.get("target")
    if not isinstance(metadata, dict):
        refuse(file, "must be an object", line=line, column="metadata")
    if isinstance(original, bool) or not isinstance(original, str | int | None):
        refuse(file, "must be text or a whole number", line=line, column="id")
    original = str(original).strip() or None if original is not None else None
    label = ", ".join(rows.labels_of(metadata))
    try:
        system, turns = _asked(place, entry.get("input"))
        choice = _choice(place, entry)
        for name in ("files", "setup", "sandbox"):
            if entry.get(name):
                raise LeftOut(f"needs {name!r}, which no question here has")
        mapped = rows.clause_in(metadata)
        details = rows.details_of(metadata)
        if choice is not None:
            turns = [*turns[:-1], _with_options(turns[-1], choice)]
        elif details.must is None and isinstance(target, str) and target.strip():
            details = details._replace(must=target.strip())
        gathering.add(
            place,
            turns,
            mapped,
            origin=_ORIGIN,
            case_id=id_from(original) if original else id_of_text("inspect", mapped.clause, *turns),
            details=details._replace(system=system or details.system, choice=choice),
            original_id=original,
            original_label=label,
        )
    except LeftOut as left:
        gathering.leave(place, label, str(left))
    except rows.NotOurs as error:
        gathering.leave(place, label, f"metadata.{error}")


def _with_options(question: str, choice: Choice) -> str:
    """A solver adds the options to the question; a question that names them already stays as it is."""
    return question if all(option in question for option in choice.options) else with_options(question, choice)


def _asked(place: Place, given: Any) -> Conversation:
    if isinstance(given, str) and given.strip():
        return Conversation(None, [given])
    if not isinstance(given, list) or not given:
        refuse(place.file, "must be text or a list of chat messages", line=place.line, column="input")
    return conversation_of(messages_in(given))


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
    letters = [
        one.strip().upper() if isinstance(one, str) else ""
        for one in (target if isinstance(target, list) else [target])
    ]
    answers = [ord(letter) - ord("A") if len(letter) == 1 else -1 for letter in letters]
    if not answers or len(set(answers)) < len(answers) or not all(0 <= answer < len(options) for answer in answers):
        last = chr(ord("A") + len(options) - 1)
        words = (
            f"must be the letter of the right option, A to {last}, or a list of different ones where several are right"
        )
        refuse(file, words, line=line, column="target")
    first, *others = sorted(answers)
    return Choice(options=tuple(options), answer=first, also=tuple(others))
