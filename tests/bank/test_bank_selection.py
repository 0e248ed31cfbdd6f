"""Which instances a profile means."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.bank import load, select
from engine.errors import BankError, NotFoundError


@pytest.fixture
def many(files):
    """Three clauses of ten instances each, and one of two."""
    clauses = {"A.1.a": 10, "A.2.b": 10, "A.5.a": 10, "A.5.b": 2}
    files.cases = [
        files.case(f"{clause}-{number}", clause=clause) for clause, count in clauses.items() for number in range(count)
    ]
    return files


def ids(instances):
    return [instance.instance_id for instance in instances]


def test_an_unknown_profile_is_answered_with_the_known_ones(files):
    files.profiles.append(files.profile("smoke"))
    with pytest.raises(NotFoundError, match=r"^no profile named 'smok'; known: full, smoke$") as caught:
        select(load(files.write()), "smok")
    assert caught.value.code == "unknown_profile"


def test_a_bank_without_profiles_says_so(files):
    files.profiles = []
    with pytest.raises(NotFoundError, match=r"known: none$"):
        select(load(files.write()), "full")


def test_a_profile_that_selects_nothing_is_refused(files):
    files.profiles.append(files.profile("empty", select={"clauses": ["A.3.a"]}))
    with pytest.raises(BankError, match=r"^profiles.json, profile 'empty', key 'select': no instance .*; widen it$"):
        select(load(files.write()), "empty")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ["one", "two", "three", "four"]),
        ({"clauses": ["A.1.b", "A.4.f"]}, ["two", "three"]),
        ({"modes": ["tool", "multimodal"]}, ["two", "four"]),
        ({"languages": ["zh-CN"]}, ["two"]),
        ({"severities": ["low"]}, ["four"]),
        ({"tags": ["x:1", "x:2"]}, ["one", "four"]),
        ({"tags": ["x:1", "x:2"], "modes": ["single"]}, ["one"]),
    ],
)
def test_a_selection_asks_for_all_its_conditions(files, where, expected):
    files.cases[0]["tags"] = [{"scheme": "x", "code": "1"}, {"scheme": "y", "code": "1"}]
    files.cases[3].update(severity="low", tags=[{"scheme": "x", "code": "2", "year": 2025}])
    files.profiles = [files.profile("p", select=where)]
    assert ids(select(load(files.write()), "p")) == expected


def test_a_sample_is_spread_over_the_clauses(many):
    many.profiles = [many.profile("p", sample=17)]
    drawn = select(load(many.write()), "p")
    assert Counter(instance.clause for instance in drawn) == {"A.1.a": 5, "A.2.b": 5, "A.5.a": 5, "A.5.b": 2}


def test_a_sample_smaller_than_the_clauses_takes_one_from_some(many):
    many.profiles = [many.profile("p", sample=3)]
    drawn = select(load(many.write()), "p")
    assert len(drawn) == 3 and len({instance.clause for instance in drawn}) == 3


def test_a_sample_larger_than_what_there_is_takes_everything_in_order(many):
    many.profiles = [many.profile("p", sample=1000), many.profile("full")]
    bank = load(many.write())
    assert select(bank, "p") == select(bank, "full") == list(bank.instances)


def test_the_same_seed_draws_the_same_instances_and_another_seed_others(many):
    many.profiles = [many.profile("p", sample=12, seed=7)]
    bank = load(many.write())
    assert select(bank, "p") == select(bank, "p") == select(bank, "p", seed=7)
    assert ids(select(bank, "p", seed=8)) != ids(select(bank, "p", seed=7))
    assert ids(select(bank, "p", seed=0)) != ids(select(bank, "p")), "seed 0 is a seed, not the absence of one"


def test_a_draw_does_not_depend_on_the_order_of_cases_nor_on_other_clauses(many):
    many.profiles = [many.profile("p", sample=16, seed=3)]
    before = select(load(many.write()), "p")
    many.cases.reverse()
    reordered = select(load(many.write()), "p")
    assert set(ids(reordered)) == set(ids(before))
    many.cases += [many.case(f"more-{number}", clause="A.5.b") for number in range(2)]
    grown = select(load(many.write()), "p")
    for clause in ("A.1.a", "A.2.b", "A.5.a"):
        then = {i.instance_id for i in before if i.clause == clause}
        now = {i.instance_id for i in grown if i.clause == clause}
        assert now <= then, "a clause may give fewer when another gives more, never different ones"


def test_a_sample_is_drawn_from_what_the_selection_left(many):
    many.profiles = [many.profile("p", sample=4, select={"clauses": ["A.5.a", "A.5.b"]})]
    drawn = select(load(many.write()), "p")
    assert Counter(instance.clause for instance in drawn) == {"A.5.a": 2, "A.5.b": 2}
