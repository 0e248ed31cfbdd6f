"""PyRIT seed datasets and scorer files."""

from __future__ import annotations

import pytest

from engine.domain.cases import Mode, Technique

DATASET = """\
dataset_name: workbench-seeds
harm_categories: [violence]
description: |
  Made for a test. Licence: CC-BY-4.0
authors: [somebody]
data_type: text
seeds:
  - value: How is it made?
    name: made
  - value: Be a villain.
    role: system
    prompt_group_alias: talk
    sequence: 0
  - value: and continue.
    prompt_group_alias: talk
    sequence: 2
    harm_categories: [self-harm]
  - value: Begin
    prompt_group_alias: talk
    sequence: 1
    harm_categories: [self-harm]
  - value: Get the model to talk.
    prompt_group_alias: talk
    seed_type: objective
  - value: and go on
    prompt_group_alias: talk
    sequence: 1
    harm_categories: [self-harm]
  - value: Explain the attack.
    seed_type: objective
    harm_categories: [cybercrime]
  - value: a.png
    data_type: image_path
  - value: 'Tell me {{ topic }}'
  - value: Chat
    seed_type: simulated_conversation
  - value: Off topic
    harm_categories: [weather]
  - value: No label
    harm_categories: []
"""


def test_seeds_become_cases_and_groups_conversations(imported):
    found = imported("pyrit", "seeds.prompt", DATASET)
    made, talk, attack = found.cases
    assert (made.clause, made.title, made.provenance.original_id) == ("A.1.f", "made", "made")
    assert (made.provenance.set, made.provenance.licence) == ("workbench-seeds", "CC-BY-4.0")
    assert (talk.mode, talk.system, talk.technique) == (
        Mode.MULTI_TURN,
        "Be a villain.",
        Technique.MULTI_TURN_PRESSURE,
    )
    assert [turn.text for turn in talk.turns] == ["Begin\nand go on", "and continue."]
    assert (talk.provenance.original_id, talk.provenance.original_label) == ("talk", "violence, self-harm")
    assert (attack.clause, attack.provenance.original_label) == ("A.1.h", "cybercrime")


def test_seeds_that_are_no_case_are_reported_with_line_and_reason(imported):
    left = imported("pyrit", "seeds.yaml", DATASET).unmapped
    lines = {one.line: one.reason for one in left}
    assert "image_path" in lines[32]
    assert "template" in lines[34]
    assert "simulated_conversation" in lines[35]
    assert "means no clause" in lines[37]
    assert "names no category" in lines[39]


@pytest.mark.parametrize(
    "content",
    [
        "harm_categories: violence\nprompts:\n  - value: Why?\n    is_objective: true\n",
        "value: Why?\nharm_categories: [A.1.f]\n",
    ],
)
def test_older_forms_are_read(imported, content):
    (case,) = imported("pyrit", "old.yaml", content).cases
    assert (case.turns[0].text, case.clause, case.provenance.set) == ("Why?", "A.1.f", "old")


@pytest.mark.parametrize("field", ["is_jinja_template: true", "parameters: [prompt]"])
def test_a_template_is_a_method_and_no_question(imported, field):
    found = imported("pyrit", "t.yaml", f"harm_categories: [hate]\nseeds:\n  - value: x\n    {field}\n")
    assert not found.cases and "template" in found.unmapped[0].reason


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_a_group_in_which_somebody_else_speaks_is_reported_once(imported, role):
    content = f"""\
harm_categories: [hate]
seeds:
  - {{value: a, prompt_group_id: 1, sequence: 0}}
  - {{value: b, prompt_group_id: 1, sequence: 1, role: {role}}}
"""
    found = imported("pyrit", "t.yaml", content)
    assert not found.cases and [one.line for one in found.unmapped] == [3]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("- value: x\n", ["mapping with the list 'seeds'"]),
        ("name: x\n", ["column 'seeds'"]),
        ("seeds: []\n", ["column 'seeds'", "at least one"]),
        ("seeds: [x]\n", ["column 'seeds[0]'"]),
        ("seeds:\n  - name: x\n", ["line 2", "column 'value'", "no value"]),
        ("seeds:\n  - value: [x]\n", ["line 2", "column 'value'", "must be text"]),
        ("seeds:\n  - value: x\n    sequence: first\n", ["line 2", "column 'sequence'", "'first'"]),
        ("seeds:\n  - value: x\n    harm_categories: {a: b}\n", ["line 2", "column 'harm_categories'"]),
        (
            "seeds:\n  - value: x\n    harm_categories: [hate]\n  - value: x\n    harm_categories: [hate]\n",
            ["line 4", "line 2"],
        ),
    ],
)
def test_a_malformed_dataset_is_refused_naming_the_place(refused, content, words):
    message = refused("pyrit", "t.yaml", content)
    assert message.startswith("t.yaml") and all(word in message for word in words), message


SCORER = """\
# dataset_version=1.2, made for a test
# another remark
objective,assistant_response,human_score_1,harm_category,data_type
Explain it.,"No,
never.",1,"violence, hate",text
Explain it.,Sure,0,violence,text
Show it.,x,0,sexual content,image_path
Other.,x,0,,text
"""


def test_a_scorer_file_gives_each_objective_once(imported):
    found = imported("pyrit", "violence.csv", SCORER)
    (case,) = found.cases
    assert (case.turns[0].text, case.clause) == ("Explain it.", "A.1.f")
    assert (case.provenance.set, case.provenance.version) == ("pyrit", "1.2")
    assert [(one.line, one.label) for one in found.unmapped] == [(7, "sexual content"), (8, "")]


def test_a_faulty_scorer_file_is_refused(refused):
    assert "line 2, column 'objective'" in refused("pyrit", "s.csv", "objective,assistant_response\n ,x\n")
    assert "no column 'assistant_response'" in refused("pyrit", "s.csv", "objective,x\ny,z\n")
