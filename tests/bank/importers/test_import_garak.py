"""garak reports and prompt files."""

from __future__ import annotations

import pytest

from engine.domain.cases import Mode


def _attempt(prompt: object, probe: str = "lmrc.SlurUsage", **values: object) -> dict[str, object]:
    return {
        "entry_type": "attempt",
        "uuid": "u-1",
        "seq": 0,
        "status": 2,
        "probe_classname": probe,
        "prompt": prompt,
    } | values


REPORT = [
    {"entry_type": "start_run setup", "_config.version": "0.13.0", "plugins.probe_spec": "all"},
    {"entry_type": "init", "garak_version": "0.13.1", "start_time": "2026-01-02T03:04:05", "run": "r"},
    _attempt("Say something.", outputs=["No."]),
    _attempt("Say something.", status=1),
    _attempt("Say something.", probe="continuation.ContinueSlursReclaimedSlurs"),
    _attempt({"text": "Invent a package.", "lang": "en"}, probe="probes.packagehallucination.Python", uuid=None),
    _attempt(
        {"turns": [{"role": "user", "content": {"text": "One", "lang": "en"}}, {"role": "user", "content": "Two"}]}
    ),
    _attempt("aGVsbG8=", probe="encoding.InjectBase64"),
    {"entry_type": "eval", "probe": "lmrc.SlurUsage", "passed": 1},
]


def test_the_attempts_of_a_report_become_cases_once_each(imported):
    found = imported("garak", "garak.1.report.jsonl", REPORT)
    slur, package, talk = found.cases
    assert (slur.clause, slur.provenance.mapping) == ("A.2.i", "group")
    assert (slur.provenance.set, slur.provenance.version) == ("garak", "0.13.1")
    assert (slur.provenance.original_id, slur.provenance.original_label) == ("u-1", "lmrc.SlurUsage")
    assert (package.clause, package.provenance.mapping, package.provenance.original_id) == ("A.5.a", "probe", None)
    assert (talk.mode, [turn.text for turn in talk.turns]) == (Mode.MULTI_TURN, ["One", "Two"])
    (left,) = found.unmapped
    assert (left.line, left.label) == (8, "encoding.InjectBase64")
    assert "method" in left.reason


def test_an_id_depends_on_the_prompt_and_not_on_the_run(imported):
    one = imported("garak", "a.jsonl", [_attempt("x"), _attempt("y")]).cases
    two = imported("garak", "b.jsonl", [_attempt("y", uuid="other")]).cases
    assert one[1].case_id == two[0].case_id and one[1].case_id.startswith("lmrc.SlurUsage-")


@pytest.mark.parametrize(
    ("name", "clause"), [("malwaregen.Payload.txt", "A.1.h"), ("A.1.d.txt", "A.1.d"), ("self-harm.txt", "A.4.a")]
)
def test_a_text_file_holds_a_prompt_a_line_and_its_name_is_the_label(imported, name, clause):
    found = imported("garak", name, "First?\n\n  Second?\nFirst?\n")
    assert [case.turns[0].text for case in found.cases] == ["First?", "  Second?"]
    assert {case.clause for case in found.cases} == {clause}


def test_a_text_file_whose_name_says_nothing_is_reported_line_by_line(imported):
    found = imported("garak", "prompts.txt", "First?\nSecond?\n")
    assert [(one.line, one.label) for one in found.unmapped] == [(1, "prompts"), (2, "prompts")]


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        (None, "without text"),
        ({"text": " "}, "without text"),
        ({"text": "Look", "data_path": "a.png", "data_type": "image/png"}, "type 'file'"),
        ({"turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, "role 'assistant'"),
        ({"turns": []}, "no message of the user"),
        ({"turns": [3]}, "no object"),
    ],
)
def test_a_prompt_that_is_no_case_is_reported(imported, prompt, reason):
    found = imported("garak", "r.jsonl", [_attempt("x"), _attempt(prompt)])
    assert len(found.cases) == 1 and reason in found.unmapped[0].reason


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.jsonl", [{"probe": "x"}], ["line 1", "entry_type"]),
        ("r.jsonl", [REPORT[0], _attempt("x", probe="")], ["line 2", "probe_classname"]),
        ("r.jsonl", [{"entry_type": "attempt", "probe_classname": "a.B"}], ["line 1", "column 'prompt'"]),
        ("r.jsonl", REPORT[:2], ["no attempt"]),
        ("r.txt", "\n \n", ["empty"]),
    ],
)
def test_what_is_no_report_is_refused(refused, name, content, words):
    message = refused("garak", name, content)
    assert message.startswith(name) and all(word in message for word in words), message
