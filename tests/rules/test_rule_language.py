"""The rule language and its evaluation: what a naive reading gets wrong."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.errors import InputError
from engine.rules.dsl import Kind, Rule, Vocabulary, folded
from engine.rules.evaluation import EvalResult, RuleContext, evaluate

WORDS = Vocabulary(
    dimensions={
        "style": Kind.SCALAR,
        "body_shape": Kind.SCALAR,
        "taboos": Kind.SET,
        "height": Kind.NUMBER,
        "formal": Kind.BOOL,
    }
)


def rule(key: str, conditions: dict[str, Any] | None = None, category: str = "trend", **more: Any) -> Rule:
    effects = {name: more.pop(name) for name in ("recommend", "avoid") if name in more}
    return Rule.model_validate(
        {"rule_key": key, "category": category, "conditions": conditions or {}, "effects": effects, **more}
    )


def top(**attrs: Any) -> dict[str, Any]:
    return {"slot": "top", "attrs": attrs}


def said(rules: list[Rule], **facts: Any) -> EvalResult:
    return evaluate(rules, RuleContext(facts, WORDS), WORDS)


def shown(entries: Any) -> dict[str, dict[str, tuple[Any, ...]]]:
    return {entry.slot: dict(entry.attrs) for entry in entries}


def test_a_weak_taboo_takes_one_value_from_a_strong_trend_and_leaves_the_other():
    result = said(
        [
            rule("trend", priority=99, recommend=[top(length=["short", "mid"])]),
            rule("taboo", priority=1, avoid=[top(length=["short"])]),
        ]
    )
    assert shown(result.recommend) == {"top": {"length": ("mid",)}}
    assert [(each.rule_key, each.by, each.value) for each in result.suppressed] == [("trend", "taboo", "short")]


def test_two_rules_that_recommend_the_same_value_are_both_suppressed():
    result = said(
        [
            rule("one", recommend=[top(length=["short"])]),
            rule("two", recommend=[top(length=["short"])]),
            rule("taboo", avoid=[top(length=["short"])]),
        ]
    )
    assert result.recommend == ()
    assert {each.rule_key for each in result.suppressed} == {"one", "two"}


def test_a_hard_rule_without_an_avoid_blocks_nothing():
    assert said([rule("hard", is_hard=True, recommend=[top(length=["short"])])]).hard_blocks == ()


def test_every_avoid_of_a_hard_rule_that_fired_is_a_hard_block():
    result = said([rule("hard", is_hard=True, avoid=[top(length=["short"]), {"slot": "shoes"}])])
    assert [(each.slot, dict(each.attrs)) for each in result.hard_blocks] == [
        ("top", {"length": ("short",)}),
        ("shoes", {}),
    ]


def test_a_compliance_avoid_of_every_slot_takes_all_recommendations():
    result = said(
        [
            rule("law", category="compliance", is_hard=True, avoid=[{"slot": "*"}]),
            rule("trend", recommend=[top(length=["mid"]), {"slot": "shoes"}]),
        ]
    )
    assert result.recommend == ()
    assert len(result.suppressed) == 2


@pytest.mark.parametrize(
    ("conditions", "facts", "fires"),
    [
        ({"body_shape": {"exclude": ["apple"]}}, {}, False),
        ({"body_shape": {"exclude": ["apple"]}}, {"body_shape": None}, False),
        ({"body_shape": {"exclude": ["apple"], "on_missing": "match"}}, {}, True),
        ({"taboos": {"exclude": ["x"]}}, {}, True),
        ({"taboos": {"include": ["x"]}}, {}, False),
        ({"taboos": {"include": ["ｙ２ｋ"]}}, {"taboos": [" Y2K "]}, True),
        ({"height": {"range": {"min": 1, "lt": 2}}}, {"height": 2}, False),
        ({"height": {"range": {"min": 1, "lt": 2}}}, {"height": 1}, True),
        ({"height": {"include": [1]}}, {"height": 1.0}, True),
        ({"formal": {"include": [True]}}, {"formal": True}, True),
        ({"style": {"include": ["1"]}}, {"style": 1}, False),
        ({"style": {"include": [1]}}, {"style": True}, False),
        ({"style": {"include": ["a"]}, "any": [{"taboos": {"include": ["x"]}}]}, {"style": "a"}, False),
        ({"style": {"include": ["a"]}, "any": [{"taboos": {"include": ["x"]}}]}, {"taboos": ["x"]}, False),
        ({"style": {"include": ["a"]}, "any": [{"taboos": {"include": ["x"]}}]}, {"style": "a", "taboos": ["x"]}, True),
        ({"all": [{"style": {"include": ["a"]}}, {"formal": {"exclude": [True]}}]}, {"style": "a"}, False),
        ({}, {}, True),
    ],
)
def test_a_condition_fires_on_what_is_known(conditions, facts, fires):
    assert bool(said([rule("r", conditions, recommend=[{"slot": "top"}])], **facts).fired) is fires


def test_a_compliance_recommendation_stands_against_a_soft_taboo_and_falls_to_a_hard_one():
    law = rule("law", category="compliance", recommend=[top(length=["long"])])
    soft = said([law, rule("taboo", avoid=[top(length=["long"])])])
    assert shown(soft.recommend) == {"top": {"length": ("long",)}}
    assert soft.avoid == ()
    assert [(each.kind, each.rule_key, each.by) for each in soft.suppressed] == [("avoid", "taboo", "law")]
    hard = said([law, rule("ban", is_hard=True, avoid=[top(length=["long"])])])
    assert hard.recommend == ()
    assert len(hard.hard_blocks) == 1


def test_a_soft_avoid_of_the_whole_slot_stays_beside_a_compliance_recommendation():
    result = said(
        [
            rule("law", category="compliance", recommend=[top(length=["long"])]),
            rule("taboo", avoid=[{"slot": "top"}]),
        ]
    )
    assert [(each.slot, each.recommend, each.avoid) for each in result.conflicts] == [("top", "law", "taboo")]
    assert shown(result.recommend) == {"top": {"length": ("long",)}}
    assert [each.whole for each in result.avoid] == [True]


def test_a_whole_slot_recommended_beside_an_avoided_value_keeps_the_slot_with_the_exception():
    result = said([rule("trend", recommend=[{"slot": "top"}]), rule("taboo", avoid=[top(length=["short"])])])
    assert [(each.whole, each.except_) for each in result.recommend] == [(True, {"length": ("short",)})]


def test_what_two_rules_say_of_one_slot_is_merged():
    result = said([rule("a", recommend=[top(length=["mid"])]), rule("b", recommend=[top(color=["red"])])])
    assert [(dict(each.attrs), each.sources) for each in result.recommend] == [
        ({"color": ("red",), "length": ("mid",)}, ("a", "b"))
    ]


def test_priority_lets_a_stronger_trend_stand_only_when_asked():
    rules = [
        rule("trend", priority=99, recommend=[top(length=["short"])]),
        rule("taboo", priority=1, avoid=[top(length=["short"])]),
    ]
    assert said(rules).recommend == ()
    assert evaluate(rules, RuleContext({}, WORDS), WORDS, conflict="priority").recommend != ()


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"conditions": {"any": []}}, "any: needs at least one"),
        ({"conditions": {"all": [{}]}}, "empty condition"),
        ({"conditions": {"style": {"includes": ["a"]}}}, "includes"),
        ({"conditions": {"style": {}}}, "include, exclude, range"),
        ({"conditions": {"style": {"include": []}}}, "include"),
        ({"conditions": {"style": {"include": [None]}}}, "neither text"),
        ({"conditions": {"height": {"range": {"min": 3, "max": 2}}}}, "no number lies"),
        ({"conditions": {"height": {"range": {"gt": 2, "max": 2}}}}, "no number lies"),
        ({"conditions": {"height": {"range": {"min": True}}}}, "finite number"),
        ({"conditions": {"height": {"range": {}}}}, "needs one of"),
        ({"effects": {}}, "at least one effect"),
        ({"effects": {"avoid": [{"slot": "top", "attrs": {"length": []}}]}}, "at least one value"),
        ({"effects": {"recommend": [{"slots": "top"}]}}, "slots"),
        ({"priority": True}, "priority"),
        ({"priority": 1001}, "priority"),
        ({"is_hard": 1}, "is_hard"),
        ({"must_recomend": []}, "must_recomend"),
    ],
)
def test_a_broken_rule_is_refused_with_the_place(broken, named):
    whole = {"rule_key": "r", "category": "trend", "conditions": {}, "effects": {"avoid": [{"slot": "top"}]}}
    with pytest.raises(ValidationError) as caught:
        Rule.model_validate({**whole, **broken})
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("given_rule", "named"),
    [
        (rule("r", {"shape": {"include": ["a"]}}, avoid=[{"slot": "top"}]), "unknown dimension 'shape'"),
        (rule("r", {"style": {"range": {"min": 1}}}, avoid=[{"slot": "top"}]), "a range on style"),
        (rule("r", recommend=[{"slot": "*"}], is_hard=True), "slot * is only"),
        (rule("r", avoid=[{"slot": "*"}]), "slot * is only"),
    ],
)
def test_a_rule_that_speaks_of_unknown_things_is_refused(given_rule, named):
    with pytest.raises(InputError, match=r"rule r: ") as caught:
        said([given_rule])
    assert named in caught.value.message


def test_closed_lists_refuse_other_words():
    closed = Vocabulary(dimensions={}, categories=("taboo",), slots=("top",), attr_dims=("length",))
    context = RuleContext({}, closed)
    for given_rule, named in (
        (rule("r", avoid=[{"slot": "top"}]), "unknown category 'trend'"),
        (rule("r", category="taboo", avoid=[{"slot": "shoes"}]), "unknown slot 'shoes'"),
        (rule("r", category="taboo", avoid=[top(color=["red"])]), "unknown attr 'color'"),
    ):
        with pytest.raises(InputError) as caught:
            evaluate([given_rule], context, closed)
        assert named in caught.value.message


@pytest.mark.parametrize(
    "facts",
    [{"height": True}, {"taboos": "x"}, {"formal": 1}, {"style": ["a"]}, {"shape": "a"}, {"height": float("nan")}],
)
def test_a_context_of_the_wrong_kind_is_refused(facts):
    with pytest.raises(InputError, match="context: "):
        RuleContext(facts, WORDS)


def test_two_rules_of_one_key_are_refused_and_a_disabled_rule_does_not_fire():
    twice = rule("r", avoid=[{"slot": "top"}])
    with pytest.raises(InputError, match="two rules of that key"):
        said([twice, twice])
    off = said([rule("off", enabled=False, avoid=[{"slot": "top"}])])
    assert (off.fired, off.trace) == ((), ())


def test_the_trace_says_of_each_operator_what_was_known():
    result = said(
        [rule("r", {"height": {"range": {"min": 2}}, "taboos": {"include": ["x"]}}, avoid=[{"slot": "top"}])],
        height=1,
        taboos={"x"},
    )
    assert [(each.rule_key, each.fired) for each in result.trace] == [("r", False)]
    assert [(why.dim, why.op, why.fact, why.ok) for why in result.trace[0].why] == [
        ("height", "range", 1, False),
        ("taboos", "include", ["x"], True),
    ]


VALUES = st.sampled_from(["a", "b", "c", 1, True])
EFFECT = st.builds(
    lambda slot, values: {"slot": slot, "attrs": {"dim": values}} if values else {"slot": slot},
    st.sampled_from(["top", "shoes"]),
    st.lists(VALUES, max_size=3),
)
RULES = st.lists(
    st.tuples(
        st.sampled_from(["trend", "compliance"]),
        st.booleans(),
        st.integers(0, 3),
        st.lists(EFFECT, max_size=2),
        st.lists(EFFECT, min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=6,
)


@given(RULES, st.randoms(use_true_random=False))
def test_nothing_is_ever_both_recommended_and_avoided_and_the_order_of_rules_is_no_input(made, chance: random.Random):
    rules = [
        rule(f"r{n}", category=category, is_hard=hard, priority=priority, recommend=recommend, avoid=avoid)
        for n, (category, hard, priority, recommend, avoid) in enumerate(made)
    ]
    result = said(rules)
    recommended = {(e.slot, d, folded(v)) for e in result.recommend for d, values in e.attrs.items() for v in values}
    avoided = {(e.slot, d, folded(v)) for e in result.avoid for d, values in e.attrs.items() for v in values}
    assert not recommended & avoided
    shuffled = list(rules)
    chance.shuffle(shuffled)
    assert said(shuffled).model_dump_json() == result.model_dump_json()
