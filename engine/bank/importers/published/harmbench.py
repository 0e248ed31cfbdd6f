"""HarmBench: behaviours by semantic category, some with a context to read first."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin
from engine.bank.importers.mapping import HARMBENCH
from engine.bank.importers.published.questions import harmful, unknown
from engine.bank.importers.published.records import records_of

ORIGIN = Origin("harmbench", licence="MIT")


def read(files: Sequence[SourceFile]) -> Imported:
    """`Behavior, FunctionalCategory, SemanticCategory, Tags, ContextString, BehaviorID`; mode `single`.

    A context stands before its behaviour, a line of dashes between them. Behaviours about an image are reported: the
    table names the image and does not hold it.
    """
    gathering = Gathering()
    for record in records_of(files, needed=("behavior", "semanticcategory", "behaviorid")):
        label = record.get("semanticcategory")
        rule = HARMBENCH.get(label.casefold())
        if record.get("imagefilename") or record.get("functionalcategory").casefold() == "multimodal":
            gathering.leave(record.place, label, "needs its image, which the table does not hold")
        elif rule is None:
            gathering.leave(record.place, label, unknown(label, "SemanticCategory"))
        else:
            context, behaviour = record.get("contextstring"), record.need("behavior")
            harmful(
                gathering,
                record,
                f"{context}\n\n---\n\n{behaviour}" if context else behaviour,
                rule,
                origin=ORIGIN,
                original_id=record.need("behaviorid"),
                label=label,
            )
    return gathering.imported()
