"""The tutorial's documents and their Chinese twins say the same."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from docs_reader import ROOT, Document, is_outside, read_document

from dashboard import guide

CHINESE = ROOT / guide.FOLDERS["zh"]
ENGLISH = ROOT / guide.FOLDERS["en"]
TWINS = sorted(path.name for path in CHINESE.glob("*.md"))


@pytest.fixture(params=TWINS)
def twins(request: pytest.FixtureRequest) -> tuple[Document, Document]:
    """A document in English and in Chinese."""
    return read_document(ENGLISH / request.param), read_document(CHINESE / request.param)


def leads_to(document: Document) -> list[str]:
    """What a document links to, a Chinese twin under its English name."""
    found = [
        link if is_outside(link) else os.path.relpath(document.path.parent / link, ROOT) for link in document.links
    ]
    return sorted(link.replace("tutorial/zh/", "tutorial/") for link in found)


def tables(document: Document) -> list[tuple[int, ...]]:
    """How many cells each row of each table has."""
    rows = re.findall(r"(?:^\|.*\|$\n?)+", document.prose, re.MULTILINE)
    return [tuple(len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()) for table in rows]


def lists(document: Document) -> int:
    return len(re.findall(r"^- ", document.prose, re.MULTILINE))


def test_the_guide_has_a_twin() -> None:
    assert guide.FILE in TWINS


def test_twins_have_the_same_sections(twins: tuple[Document, Document]) -> None:
    english, chinese = ([level for level, _text in each.headings] for each in twins)
    assert english == chinese


def test_twins_show_the_same_commands(twins: tuple[Document, Document]) -> None:
    assert twins[0].blocks == twins[1].blocks


def test_twins_have_the_same_tables_and_lists(twins: tuple[Document, Document]) -> None:
    assert tables(twins[0]) == tables(twins[1])
    assert lists(twins[0]) == lists(twins[1])


def test_twins_name_the_same_files_commands_and_settings(twins: tuple[Document, Document]) -> None:
    assert set(twins[0].code_words) == set(twins[1].code_words)


def test_twins_link_to_the_same_pages(twins: tuple[Document, Document]) -> None:
    assert leads_to(twins[0]) == leads_to(twins[1])


def test_a_chinese_document_links_to_the_chinese_twin_where_there_is_one(chinese_readme: Document) -> None:
    documents = [chinese_readme, *(read_document(CHINESE / name) for name in TWINS)]
    for document in documents:
        targets = [document.path.parent / link for link in document.links if not is_outside(link)]
        for target in map(Path.resolve, targets):
            assert target.parent != ENGLISH or target.name not in TWINS, f"{document.path.name}: {target.name}"
