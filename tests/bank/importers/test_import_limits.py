"""RELIABILITY F8: what would take too much time or memory is refused at a documented limit, before it is taken."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from engine.bank import importers
from engine.bank.importers import reading, tables
from engine.errors import BankError


@pytest.fixture
def growth() -> Callable[[Callable[[], object]], float]:
    """MB that Python holds at the most while it runs."""

    def measure(run: Callable[[], object]) -> float:
        tracemalloc.start()
        try:
            run()
            return tracemalloc.get_traced_memory()[1] / 1024 / 1024
        finally:
            tracemalloc.stop()

    return measure


@pytest.mark.parametrize("format", ["csv", "xlsx", "jsonl", "promptfoo", "inspect", "garak", "pyrit"])
def test_f8_a_file_over_64_mb_is_refused_unread(refused, format, growth):
    content = bytes(reading.MAX_BYTES + 1)
    limit = "4 MB" if format in ("promptfoo", "pyrit") else "64 MB"
    assert growth(lambda: limit in refused(format, "big", content) or pytest.fail("accepted")) < 10


def test_f8_files_that_are_too_much_together_are_refused_unread(file, growth):
    """F8."""
    files = [file(f"q{n}.csv", bytes(reading.MAX_BYTES)) for n in range(2)] + [
        file("last.csv", b"clause,text\nA.1.a,x\n")
    ]

    def attempt():
        with pytest.raises(BankError, match="the 3 files have 128 MB together, more than the 128 MB") as caught:
            importers.read("csv", files)
        assert caught.value.code == "files_too_large"

    assert growth(attempt) < 10


def test_f8_a_million_rows_are_refused(refused):
    content = b"clause,text\n" + b"A.1.a,Why is that so?\n" * 1_000_000
    assert "q.csv: has more than 250,000 rows" in refused("csv", "q.csv", content)


def test_f8_too_many_rows_are_refused_before_they_are_kept(refused, monkeypatch, growth):
    monkeypatch.setattr(reading, "MAX_ROWS", 20_000)
    content = b"clause,text\n" + b'A.1.a,"Why is that so?"\n' * 25_000
    message = []
    assert growth(lambda: message.append(refused("csv", "q.csv", content))) < 2
    assert "more than 20,000 rows" in message[0]


@pytest.mark.parametrize(
    ("format", "name", "content"),
    [
        ("csv", "q.csv", "clause,text\n" + "A.1.a,x\n" * 5),
        ("jsonl", "q.jsonl", "".join(f'{{"clause": "A.1.a", "text": "{n}"}}\n' for n in range(5))),
        ("garak", "A.1.h.txt", "a\nb\nc\nd\ne\n"),
        ("promptfoo", "q.yaml", "[a, b, c, d, e]"),
    ],
)
def test_f8_every_format_counts_its_rows(refused, monkeypatch, format, name, content):
    monkeypatch.setattr(reading, "MAX_ROWS", 4)
    assert "more than 4" in refused(format, name, content)


def test_f8_a_sheet_counts_its_rows_before_any_is_kept(refused, workbook, monkeypatch, imported):
    rows = [["clause", "text"], *(["A.1.a", f"Question {n}"] for n in range(5))]
    assert len(imported("xlsx", "q.xlsx", workbook(rows)).cases) == 5
    monkeypatch.setattr(tables, "MAX_ROWS", 4)
    assert "more than 4" in refused("xlsx", "q.xlsx", workbook(rows))


def test_f8_a_zip_bomb_is_refused_unpacked(refused, workbook, growth):
    bomb = io.BytesIO(workbook([["clause", "text"], ["A.1.a", "x"]]))
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(tables.MAX_UNPACKED))
    content = bomb.getvalue()
    assert len(content) < 1_000_000
    message = []
    assert growth(lambda: message.append(refused("xlsx", "q.xlsx", content))) < 10
    assert "unpacks to 128 MB" in message[0]


def test_f8_a_workbook_that_declares_entities_is_refused(refused, workbook):
    source = zipfile.ZipFile(io.BytesIO(workbook([["clause", "text"], ["A.1.a", "x"]])))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive, source:
        for part in source.namelist():
            content = source.read(part)
            if part == "xl/worksheets/sheet1.xml":
                content = b'<!DOCTYPE sst [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + content
            archive.writestr(part, content)
    assert "document type" in refused("xlsx", "q.xlsx", target.getvalue())


@pytest.mark.parametrize("depth", [40, 100_000])
def test_f8_deep_json_is_refused(refused, depth):
    content = '{"clause": "A.1.a", "text": ' + "[" * depth + "]" * depth + "}\n"
    message = refused("jsonl", "q.jsonl", content)
    assert message.startswith("q.jsonl, line 1: nested")


@pytest.mark.parametrize("depth", [40, 100_000])
@pytest.mark.parametrize("bracket", ["[", "- ", "{a: "])
def test_f8_deep_yaml_is_refused(refused, depth, bracket):
    message = refused("promptfoo", "q.yaml", "tests: \n" + "  " + bracket * depth)
    assert message.startswith("q.yaml, line 2") and "nest" in message


def test_f8_yaml_aliases_are_refused(refused):
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
    assert "q.yaml, line 2: refers to *a" in refused("promptfoo", "q.yaml", bomb)


@pytest.mark.parametrize(
    "tagged",
    [
        "!!python/object/apply:os.system ['true']",
        "!!python/name:os.system",
        "!Own {a: 1}",
        "!!binary aGk=",
        "!!set {a}",
    ],
)
def test_f8_yaml_tags_are_refused_and_nothing_is_run(refused, tagged):
    message = refused("promptfoo", "q.yaml", f"tests:\n  - vars: {tagged}\n")
    assert "line 2" in message and "tag" in message


def test_f8_a_number_of_thousands_of_digits_is_refused(refused):
    assert "too long" in refused("jsonl", "q.jsonl", '{"clause": %s}\n' % ("9" * 10_000))


def test_f8_a_yaml_file_of_too_many_parts_is_refused(refused, monkeypatch):
    monkeypatch.setattr(reading, "MAX_YAML_PARTS", 100)
    message = refused("promptfoo", "q.yaml", "tests:\n" + "- [a, b, c, d]\n" * 20)
    assert message.startswith("q.yaml, line 18") and "too much" in message
