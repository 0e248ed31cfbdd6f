"""Files in memory, and the two things one wants to know of an import: what came, or with which words it was refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest

from engine.bank.importers import ColumnMapping, Imported, SourceFile, read
from engine.errors import BankError


@pytest.fixture
def file() -> Callable[..., SourceFile]:
    def build(name: str, content: str | bytes | list[Any]) -> SourceFile:
        if isinstance(content, list):
            content = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in content)
        return SourceFile(name, content.encode() if isinstance(content, str) else content)

    return build


@pytest.fixture
def workbook() -> Callable[[list[list[Any]]], bytes]:
    def build(rows: list[list[Any]]) -> bytes:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        target = io.BytesIO()
        book.save(target)
        book.close()
        return target.getvalue()

    return build


@pytest.fixture
def imported(file) -> Callable[..., Imported]:
    def run(format: str, name: str, content: Any, mapping: ColumnMapping | None = None) -> Imported:
        return read(format, [file(name, content)], mapping=mapping)

    return run


@pytest.fixture
def refused(file) -> Callable[..., str]:
    def run(format: str, name: str, content: Any, mapping: ColumnMapping | None = None) -> str:
        with pytest.raises(BankError) as caught:
            read(format, [file(name, content)], mapping=mapping)
        return caught.value.message

    return run
