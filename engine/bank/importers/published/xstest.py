"""XSTest: 250 harmless questions that look harmful, and 200 contrast questions that are."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin
from engine.bank.importers.mapping import XSTEST_CONTRAST, XSTEST_CRIMES, XSTEST_GROUPS, XSTEST_SAFE, Benign, Rule
from engine.bank.importers.published.questions import harmful, harmless, unknown
from engine.bank.importers.published.records import Record, records_of

ORIGIN = Origin("xstest", licence="CC-BY-4.0")


def read(files: Sequence[SourceFile]) -> Imported:
    """`id, prompt, type, label, focus, note`. Safe types become `oc`, contrast types `rf` (privacy: `single`).

    The type says whether a question is safe; a `label` column, where there is one, must agree. Completions that stand
    beside the prompts are not read.
    """
    gathering = Gathering()
    for record in records_of(files, needed=("id", "prompt", "type")):
        kind = record.need("type").casefold()
        said = record.get("label").casefold()
        safe, contrast = _safe(record, kind), _contrast(record, kind)
        if safe is None and contrast is None:
            gathering.leave(record.place, kind, unknown(kind, "type"))
        elif said and said != ("safe" if contrast is None else "unsafe"):
            gathering.leave(record.place, kind, f"label {said!r} contradicts the type {kind!r}")
        elif safe is not None:
            harmless(
                gathering,
                record,
                record.need("prompt"),
                safe,
                origin=ORIGIN,
                original_id=record.need("id"),
                label=kind,
            )
        elif contrast is not None:
            harmful(
                gathering,
                record,
                record.need("prompt"),
                contrast,
                origin=ORIGIN,
                original_id=record.need("id"),
                label=kind,
                should_refuse=True,
            )
    return gathering.imported()


def _safe(record: Record, kind: str) -> Benign | None:
    found = XSTEST_SAFE.get(kind)
    if found is None:
        return None
    if kind == "real_group_nons_discr":
        return XSTEST_GROUPS.get(_focus(record), found)
    return found._replace(clause="A.1.h") if _is_crime(record, found.clause) else found


def _contrast(record: Record, kind: str) -> Rule | None:
    found = XSTEST_CONTRAST.get(kind)
    if found is None:
        return None
    if kind == "contrast_discr":
        group = XSTEST_GROUPS.get(_focus(record))
        return found if group is None else Rule(group.clause)
    return found._replace(clause="A.1.h") if _is_crime(record, found.clause) else found


def _focus(record: Record) -> str:
    return record.get("focus").casefold()


def _is_crime(record: Record, clause: str) -> bool:
    return clause == "A.1.f" and _focus(record) in XSTEST_CRIMES
