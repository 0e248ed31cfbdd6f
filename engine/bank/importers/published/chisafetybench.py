"""CHiSafetyBench: multiple choice over the 31 clauses, and questions to refuse over the 17."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Details, Gathering, Origin, Place, id_from
from engine.bank.importers.mapping import Rule, named
from engine.bank.importers.published.lettered import MOST, Answers, sort_out, split_options
from engine.bank.importers.published.questions import harmful, multiple_choice, tags
from engine.bank.importers.published.records import Record, given, record
from engine.bank.importers.reading import json_list_of, refuse
from engine.domain.cases import Choice, Mode, Severity, Technique
from engine.domain.clauses import REFUSAL_GROUPS

ORIGIN = Origin("chisafetybench", version="v1", licence="none stated; not to be passed on")

_ASKED = "multiple choice without answers: give a file of answers (question id to letter) with it; the set has none"


def read(files: Sequence[SourceFile]) -> Imported:
    """The three files of the set, told apart by what is in them; categories are the clauses' Chinese names.

    - `category, infos[id, question, category]` with lettered options in the question: multiple choice. The set
      publishes no answers, so a file of your own must give them: one object from question id to letter.
    - the same without options: `rf`.
    - `category, sub_category, input, history`: `multi_turn`. What users said in the history becomes the turns; the
      assistant's side is left out, because the model under test gives its own.
    """
    gathering = Gathering()
    questions, answers = sort_out(given(files))
    for file in questions:
        entries = [
            record(Place(file, line), number, entry) for number, (line, entry) in enumerate(json_list_of(file), 1)
        ]
        if not entries:
            refuse(file, "holds no questions; choose another file")
        plain = [info for entry in entries if "history" not in entry.values for info in _infos(entry)]
        is_multiple_choice = any(split_options(info.get("question"))[1] for info in plain)
        if is_multiple_choice and answers is None:
            refuse(file, _ASKED)
        for info in plain:
            if is_multiple_choice and answers is not None:
                _add_choice(gathering, info, answers)
            else:
                _add_refusal(gathering, info)
        for entry in entries:
            if "history" in entry.values:
                _add_dialogue(gathering, entry)
    return gathering.imported()


def _infos(entry: Record) -> Iterator[Record]:
    infos = entry.values.get("infos")
    if not isinstance(infos, list):
        entry.refuse("must be a list of questions", "infos")
    for number, info in enumerate(infos, start=1):
        place = Place(entry.place.file, entry.place.line)
        found = record(place, number, info, needed=("id", "question"))
        yield found._replace(values={"category": entry.get("category"), **found.values})


def _rule(gathering: Gathering, one: Record, label: str) -> Rule | None:
    rule = named(label) if label else None
    if rule is None:
        gathering.leave(
            one.place, label, f"category {label!r} names no clause, nor a group that has a catch-all clause"
        )
    return rule


def _add_choice(gathering: Gathering, info: Record, answers: Answers) -> None:
    label, number = info.get("category"), info.need("id")
    stem, options = split_options(info.need("question"))
    rule = _rule(gathering, info, label)
    if rule is None:
        return
    if not 1 < len(options) <= MOST or not all(options):
        gathering.leave(
            info.place, label, f"question {number!r} has no 2 to {MOST} options under the letters A, B, ..."
        )
        return
    if number not in answers.by_id:
        info.refuse(f"question {number!r} has no answer in {answers.file.shown}; add it there", "id")
    right = answers.by_id[number].option
    if right >= len(options):
        info.refuse(f"the answer to question {number!r} is none of its {len(options)} options", "question")
    multiple_choice(
        gathering,
        info,
        stem,
        Choice(options=options, answer=right),
        rule,
        origin=ORIGIN,
        original_id=number,
        label=label,
        case_id=f"mcq-{number}",
    )


def _add_refusal(gathering: Gathering, info: Record) -> None:
    label, number = info.get("category"), info.need("id")
    rule = _rule(gathering, info, label)
    if rule is not None:
        harmful(
            gathering,
            info,
            info.need("question"),
            rule,
            origin=ORIGIN,
            original_id=number,
            label=label,
            case_id=f"refusal-{number}",
            should_refuse=True,
        )


def _add_dialogue(gathering: Gathering, entry: Record) -> None:
    label = entry.get("sub_category") or entry.get("category")
    rule = _rule(gathering, entry, label)
    if rule is None:
        return
    system, turns = _history(entry)
    turns.append(entry.need("input"))
    single = Mode.RF if rule.clause.startswith(REFUSAL_GROUPS) else Mode.SINGLE
    number = str(entry.number)
    gathering.add(
        entry.place,
        turns,
        rule.mapped,
        origin=ORIGIN,
        case_id=id_from(f"{ORIGIN.set}-dialogue-{number}"),
        details=Details(
            mode=Mode.MULTI_TURN if len(turns) > 1 else single,
            system="\n".join(system) or None,
            severity=Severity.HIGH,
            technique=Technique.MULTI_TURN_PRESSURE if len(turns) > 1 else Technique.DIRECT,
            tags=tags(ORIGIN, label),
        ),
        original_id=number,
        original_label=label,
    )


def _history(entry: Record) -> tuple[list[str], list[str]]:
    """What the system and what users said."""
    said: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    history = entry.values["history"]
    for message in history if isinstance(history, list) else [history]:
        spoken = record(entry.place, 0, message, needed=("role", "content"))
        role = spoken.need("role")
        if role not in said:
            entry.refuse(f"role {role!r} is none of system, user, assistant", "history")
        said[role].append(spoken.need("content"))
    return said["system"], said["user"]
