"""JailbreakBench: 100 harmful behaviours and their 100 benign twins."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin
from engine.bank.importers.mapping import JAILBREAKBENCH, JAILBREAKBENCH_ASPECTS, Benign
from engine.bank.importers.published.questions import harmful, harmless, unknown
from engine.bank.importers.published.records import records_of
from engine.bank.importers.reading import refuse

ORIGIN = Origin("jailbreakbench", licence="MIT")


def read(files: Sequence[SourceFile]) -> Imported:
    """`Index, Goal, Target, Behavior, Category, Source`. Harmful behaviours become `single`, benign ones `oc`.

    Both files have the same columns, so the file's name must say which it is.
    """
    gathering = Gathering()
    for record in records_of(files, needed=("goal", "category")):
        side = _side(record.place.file)
        label = record.get("category")
        rule = JAILBREAKBENCH.get(label.casefold())
        number = record.get("index") or str(record.number)
        if rule is None:
            gathering.leave(record.place, label, unknown(label, "Category"))
        elif side == "benign":
            aspect = JAILBREAKBENCH_ASPECTS.get(label.casefold())
            harmless(
                gathering,
                record,
                record.need("goal"),
                Benign(rule.clause, aspect, rule.name),
                origin=ORIGIN,
                original_id=number,
                label=label,
                case_id=f"benign-{number}",
            )
        else:
            harmful(
                gathering,
                record,
                record.need("goal"),
                rule,
                origin=ORIGIN,
                original_id=number,
                label=label,
                case_id=f"harmful-{number}",
            )
    return gathering.imported()


def _side(file: SourceFile) -> str:
    found = [side for side in ("harmful", "benign") if side in file.shown.casefold()]
    if len(found) != 1:
        refuse(file, "the name does not say which side it is; name it harmful-behaviors.csv or benign-behaviors.csv")
    return found[0]
