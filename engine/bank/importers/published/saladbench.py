"""SALAD-Bench: questions in six domains, 16 tasks and 66 categories, plain or wrapped in an attack."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Details, Gathering, Origin, language_of
from engine.bank.importers.mapping import SALADBENCH, Rule, plain_label
from engine.bank.importers.published.lettered import request_for, with_options
from engine.bank.importers.published.questions import harmful, multiple_choice
from engine.bank.importers.published.records import Record, records_of
from engine.domain.cases import Choice, Technique

ORIGIN = Origin("saladbench", licence="Apache-2.0")

_NEXT_OPTION = re.compile(r";\s*(?=[B-Z]\.\s)")
_LETTERS = re.compile(r"[A-Z](?:[\s,;]*[A-Z])*")


def read(files: Sequence[SourceFile]) -> Imported:
    """`qid, question, source, 1-category, 2-category, 3-category`, or `prompt, categories`; mode `single`.

    The most exact label that our table knows decides. Attack-enhanced rows are asked in their wrapping (`augq`).
    Rows of the multiple-choice part (`mcq, baseq, choices, gt`) are asked in the words of `mcq`, which alone say
    whether the safe or the unsafe answers are to be chosen; one option is right or several are. Reported are rows whose
    prompt carries a defence, which belongs to the system under test, and choices without `mcq`.
    """
    gathering = Gathering()
    for record in records_of(files, needed=()):
        labels = _labels(record)
        label = " / ".join(labels)
        rule = next(filter(None, (SALADBENCH.get(plain_label(one)) for one in reversed(labels))), None)
        if "daugq" in record.values:
            gathering.leave(record.place, label, "carries a defence in its prompt")
        elif rule is None:
            gathering.leave(record.place, label, f"none of its categories ({label or 'it has none'}) is in our table")
        elif "mcq" in record.values:
            _add_choice(gathering, record, rule, labels[-1])
        elif "choices" in record.values:
            gathering.leave(record.place, label, "has options, but no mcq that says which of them to choose")
        else:
            _add(gathering, record, rule, labels[-1])
    return gathering.imported()


def _add(gathering: Gathering, record: Record, rule: Rule, label: str) -> None:
    attacked = "augq" in record.values
    column = "augq" if attacked else "question" if "question" in record.values else "prompt"
    number = record.get("qid") or str(record.number)
    attack = f"{number}-attack-{record.get('aid') or record.number}"
    harmful(
        gathering,
        record,
        record.need(column),
        rule,
        origin=ORIGIN,
        original_id=attack if attacked else number,
        label=label,
        details=Details(technique=Technique.INDIRECT if attacked else None),
    )


def _add_choice(gathering: Gathering, record: Record, rule: Rule, label: str) -> None:
    stem, choice = record.need("mcq"), _choice(record)
    if not all(option in stem for option in choice.options):
        asked = with_options(stem, choice)
    else:  # the set's own request for a form of answer, where it has one, is enough
        asked = stem if "<ans>" in stem else f"{stem}\n{request_for(choice, language_of(stem))}"
    multiple_choice(
        gathering,
        record,
        record.get("baseq") or stem,
        choice,
        rule,
        origin=ORIGIN,
        original_id=record.get("qid") or str(record.number),
        label=label,
        case_id=f"mcq-{record.number}",
        asked=asked,
    )


def _choice(record: Record) -> Choice:
    given = record.values.get("choices")
    options = [one.strip() for one in given if isinstance(one, str)] if isinstance(given, list) else _options(record)
    letters = _LETTERS.fullmatch(record.need("gt").upper())
    answers = [ord(letter) - ord("A") for letter in re.findall("[A-Z]", letters[0])] if letters is not None else []
    if not 1 < len(options) <= 26 or not all(options):
        record.refuse(f"holds {len(options)} options under the letters A, B, ...; 2 to 26 are expected", "choices")
    if not answers or len(set(answers)) < len(answers) or max(answers) >= len(options):
        last = chr(ord("A") + len(options) - 1)
        record.refuse(f"must be the letters of the right options, A to {last}, each once", "gt")
    first, *others = sorted(answers)
    return Choice(options=tuple(options), answer=first, also=tuple(others))


def _options(record: Record) -> list[str]:
    """`A. one; B. two;` in order; a piece under any other letter than the next belongs to the option before it."""
    options: list[str] = []
    for piece in _NEXT_OPTION.split(record.need("choices").rstrip("; ")):
        if piece.startswith(f"{chr(ord('A') + len(options))}."):
            options.append(piece[2:].strip())
        elif options:
            options[-1] = f"{options[-1]}; {piece}"
    return options


def _labels(record: Record) -> list[str]:
    """From the widest to the most exact."""
    listed = record.values.get("categories")
    if isinstance(listed, list):
        return [one.strip() for one in listed if isinstance(one, str) and one.strip()]
    named = [record.get("categories"), *(record.get(f"{level}-category") for level in (1, 2, 3))]
    return [label for label in named if label]
