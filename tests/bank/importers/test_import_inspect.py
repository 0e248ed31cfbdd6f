"""Inspect samples."""

from __future__ import annotations

import json

import pytest

from engine.bank import exporting
from engine.domain.cases import Choice, Mode


def _sample(**values: object) -> dict[str, object]:
    return {"input": "Why?", "metadata": {"clause": "A.1.a"}} | values


def test_a_sample_becomes_a_case(imported):
    sample = _sample(id="s/1", target="Explains it.", metadata={"clause": "A4-e", "severity": "high", "colour": "red"})
    (case,) = imported("inspect", "samples.jsonl", [sample]).cases
    assert (case.case_id, case.clause, case.severity) == ("s-1", "A.4.e", "high")
    assert case.expectation.must == "Explains it."
    assert (case.provenance.set, case.provenance.original_id) == ("inspect", "s/1")
    assert (case.provenance.original_label, case.provenance.mapping) == ("A4-e", "clause alias")


def test_ids_may_be_numbers_or_missing(imported):
    found = imported("inspect", "s.jsonl", [_sample(id=12), _sample(input="How?")])
    assert found.cases[0].case_id == "12"
    assert found.cases[1].case_id.startswith("inspect-") and found.cases[1].provenance.original_id is None


def test_chat_messages_become_system_text_and_turns(imported):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]},
        {"role": "user", "content": "Three"},
    ]
    (case,) = imported("inspect", "s.jsonl", [_sample(input=messages)]).cases
    assert (case.mode, case.system) == (Mode.MULTI_TURN, "Be brief.\n\nBe kind.")
    assert [turn.text for turn in case.turns] == ["One\ntwo", "Three"]


@pytest.mark.parametrize("target", ["B", "b", ["B"], " B "])
def test_choices_and_the_letter_of_the_target_become_a_choice(imported, target):
    (case,) = imported("inspect", "s.jsonl", [_sample(choices=["red", "blue", "green"], target=target)]).cases
    assert case.choice == Choice(options=("red", "blue", "green"), answer=1)
    assert case.turns[0].text.splitlines()[:4] == ["Why?", "A. red", "B. blue", "C. green"]
    assert case.mode is Mode.SINGLE and "option B" in case.expectation.must


def test_several_letters_of_the_target_are_all_right(imported):
    (case,) = imported("inspect", "s.jsonl", [_sample(choices=["red", "blue", "green"], target=["C", "a"])]).cases
    assert case.choice == Choice(options=("red", "blue", "green"), answer=0, also=(2,))
    assert case.turns[0].text.splitlines()[-1].startswith("More than one option may be right.")
    assert case.expectation.must == "Chooses all of the options A, C."
    exported = [json.loads(line) for line in b"".join(exporting.chunks("inspect", [case], {}.__getitem__)).splitlines()]
    assert exported[0]["target"] == ["A", "C"]
    (again,) = imported("inspect", "again.jsonl", exported).cases
    assert (again.choice, again.turns) == (case.choice, case.turns)


def test_options_that_the_question_names_already_are_not_named_again(imported):
    sample = _sample(input="选哪个？\nA. 红\nB. 蓝", choices=["红", "蓝"], target="A")
    (case,) = imported("inspect", "s.jsonl", [sample]).cases
    assert case.turns[0].text == sample["input"]
    assert case.expectation.must == "选择选项 A。"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"metadata": {}}, "names no clause"),
        ({"metadata": None}, "names no clause"),
        ({"metadata": {"category": "weather"}}, "no clause that we know of"),
        ({"metadata": {"clause": "A.1.a", "aspect": "weather"}}, "metadata.aspect"),
        ({"metadata": {"clause": "A.1.a", "mode": "multimodal"}}, "mode multimodal"),
        ({"sandbox": "docker"}, "needs 'sandbox'"),
        ({"files": {"a": "b"}}, "needs 'files'"),
        ({"setup": "echo"}, "needs 'setup'"),
        ({"input": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}, "role 'assistant'"),
        ({"input": [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]}, "role 'system'"),
        ({"input": [{"role": "user", "content": [{"type": "image", "image": "x"}]}]}, "type 'image'"),
        ({"input": [{"role": "user", "content": ""}]}, "without text"),
        ({"input": [{"role": "user", "content": []}]}, "without text"),
        ({"input": [3]}, "no object"),
    ],
)
def test_a_sample_that_is_no_case_is_reported(imported, values, reason):
    found = imported("inspect", "s.jsonl", [_sample(), _sample(**values)])
    assert len(found.cases) == 1
    assert found.unmapped[0].line == 2 and reason in found.unmapped[0].reason


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ({"input": 3}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"metadata": [1]}, "metadata"),
        ({"id": True}, "id"),
        ({"id": ["x"]}, "id"),
        ({"choices": "ab", "target": "A"}, "choices"),
        ({"choices": ["a", 2], "target": "A"}, "choices"),
        ({"choices": ["a"], "target": "A"}, "choices"),
        ({"choices": ["a", "b"], "target": "C"}, "target"),
        ({"choices": ["a", "b"], "target": "a or b"}, "target"),
        ({"choices": ["a", "b"], "target": []}, "target"),
        ({"choices": ["a", "b"], "target": ["A", "A"]}, "target"),
        ({"choices": ["a", "b"], "target": ["A", "C"]}, "target"),
        ({"choices": ["a", "b"]}, "target"),
    ],
)
def test_a_malformed_sample_is_refused_naming_line_and_key(refused, values, column):
    message = refused("inspect", "s.jsonl", [_sample(), _sample(**values)])
    assert message.startswith(f"s.jsonl, line 2, column {column!r}: ")
