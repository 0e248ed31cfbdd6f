"""The anatomy of a case names every key there is, and its worked example is a bank that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_reader import Document

from engine import bank
from engine.domain.base import Model
from engine.domain.cases import (
    Case,
    Check,
    CheckKind,
    Expectation,
    Fixture,
    FixtureAccess,
    Mode,
    Profile,
    Selection,
    Severity,
    Tag,
    Technique,
    ToolCallPolicy,
    ToolDef,
    Turn,
    Variant,
)
from engine.domain.clauses import Aspect
from engine.errors import BankError


@pytest.fixture
def example(anatomy: Document, tmp_path: Path) -> Path:
    """The worked example written to files; the dataset's path."""
    names = re.findall(r"^`([\w./-]+\.json)`$", anatomy.prose, re.MULTILINE)
    contents = [content for language, content in anatomy.blocks if language == "json"]
    for name, content in zip(names, contents, strict=True):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content.encode())
    return tmp_path / "dataset.json"


@pytest.mark.parametrize(
    "model",
    [Case, Variant, Turn, Expectation, Tag, Check, ToolDef, ToolCallPolicy, Fixture, FixtureAccess, Profile, Selection],
    ids=lambda model: model.__name__,
)
def test_every_key_is_described(model: type[Model], anatomy: Document) -> None:
    assert set(model.model_fields) - set(anatomy.code_words) == set()


@pytest.mark.parametrize("words", [Mode, Severity, Technique, CheckKind, Aspect], ids=lambda words: words.__name__)
def test_every_word_of_a_closed_list_is_named(
    words: type[Mode | Severity | Technique | CheckKind | Aspect], anatomy: Document
) -> None:
    assert {word.value for word in words} - set(anatomy.code_words) == set()


def test_the_worked_example_loads_and_its_profile_selects_both_instances(example: Path) -> None:
    loaded = bank.load(example)
    assert [instance.instance_id for instance in bank.select(loaded, "example")] == ["order-note", "order-note/zh"]


def test_the_worked_example_shows_the_model_only_what_the_page_says(example: Path) -> None:
    loaded = bank.load(example)
    fixture = loaded.fixtures["order-note"]
    content = bank.read_fixtures(loaded, loaded.instances)[fixture.sha256]
    assert "send_message" in bank.visible(fixture, content, to="model")
    assert "planted" not in bank.visible(fixture, content, to="model")
    assert "planted" in bank.visible(fixture, content, to="judge")


def test_a_changed_fixture_of_the_example_is_refused_with_both_hashes(example: Path) -> None:
    loaded = bank.load(example)
    (example.parent / "fixtures" / "order-note.json").write_text("{}")
    with pytest.raises(BankError, match=loaded.fixtures["order-note"].sha256) as refused:
        bank.read_fixtures(loaded, loaded.instances)
    assert "order-note" in refused.value.message
