"""Instances of stored banks, as far as choosing and counting look at them: made of rows, not of whole cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import Column, ColumnElement, Row, or_

from engine.domain.banks import InstanceSketch, TagSketch
from engine.domain.cases import Mode, Severity, Technique
from engine.domain.clauses import Aspect
from engine.store.tables import bank_cases


def within(
    bank_id: int, clauses: Collection[str], modes: Collection[Mode], severities: Collection[Severity]
) -> list[ColumnElement[bool]]:
    """Conditions on cases; an empty one asks nothing."""
    wanted: list[ColumnElement[bool]] = [bank_cases.c.bank_id == bank_id]
    for column, values in (
        (bank_cases.c.clause, clauses),
        (bank_cases.c.mode, modes),
        (bank_cases.c.severity, severities),
    ):
        if values:
            wanted.append(column.in_(list(values)))
    return wanted


def tagged(body: Column[str], tags: Collection[str]) -> ColumnElement[bool]:
    """Cases that may have one of these tags (`scheme:code`): the code stands in their text. Others need no reading."""
    codes = {tag.partition(":")[2] for tag in tags}
    return or_(*(body.contains(to_json(code).decode(), autoescape=True) for code in sorted(codes)))


FACTS: list[Column[Any]] = [column for column in bank_cases.c if column.name not in ("id", "bank_id", "title")]

WHOLE = (bank_cases.c.instances > 1) | (bank_cases.c.mode == Mode.OC.value)
"""Cases whose row does not say it all: they have variants, or an aspect."""


def sketches(row: Row[Any]) -> Iterator[InstanceSketch]:
    """Of a stored case, which was checked when it was stored: itself, then every variant laid over it."""
    case = {} if row.body is None else from_json(row.body)
    first = sketch(row, row.case_id, case)
    yield first
    for variant in case.get("variants", ()):
        yield first._replace(
            instance_id=f"{row.case_id}/{variant['variant']}",
            language=variant.get("language", first.language),
            technique=Technique(variant["technique"]) if "technique" in variant else first.technique,
            tags=_tags(variant["tags"]) if "tags" in variant else first.tags,
        )


def sketch(row: Row[Any], case_id: str, case: dict[str, Any]) -> InstanceSketch:
    return InstanceSketch(
        instance_id=case_id,
        seed_case=case_id,
        clause=row.clause,
        mode=Mode(row.mode),
        language=row.language,
        severity=Severity(row.severity),
        technique=Technique(row.technique),
        aspect=Aspect(case["aspect"]) if "aspect" in case else None,
        tags=_tags(case.get("tags", ())),
    )


def _tags(tags: Iterable[dict[str, Any]]) -> tuple[TagSketch, ...]:
    return tuple(TagSketch(tag["scheme"], tag["code"]) for tag in tags)
