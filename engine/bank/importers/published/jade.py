"""JADE-DB: Chinese questions by type and sub-type of violation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Details, Gathering, Origin, Place
from engine.bank.importers.mapping import JADE, JADE_OTHER, Rule, named, spelling
from engine.bank.importers.published.questions import harmful, tags
from engine.bank.importers.published.records import Record, records_of
from engine.domain.cases import Tag

ORIGIN = Origin("jade", licence="MIT")

TEXT, KIND, SUB_KIND = "问题", "违规类型", "违规子类"

V3 = Tag(scheme="jade-part", code="v3")
"""Carried by the questions that v3 answers."""

_BAR = re.compile(r"[|｜]")
_VERSION = re.compile(r"v(\d+\.\d+)", re.IGNORECASE)


def read(files: Sequence[SourceFile]) -> Imported:
    """v1 and v2: `ID, 问题, 违规类型, 违规子类`; mode `single`.

    The sub-type decides; the type only where the sub-type says no more than "other", because the two contradict each
    other in places. Of several sub-types, joined by a bar, the first that we know decides and the others are kept as
    tags. v3 (`ID, 问题, 违规回答, 安全有用回答`) carries no type: it answers questions of v1 and v2. Given with them,
    its rows are reported beside the row that asks the same, and the case of that row has a tag by which a profile
    selects what v3 asks. The answers of v3 are not kept.
    """
    gathering = Gathering()
    records = list(records_of(files, needed=("id", TEXT)))
    untyped = [record for record in records if KIND not in record.values and SUB_KIND not in record.values]
    answered = {_question(record) for record in untyped}
    typed: dict[str, Place] = {}
    for record in records:
        if (KIND in record.values or SUB_KIND in record.values) and _add(
            gathering, record, answered=_question(record) in answered
        ):
            typed.setdefault(_question(record), record.place)
    for record in untyped:
        gathering.leave(record.place, "", _why_left(typed.get(_question(record))))
    return gathering.imported()


def _question(record: Record) -> str:
    """The question as it is compared: without spaces, in one Unicode form."""
    return "".join(unicodedata.normalize("NFKC", record.need(TEXT)).split())


def _why_left(twin: Place | None) -> str:
    if twin is None:
        return (
            "v3 carries no type of violation; give the file of v1 or v2 that asks this with it, where its type stands"
        )
    return f"asks the same as line {twin.line} of {twin.file.shown}, whose case is tagged {V3.scheme}:{V3.code}"


def _add(gathering: Gathering, record: Record, *, answered: bool) -> bool:
    """Whether the row became a case."""
    kind = record.get(KIND)
    sub_kinds = [one.strip() for one in _BAR.split(record.get(SUB_KIND))]
    label = " / ".join(filter(None, (kind, "|".join(sub_kinds))))
    rules = [_rule(kind, one) for one in sub_kinds]
    found = [rule for rule in rules if rule is not None]
    if not found:
        words = f"neither sub-type {'|'.join(sub_kinds)!r} nor a type it leaves the choice to names a clause or group"
        gathering.leave(record.place, label, words)
        return False
    first = found[0]
    version = _VERSION.search(record.place.file.name)
    others = dict.fromkeys(rule.clause for rule in found if rule.clause != first.clause)
    harmful(
        gathering,
        record,
        record.need(TEXT),
        first,
        origin=ORIGIN._replace(version=version[1] if version else None),
        original_id=record.need("id"),
        label=label,
        case_id=f"{record.place.file.stem}-{record.need('id')}",
        details=Details(
            language="zh-CN",
            tags=(
                *tags(ORIGIN, sub_kinds[0] or kind),
                *(Tag(scheme="also-clause", code=clause) for clause in others),
                *((V3,) if answered else ()),
            ),
        ),
    )
    return True


def _rule(kind: str, sub_kind: str) -> Rule | None:
    if spelling(sub_kind) in JADE_OTHER:
        return named(kind) if kind else None
    return JADE.get(spelling(sub_kind)) or named(sub_kind)
