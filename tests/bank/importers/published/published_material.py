"""Files in the shapes of the published sets; every row is written for these tests."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.published import PUBLISHED
from engine.domain.cases import Case
from engine.errors import BankError


def table(name: str, headings: str, *rows: tuple[Any, ...], encoding: str = "utf-8", newline: str = "\n") -> SourceFile:
    """A CSV file; `headings` separated by commas."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator=newline)
    writer.writerow(headings.split(","))
    writer.writerows(rows)
    return SourceFile(name, written.getvalue().encode(encoding))


def document(name: str, value: Any) -> SourceFile:
    return SourceFile(name, json.dumps(value, ensure_ascii=False, indent=1).encode())


def lines(name: str, *values: Any) -> SourceFile:
    return SourceFile(name, "\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode())


def read(name: str, *files: SourceFile) -> Imported:
    return PUBLISHED[name](files)


def refusal_of(name: str, *files: SourceFile) -> str:
    """Imports, expects a refusal, and answers with its words."""
    with pytest.raises(BankError) as caught:
        read(name, *files)
    return caught.value.message


def by_id(imported: Imported) -> dict[str, Case]:
    return {case.case_id: case for case in imported.cases}


def asked(case: Case) -> str:
    return case.turns[0].text
