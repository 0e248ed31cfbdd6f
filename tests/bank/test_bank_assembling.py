"""Cases that came from elsewhere: checked to the end before they are stored."""

from __future__ import annotations

import pytest

from engine.bank.assembling import assemble, require_executable
from engine.bank.loading import load
from engine.domain.cases import Case
from engine.errors import BankError


def refused(files, *cases):
    bank = load(files.write())
    with pytest.raises(BankError) as caught:
        require_executable([Case.model_validate(case) for case in cases], bank.fixtures, file="mine.jsonl")
    return caught.value.message


def test_cases_that_fit_tell_the_fixtures_they_use(files):
    bank = load(files.write())
    used = require_executable(bank.cases, bank.fixtures, file="mine.jsonl")
    assert used == {name: bank.fixtures[name] for name in ("chart", "record", "policy")}
    assert require_executable(bank.cases[:1], {}, file="mine.jsonl") == {}


def test_two_ids_that_differ_only_in_case_are_one(files):
    words = refused(files, files.case("one"), files.case("ONE"))
    assert words == "mine.jsonl, case 'ONE', key 'case_id': same id as case 'one'; rename one"


def test_a_check_a_fixture_and_a_variant_that_cannot_be_used_are_all_named(files):
    check = {"check_id": "x", "kind": "forbid", "patterns": ["("], "reason": {"zh": "一", "en": "one"}}
    two_turns = {"variant": "long", "turns": [{"text": "a"}, {"text": "b"}]}
    words = refused(
        files,
        files.case("one", checks=[check]),
        files.case("two", turns=[{"text": "Read", "fixtures": ["nowhere"]}]),
        files.case("three", variants=[two_turns]),
    )
    assert "case 'one', key 'checks[0].patterns[0]'" in words
    assert "case 'two', key 'turns[0].fixtures[0]'" in words
    assert "case 'three', variant 'long'" in words and "several turns are mode multi_turn" in words


def test_an_assembled_bank_is_the_one_that_was_loaded(files):
    bank = load(files.write())
    again = assemble(
        name=bank.name,
        version=bank.version,
        sha256=bank.sha256,
        folder=bank.folder,
        cases=iter(bank.cases),
        fixtures=bank.fixtures,
        profiles=bank.profiles,
    )
    assert again == bank
