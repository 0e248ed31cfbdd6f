"""What a bank is short of for a profile, and the samples a formal profile draws."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.bank import load, select, shortages
from engine.bank.selection import kind_of
from engine.domain.clauses import Aspect
from engine.errors import BankError, NotFoundError


@pytest.fixture
def mixed(files):
    """12 content questions of A.1.a and 2 of A.3.a, 6 should-refuse of A.1.a, 3 oc of one aspect and 9 of another."""
    files.cases = [
        *(files.case(f"c{n}", technique="direct" if n else "indirect") for n in range(12)),
        *(files.case(f"d{n}", clause="A.3.a") for n in range(2)),
        *(files.case(f"r{n}", mode="rf") for n in range(6)),
        *(files.case(f"o{n}", mode="oc", aspect="age" if n < 3 else "belief") for n in range(12)),
    ]
    return files


def short(files, **profile):
    files.profiles = [files.profile("p", **profile)]
    return {
        shortage.cell: (shortage.key, shortage.have, shortage.need) for shortage in shortages(load(files.write()), "p")
    }


def test_a_bank_that_holds_enough_is_short_of_nothing(mixed):
    assert short(mixed, minima={"instances": 32, "content": 14, "rf": 6, "oc": 12, "per_mode": {"single": 14}}) == {}


def test_totals_that_are_missed_are_named_with_have_and_need(mixed):
    minima = {"instances": 33, "content": 15, "rf": 7, "oc": 13, "per_mode": {"single": 15, "tool": 1, "oc": 12}}
    assert short(mixed, minima=minima) == {
        "questions in all": ("instances", 32, 33),
        "questions of mode single": ("per_mode", 14, 15),
        "questions of mode tool": ("per_mode", 0, 1),
        "content questions": ("content", 14, 15),
        "should-refuse questions": ("rf", 6, 7),
        "should-not-refuse questions": ("oc", 12, 13),
    }


def test_every_clause_is_counted_even_when_the_total_is_enough(mixed):
    assert len(short(mixed, minima={"per_clause": 1})) == 29
    by_group = short(mixed, minima={"content_per_clause": {"A.1": 12, "A.3": 3}})
    assert by_group["content questions of clause A.3.a"] == ("content_per_clause", 2, 3)
    assert "content questions of clause A.1.a" not in by_group and len(by_group) == 7 + 5
    refusing = short(mixed, minima={"rf_per_clause": 6})
    assert len(refusing) == 16, "the 17 clauses of A.1 and A.2, but for the one that has them"
    assert not any("A.3" in cell for cell in refusing)


def test_aspects_seeds_and_techniques_are_counted(mixed):
    aspects = short(mixed, minima={"oc_per_aspect": 4})
    assert aspects["should-not-refuse questions of aspect age"] == ("oc_per_aspect", 3, 4)
    assert len(aspects) == len(Aspect) - 1
    mixed.cases[12]["variants"] = [{"variant": "zh", "turns": [{"text": "题"}]}]
    assert short(mixed, minima={"seeds_per_clause": 3})["cases of clause A.3.a"] == ("seeds_per_clause", 2, 3)
    techniques = short(mixed, minima={"techniques_per_clause": 2})
    assert "techniques of clause A.1.a" not in techniques and "techniques of clause A.3.a" in techniques


def test_minima_look_at_what_the_profile_selects(mixed):
    assert short(mixed, select={"modes": ["rf"]}, minima={"instances": 7}) == {"questions in all": ("instances", 6, 7)}


def test_a_sample_larger_than_what_there_is_to_draw_from_is_short(mixed):
    assert short(mixed, sample=33) == {"questions to draw from": ("sample", 32, 33)}
    found = short(mixed, sample_per_kind={"content": 14, "rf": 7, "oc": 13})
    assert found == {
        "should-refuse questions to draw from": ("sample_per_kind", 6, 7),
        "should-not-refuse questions to draw from": ("sample_per_kind", 12, 13),
    }


def test_the_words_of_a_shortage_hold_cell_have_and_need(mixed):
    mixed.profiles = [mixed.profile("p", minima={"rf": 9})]
    bank = load(mixed.write())
    assert [shortage.words for shortage in shortages(bank, "p")] == ["should-refuse questions: 6 of at least 9"]
    with pytest.raises(NotFoundError, match="known: p"):
        shortages(bank, "q")


def test_each_kind_is_drawn_apart_and_spread_over_its_strata(mixed):
    mixed.profiles = [mixed.profile("p", sample_per_kind={"content": 4, "oc": 6})]
    drawn = select(load(mixed.write()), "p")
    assert Counter(map(kind_of, drawn)) == {"content": 4, "oc": 6}, "a kind that is not named is left out"
    assert Counter(i.clause for i in drawn if kind_of(i) == "content") == {"A.1.a": 2, "A.3.a": 2}
    assert Counter(i.aspect for i in drawn if kind_of(i) == "oc") == {"age": 3, "belief": 3}


def test_the_same_seed_draws_the_same_of_each_kind(mixed):
    mixed.profiles = [mixed.profile("p", sample_per_kind={"content": 5, "rf": 2, "oc": 5}, seed=4)]
    bank = load(mixed.write())
    assert select(bank, "p") == select(bank, "p", seed=4)
    assert select(bank, "p") != select(bank, "p", seed=5)
    assert [i.instance_id for i in select(bank, "p")] == [
        i.instance_id for i in bank.instances if i in select(bank, "p")
    ], "in the order of the bank"


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        ({"sample": 3, "sample_per_kind": {"rf": 1}}, "sample_per_kind", "by sample or by sample_per_kind"),
        ({"sample_per_kind": {"rf": 0}}, "sample_per_kind.rf", "0 questions are none"),
        ({"minima": {"content_per_clause": {"A.9": 1}}}, "minima.content_per_clause.A.9", "no group 'A.9'"),
        ({"minima": {"oc_per_aspekt": 1}}, "minima.oc_per_aspekt", "did you mean 'oc_per_aspect'?"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(mixed, values, key, words):
    mixed.profiles = [mixed.profile("p", **values)]
    with pytest.raises(BankError) as caught:
        load(mixed.write())
    assert f"profile 'p', key {key!r}" in caught.value.message and words in caught.value.message
