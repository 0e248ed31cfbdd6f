"""SALAD-Bench: questions in six domains, 16 tasks and 66 categories, plain or wrapped in an attack."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Details, Gathering, Origin
from engine.bank.importers.mapping import SALADBENCH, Rule, plain_label
from engine.bank.importers.published.questions import harmful
from engine.bank.importers.published.records import Record, records_of
from engine.domain.cases import Technique

ORIGIN = Origin("saladbench", licence="Apache-2.0")


def read(files: Sequence[SourceFile]) -> Imported:
    """`qid, question, source, 1-category, 2-category, 3-category`, or `prompt, categories`; mode `single`.

    The most exact label that our table knows decides. Attack-enhanced rows are asked in their wrapping (`augq`).
    Reported are rows of the multiple-choice part, which have several right answers, and rows whose prompt carries a
    defence, which belongs to the system under test.
    """
    gathering = Gathering()
    for record in records_of(files, needed=()):
        labels = _labels(record)
        label = " / ".join(labels)
        rule = next(filter(None, (SALADBENCH.get(plain_label(one)) for one in reversed(labels))), None)
        if "daugq" in record.values:
            gathering.leave(record.place, label, "carries a defence in its prompt")
        elif "choices" in record.values or "mcq" in record.values:
            gathering.leave(record.place, label, "a multiple-choice row with several right answers")
        elif rule is None:
            gathering.leave(record.place, label, f"none of its categories ({label or 'it has none'}) is in our table")
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


def _labels(record: Record) -> list[str]:
    """From the widest to the most exact."""
    listed = record.values.get("categories")
    if isinstance(listed, list):
        return [one.strip() for one in listed if isinstance(one, str) and one.strip()]
    named = [record.get("categories"), *(record.get(f"{level}-category") for level in (1, 2, 3))]
    return [label for label in named if label]
