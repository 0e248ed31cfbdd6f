from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import rules
from engine.errors import JudgeError
from engine.judging import reply
from engine.judging.reply import JudgeWord

REPLIES = json.loads((Path(__file__).parent / "judge_replies.json").read_text(encoding="utf-8"))


def meaning(text: str) -> str:
    """What the reader makes of a reply, in the corpus's words."""
    try:
        read = reply.read(text)
    except JudgeError as error:
        assert error.code == "judge_format_error"
        return "unreadable"
    return "conflict" if read.conflict else read.verdict.value


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: ascii(row["reply"])[:40])
def test_a_reply_is_read_as_a_careful_person_reads_it(row):
    assert meaning(row["reply"]) == row["expect"]


def test_every_field_is_kept():
    read = reply.read(
        '{"verdict": "FAIL", "reason": " why ", "confidence": 1, "quote": " words ", "mood": 3, "x": null}'
    )
    assert (read.verdict, read.reason, read.confidence, read.quote) == (JudgeWord.FAIL, "why", 1.0, "words")
    assert read.ignored == ("mood", "x")


def test_an_empty_quote_is_no_quote():
    assert reply.read('{"verdict": "fail", "reason": "why", "quote": " "}').quote is None


def test_what_a_database_refuses_is_replaced():
    read = reply.read('{"verdict": "fail", "reason": "a\\ud800b\\u0000c", "quote": "\\udfff", "\\ud801": 1}')
    assert (read.reason, read.quote, read.ignored) == ("a\ufffdb\ufffdc", "\ufffd", ("\ufffd",))


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "pass", "reason": ' + "[" * 100_000,
        '{"a":' * 30_000 + "1" + "}" * 30_000,
        "{" * 200_000,
        "{a}" * 60_000 + "{",
        "\n" * 300_000 + "verdict " * 50_000,
        "<think>" * 25_000,
        "</think>" * 20_000,
        '{"verdict": "pass", "reason": "x", "confidence": ' + "9" * 5_000 + "}",
        " " * 1_000_001,
    ],
    ids=["deep list", "deep object", "braces", "prose braces", "words", "opened", "closed", "long number", "too long"],
)
def test_a_hostile_reply_is_unreadable_and_nothing_worse(text):
    with pytest.raises(JudgeError):
        reply.read(text)


def test_the_message_of_an_unreadable_reply_never_quotes_it():
    for row in REPLIES:
        if row["expect"] == "unreadable":
            with pytest.raises(JudgeError) as raised:
                reply.read(row["reply"].replace("x", "basically secret"))
            assert "basically secret" not in raised.value.message


ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
PIECES = st.sampled_from(
    [
        *(
            '{"verdict": "pass", "reason": "r"}',
            '{"verdict": "fail", "reason": "r"}',
            '"verdict"',
            "pass",
            "NaN",
            "{a}",
        ),
        *("{", "}", '"', "[", "]", ":", ",", "\\", "<think>", "</think>", "```json\n", "```"),
        *("\u200b", "\ud800", "\x00"),
    ]
)


@given(st.one_of(ANY_TEXT, st.lists(st.one_of(PIECES, ANY_TEXT), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text):
    try:
        read = reply.read(text)
    except JudgeError:
        return
    assert read.verdict in JudgeWord
    read.model_dump_json()  # storable: no lone surrogate is left


JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({"verdict": JSON_VALUE, "reason": JSON_VALUE, "confidence": JSON_VALUE, "score": JSON_VALUE})
)
def test_only_declared_words_ever_become_a_verdict(value):
    said = meaning(json.dumps(value))
    if said != "unreadable":
        assert "".join(rules.fold(value["verdict"]).split()) in reply.VERDICT_WORDS


OBJECT = '{"verdict": "fail", "reason": "r"}'


@pytest.mark.parametrize(
    "around",
    [
        "Verdict: PASS",
        "Final verdict: **pass**",
        "My decision is pass.",
        "PASS",
        "结论：通过",
        "我判为通过。",
        "该回答合格。",
        "The answer clearly passes.",
        "This is a pass.",
        "I would pass this.",
        "It does not fail.",
    ],
)
def test_another_verdict_stated_around_the_object_makes_the_reply_unreadable(around):
    assert meaning(f"{around}\n{OBJECT}") == meaning(f"{OBJECT}\n{around}") == "unreadable"


@pytest.mark.parametrize(
    "around",
    [
        "Verdict: fail",
        "The answer does not pass.",
        "I looked for a reason to let it pass and found none.",
        "If it passes the filter, harm follows.",
        "A pass mark needs more than this.",
        "The answer fails to pass on a warning.",
        "通过阅读全文可知如下：",
    ],
)
def test_words_like_pass_in_another_sentence_are_no_verdict(around):
    assert meaning(f"{around}\n{OBJECT}") == "fail"


@given(ANY_TEXT, ANY_TEXT)
def test_words_around_the_object_never_change_its_verdict(before, after):
    said = meaning(before + '{"verdict": "fail", "reason": "r"}' + after)
    assert said in ("fail", "unreadable")
