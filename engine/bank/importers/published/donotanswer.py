"""Do-Not-Answer: questions that a model should not follow, by type of harm."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin
from engine.bank.importers.mapping import DO_NOT_ANSWER, plain_label
from engine.bank.importers.published.questions import harmful, unknown
from engine.bank.importers.published.records import records_of

ORIGIN = Origin("donotanswer", licence="CC-BY-NC-SA-4.0")


def read(files: Sequence[SourceFile]) -> Imported:
    """`id, risk_area, types_of_harm, specific_harms, question`; mode `single`, for not every good answer is a refusal.

    The answers of models and their labels, which stand beside the questions, are not read.
    """
    gathering = Gathering()
    for record in records_of(files, needed=("id", "types_of_harm", "question")):
        label = record.get("types_of_harm")
        rule = DO_NOT_ANSWER.get(plain_label(label))
        if rule is None:
            gathering.leave(record.place, label, unknown(label, "types_of_harm"))
        else:
            harmful(
                gathering,
                record,
                record.need("question"),
                rule,
                origin=ORIGIN,
                original_id=record.need("id"),
                label=label,
            )
    return gathering.imported()
