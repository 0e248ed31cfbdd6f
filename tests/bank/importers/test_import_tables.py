"""CSV, XLSX and JSONL: RELIABILITY H3 and H6, our own columns, and a mapping of other ones."""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from collections.abc import Callable

import openpyxl
import pytest

from engine.bank.importers import FORMATS, ColumnMapping, SourceFile, columns, read
from engine.domain.cases import Case, Mode, Severity, Tag, Technique
from engine.domain.clauses import Aspect
from engine.errors import BankError

HEADINGS = "case_id,clause,mode,language,title,system,text,must,must_not,severity,technique,aspect,tags"
ROW = "c-1,A.1.a,rf,en-us,Title,Be brief.,Question?,Refuses.,Helps.,HIGH,role-play,,owasp-llm:LLM01@2025; smoke"


def test_every_column_of_ours_is_read(imported):
    (case,) = imported("csv", "mine.csv", f"{HEADINGS}\n{ROW}\n").cases
    assert (case.case_id, case.clause, case.mode, case.language) == ("c-1", "A.1.a", Mode.RF, "en-US")
    assert (case.title, case.system, case.turns[0].text) == ("Title", "Be brief.", "Question?")
    assert (case.expectation.must, case.expectation.must_not) == ("Refuses.", "Helps.")
    assert (case.severity, case.technique) == (Severity.HIGH, Technique.ROLE_PLAY)
    assert case.tags == (Tag(scheme="owasp-llm", code="LLM01", year=2025), Tag(scheme="label", code="smoke"))
    provenance = case.provenance
    assert (provenance.set, provenance.original_id, provenance.original_label) == ("mine", "c-1", "A.1.a")
    assert provenance.mapping == "clause"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found_out(imported, separator):
    rows = [["Case ID", "Clause", "Text"], ["a", "A.1.a", '"One, two; three"']]
    content = "\n".join(separator.join(row) for row in rows)
    assert imported("csv", "q.csv", content).cases[0].turns[0].text == "One, two; three"


def test_what_is_not_said_gets_our_usual_values(imported):
    found = imported("csv", "q.csv", "clause,text\nA.4.a,怎样安全用药？\nA.2.e,Why?\n").cases
    chinese, english = found
    assert (chinese.mode, chinese.language, chinese.technique) == (Mode.SINGLE, "zh-CN", Technique.DIRECT)
    assert chinese.title == "怎样安全用药？" and "危害他人身心健康" in chinese.expectation.must_not
    assert (english.language, english.severity) == ("en", Severity.MEDIUM)
    assert "gender" in english.expectation.must_not


def test_an_id_made_for_a_question_stays_when_other_rows_change(imported):
    (alone,) = imported("csv", "q.csv", "clause,text\nA.1.a,Why?\n").cases
    after = imported("csv", "other.csv", "clause,text\nA.1.b,First?\nA.1.a,Why?\n").cases
    assert alone.case_id == after[1].case_id != after[0].case_id


@pytest.mark.parametrize("turns", [("one", "two"), ("one", "two", "three")])
def test_turns_become_a_conversation(imported, turns):
    content = f"case_id,clause,turn_1,turn_2,turn_3\nc,A.1.a,{','.join([*turns, '', ''][:3])}\nd,A.1.a,alone,,\n"
    first, second = imported("csv", "q.csv", content).cases
    assert (first.mode, tuple(turn.text for turn in first.turns)) == (Mode.MULTI_TURN, turns)
    assert (second.mode, len(second.turns)) == (Mode.SINGLE, 1)


def test_an_aspect_makes_a_question_that_must_not_be_refused(imported):
    (case,) = imported("csv", "q.csv", "clause,text,aspect\nA.2.f,How old is old?,Age\n").cases
    assert (case.mode, case.aspect, case.technique) == (Mode.OC, Aspect.AGE, Technique.BENIGN_NEAR_MISS)


@pytest.mark.parametrize("written", ["refusal", "RF", "rf"])
def test_the_long_names_of_modes_are_known(imported, written):
    assert imported("csv", "q.csv", f"clause,text,mode\nA.1.a,x,{written}\n").cases[0].mode is Mode.RF


@pytest.mark.parametrize(
    ("written", "clause", "rule"),
    [
        ("A.1.a", "A.1.a", "clause"),
        ("A1-a", "A.1.a", "clause alias"),
        ("A1a", "A.1.a", "clause alias"),
        ("A.1 a)", "A.1.a", "clause alias"),
        ("a.5.B", "A.5.b", "clause alias"),
        ("A_2_i", "A.2.i", "clause alias"),
        ("Ａ．３．ｃ", "A.3.c", "clause alias"),
        ("侵犯他人隐私权", "A.4.e", "clause title"),
        ("民族歧视", "A.2.a", "clause title"),
        ("Other commercial violations", "A.3.e", "clause title"),
        ("A.1", "A.1.h", "group"),
        ("A2", "A.2.i", "group"),
        ("商业违法违规", "A.3.e", "group"),
        ("Rights of others", "A.4.g", "group"),
    ],
)
def test_a_clause_is_known_by_its_aliases_and_a_group_by_its_catch_all(imported, written, clause, rule):
    found = imported("csv", "q.csv", f"clause,text\n{written},Why?\n")
    assert (found.cases[0].clause, found.cases[0].provenance.mapping) == (clause, rule)
    assert found.mapping_counts == {rule: 1}


@pytest.mark.parametrize("written", ["A.6.a", "A.1.z", "A.4.h", "A.5", "A5", "violence?", "???"])
def test_a_label_that_is_no_clause_is_reported_with_file_line_and_reason(imported, written):
    found = imported("csv", "q.csv", f"clause,text\nA.1.a,Why?\n{written},How?\n")
    assert len(found.cases) == 1 and found.read == 2
    (left,) = found.unmapped
    assert (left.file, left.line, left.label) == ("q.csv", 3, written)
    assert "31 clauses" in left.reason


@pytest.mark.parametrize("mode", ["tool", "multimodal"])
def test_a_mode_that_a_row_cannot_hold_is_reported(imported, mode):
    found = imported("csv", "q.csv", f"clause,text,mode\nA.1.a,Why?,{mode}\n")
    assert not found.cases and "use jsonl" in found.unmapped[0].reason


@pytest.mark.parametrize("second", ["ONE", "One", "ｏｎｅ"])
def test_h3_an_id_in_another_case_or_unicode_form_is_refused_naming_both_lines(refused, second):
    """H3."""
    message = refused("csv", "q.csv", f"case_id,clause,text\none,A.1.a,x\n\n{second},A.1.b,y\n")
    assert "q.csv, line 4" in message and "line 2" in message and "'one'" in message


def test_h3_an_id_in_another_unicode_normal_form_is_refused(refused, imported):
    """H3."""
    composed, decomposed = "caf\u00e9-\u95ee", "cafe\u0301-\u95ee"
    message = refused("csv", "q.csv", f"case_id,clause,text\n{composed},A.1.a,x\n{decomposed},A.1.b,y\n")
    assert "line 3" in message and "line 2" in message
    different = imported("csv", "q.csv", "case_id,clause,text\n问一,A.1.a,x\n问二,A.1.b,y\n").cases
    assert different[0].case_id != different[1].case_id
    assert [case.provenance.original_id for case in different] == ["问一", "问二"]


def test_h3_an_id_of_another_file_is_refused_naming_both_files(file):
    """H3."""
    files = [file(name, f"case_id,clause,text\nsame,A.1.a,{name}\n") for name in ("a.csv", "b.csv")]
    with pytest.raises(BankError, match=r"b\.csv, line 2.*line 2 of a\.csv"):
        read("csv", files)


def test_h3_the_same_question_twice_without_ids_is_refused_naming_both_lines(refused):
    """H3."""
    message = refused("csv", "q.csv", "clause,text\nA.1.a,x\nA.1.a,y\nA.1.b,x\n")
    assert "line 4" in message and "line 2" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("case_id,clause,text\na,A.1.a\n", ["line 2", "column 'text'", "2 cells under 3 headings"]),
        ("clause,text\nA.1.a,ok\nA.1.a,one, two\n", ["line 3", "column 3", "3 cells under 2 headings"]),
        ("clause,text\nA.1.a,\n", ["line 2", "column 'text'", "blank"]),
        ("clause,text\n ,x\n", ["line 2", "column 'clause'", "blank"]),
        ("case_id,clause,text\n,A.1.a,x\n", ["line 2", "column 'case_id'", "blank"]),
        ("clause,turn_1,turn_2\nA.1.a,,x\n", ["line 2", "column 'turn_1'", "blank"]),
        ("clause,turn_1,turn_2,turn_3\nA.1.a,x,,y\n", ["line 2", "column 'turn_2'", "later turn"]),
        ("clause,text,severty\nA.1.a,x,low\n", ["line 1", "column 3", "'severty'", "did you mean 'severity'"]),
        ("clause,text,\nA.1.a,x,y\n", ["line 1", "column 3", "no heading"]),
        ("clause,text,Text\nA.1.a,x,y\n", ["line 1", "column 3", "heading of column 2"]),
        ("clause,text,turn_1\nA.1.a,x,y\n", ["line 1", "'text' and 'turn_1'"]),
        ("clause,turn_1,turn_3\nA.1.a,x,y\n", ["line 1", "number them 1, 2, 3"]),
        ("case_id,text\na,x\n", ["line 1", "no column for 'clause'"]),
        ("clause,title\nA.1.a,x\n", ["line 1", "no column for 'text'"]),
        ("clause,text,severity\nA.1.a,x,awful\n", ["line 2", "column 'severity'", "'awful'", "critical"]),
        ("clause,text,mode\nA.1.a,x,sinlge\n", ["line 2", "column 'mode'", "did you mean 'single'"]),
        ("clause,text,language\nA.1.a,x,English\n", ["line 2", "column 'language'", "en or zh-CN"]),
        ("clause,text,tags\nA.1.a,x,owasp:LLM01@25\n", ["line 2", "column 'tags'", "not a year"]),
        ("clause,text,mode\nA.3.a,x,rf\n", ["line 2", "A.1 and A.2"]),
        ("clause,text,mode\nA.3.a,x,oc\n", ["line 2", "aspect"]),
        ('clause,text\nA.1.a,"open\nend\n', ["line 2", "quote"]),
        ('clause,text\nA.1.a,ok\nA.1.a,"a"b\n', ["line 3", "quote"]),
        ("clause,text\n", ["no row below"]),
        ("\n,,\n", ["no row of headings"]),
        ("  \n", ["empty"]),
    ],
)
def test_h6_a_fault_is_refused_naming_file_line_and_column(refused, content, words):
    """H6."""
    message = refused("csv", "q.csv", content)
    assert message.startswith("q.csv") and all(word in message for word in words), message


def test_h6_the_line_is_where_the_row_begins_even_after_cells_of_several_lines(refused):
    """H6."""
    message = refused("csv", "q.csv", '\nclause,text\nA.1.a,"one\ntwo\nthree"\nA.1.a,\n')
    assert "line 6" in message


def test_h6_one_fault_leaves_nothing_imported(file):
    """H6."""
    good, bad = file("a.csv", "clause,text\nA.1.a,x\n"), file("b.csv", "clause,text\nA.1.a,\n")
    with pytest.raises(BankError, match=r"b\.csv, line 2"):
        read("csv", [good, bad])


def test_a_mapping_renames_columns_gives_defaults_and_leaves_columns_out(imported):
    mapping = ColumnMapping(
        columns={"text": "Prompt", "severity": "Risk"},
        defaults={"clause": "A.1.h", "severity": "low"},
        ignored=("Note",),
    )
    content = "Prompt,Risk,Note\nFirst?,high,mine\nSecond?,,yours\n"
    first, second = imported("csv", "q.csv", content, mapping).cases
    assert (first.turns[0].text, first.clause, first.severity) == ("First?", "A.1.h", Severity.HIGH)
    assert second.severity is Severity.LOW


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (ColumnMapping(columns={"text": "prompt"}), ["line 1", "no column 'prompt'", "did you mean 'Prompt'"]),
        (ColumnMapping(columns={"txt": "Prompt"}), ["'txt'", "did you mean 'text'"]),
        (ColumnMapping(defaults={"claus": "A.1.a"}), ["'claus'", "did you mean 'clause'"]),
        (ColumnMapping(columns={"text": "Prompt"}), ["line 1", "column 3", "'Note'"]),
        (ColumnMapping(columns={"text": "Prompt", "title": "clause"}, ignored=("Note",)), ["no column for 'clause'"]),
        (ColumnMapping(columns={"clause": "Prompt"}, ignored=("Note",)), ["column 2", "both stand for 'clause'"]),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(refused, mapping, words):
    message = refused("csv", "q.csv", "Prompt,clause,Note\nWhy?,A.1.a,x\n", mapping)
    assert all(word in message for word in words), message


def test_a_sheet_is_read_as_a_table_is(imported, workbook):
    content = workbook(
        [
            ["case_id", "clause", "text", "tags", None],
            [1, "A.1.a", "多行\r\n问题", None],
            [None, None, None],
            [2.0, "A.5", "How?", "team:search"],
            ["3", "A.1.b", datetime.date(2026, 1, 2), None],
        ]
    )
    found = imported("xlsx", "q.xlsx", content)
    assert [case.case_id for case in found.cases] == ["1", "3"]
    assert found.cases[0].turns[0].text == "多行\n问题"
    assert found.unmapped[0].line == 4


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["clause", "text"], ["A.1.a", "x"], ["A.1.a", None]], ["line 3", "column 'text'", "blank"]),
        ([["clause", "text"], ["A.1.a", "x", None, "y"]], ["line 2", "column 4", "no heading above"]),
        ([["clause", None, "text"], ["A.1.a", "x", "y"]], ["line 1", "column 2", "no heading"]),
        ([["clause", "text", "Colour"], ["A.1.a", "x", "y"]], ["line 1", "column 3", "'Colour'"]),
        ([[None]], ["no row of headings"]),
    ],
)
def test_h6_a_fault_of_a_sheet_is_refused_naming_row_and_column(refused, workbook, rows, words):
    """H6."""
    message = refused("xlsx", "q.xlsx", workbook(rows))
    assert message.startswith("q.xlsx") and all(word in message for word in words), message


def _archive(**parts: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def _with_part(name: str, change: Callable[[bytes], bytes]) -> bytes:
    book, source, target = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["clause", "text"])
    book.active.append(["A.1.a", "x"])
    book.save(source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for part in old.namelist():
            new.writestr(part, change(old.read(part)) if part == name else old.read(part))
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"clause,text\nA.1.a,x\n", "not a workbook"),
        (b"PK\x03\x04 and no more", "not a workbook"),
        (_archive(readme="hello"), "not readable as a workbook"),
        (_with_part("xl/worksheets/sheet1.xml", lambda part: part[: len(part) // 2]), "not readable as a workbook"),
        (_with_part("xl/workbook.xml", lambda part: re.sub(rb"<sheets>.*</sheets>", b"<sheets/>", part)), "no sheet"),
    ],
)
def test_what_is_no_workbook_is_refused(refused, content, words):
    assert words in refused("xlsx", "q.xlsx", content)


def test_an_encrypted_or_damaged_part_is_refused(refused, workbook):
    content = bytearray(workbook([["clause", "text"], ["A.1.a", "x"]]))
    start = content.find(b"PK\x01\x02")
    while start >= 0:  # the flag that says a part is encrypted, in the archive's directory
        content[start + 8] |= 1
        start = content.find(b"PK\x01\x02", start + 4)
    assert "not a workbook" in refused("xlsx", "q.xlsx", bytes(content))


def _case(**values: object) -> dict[str, object]:
    return {
        "case_id": "tool-1",
        "clause": "A.4.f",
        "mode": "single",
        "language": "en",
        "title": "Title",
        "turns": [{"text": "Where is my order?"}],
        "expectation": {"must": "Answers.", "must_not": "Invents."},
        "severity": "low",
        "technique": "direct",
    } | values


TOOL = {
    "mode": "tool",
    "tools": [{"name": "find", "description": "Finds.", "parameters": {"type": "object"}, "result": 1}],
    "tool_call_policy": {"required": ["find"]},
}


def test_a_case_of_our_own_shape_is_kept_as_it_is_written(imported):
    provenance = {"set": "xstest", "licence": "CC-BY-4.0", "mapping": "set label"}
    lines = [
        _case(**TOOL, variants=[{"variant": "zh", "language": "zh-CN"}]),
        _case(case_id="b", provenance=provenance, choice={"options": ["x", "y"], "answer": 1}),
    ]
    found = imported("jsonl", "bank.jsonl", lines)
    assert found.cases == tuple(Case.model_validate_json(json.dumps(line)) for line in lines)
    assert found.mapping_counts == {"as written": 1, "set label": 1}
    again = imported(
        "jsonl", "bank.jsonl", [case.model_dump(mode="json", exclude_defaults=True) for case in found.cases]
    )
    assert again == found


def test_a_case_of_our_own_shape_that_leans_on_fixtures_is_reported(imported):
    lines = [
        _case(turns=[{"text": "Look", "fixtures": ["chart"]}], mode="multimodal"),
        _case(case_id="v", variants=[{"variant": "b", "turns": [{"text": "x", "fixtures": ["doc"]}]}]),
    ]
    found = imported("jsonl", "bank.jsonl", lines)
    assert not found.cases
    assert [(one.line, one.label) for one in found.unmapped] == [(1, "A.4.f"), (2, "A.4.f")]
    assert "fixture 'chart'" in found.unmapped[0].reason


def test_a_case_whose_fixture_is_described_but_not_installed_is_reported(imported):
    fixture = {
        "fixture_id": "chart",
        "path": "fixtures/chart.png",
        "media_type": "image/png",
        "sha256": "0" * 64,
        "licence": "MIT",
        "title": {"zh": "图", "en": "Chart"},
        "access": {"model": ["content"]},
    }
    case = _case(turns=[{"text": "Look", "fixtures": ["chart"]}], mode="multimodal")
    found = imported("jsonl", "bank.jsonl", [{"fixture": fixture}, case])
    assert not found.cases
    assert [(one.line, one.reason) for one in found.unmapped] == [
        (2, "leans on fixture 'chart', which is not installed here")
    ]
    assert columns("jsonl", SourceFile("b.jsonl", json.dumps({"fixture": fixture}).encode())) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"severty": "low"}, ["severty", "unknown key"]),
        ({"severity": 3}, ["severity"]),
        ({"clause": "A.9.a"}, ["clause", "A.9.a"]),
        ({"case_id": "not an id"}, ["case_id"]),
        (
            {"checks": [{"check_id": "c", "kind": "forbid", "patterns": ["("], "reason": {"zh": "", "en": ""}}]},
            ["checks"],
        ),
        ({"variants": [{"variant": "two", "turns": [{"text": "a"}, {"text": "b"}]}]}, ["tool-1/two", "multi_turn"]),
    ],
)
def test_a_faulty_case_of_our_own_shape_is_refused_naming_the_line(refused, values, words):
    message = refused("jsonl", "bank.jsonl", [_case(case_id="fine"), _case() | values])
    assert all(word in message for word in ["bank.jsonl, line 2", *words]), message


def test_lines_under_our_column_names_are_read_like_rows(imported):
    lines = [
        {"id": 7, "prompt": "Why?", "clause": "A1-b", "tags": [{"scheme": "team", "code": "x"}, "b:c", " "]},
        {"case_id": "x", "question": "How?", "clause": "A.1", "severity": None, "system": "Be brief."},
        {"case_id": "y", "clause": "none", "turn_1": "a", "turn_2": "b"},
    ]
    found = imported("jsonl", "q.jsonl", lines)
    first, second = found.cases
    assert (first.case_id, first.clause, first.turns[0].text) == ("7", "A.1.b", "Why?")
    assert first.tags == (Tag(scheme="team", code="x"), Tag(scheme="b", code="c"))
    assert (second.clause, second.system) == ("A.1.h", "Be brief.")
    assert [one.line for one in found.unmapped] == [3]


def test_lines_are_read_with_a_mapping(imported):
    mapping = ColumnMapping(columns={"text": "ask", "clause": "kind"}, ignored=("n", "turns"))
    found = imported("jsonl", "q.jsonl", [{"ask": "Why?", "kind": "A.1.a", "n": 1, "turns": 3}], mapping)
    assert found.cases[0].turns[0].text == "Why?"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('{"clause": "A.1.a", "text": "x"}\n\n[1]\n', ["line 3", "one JSON object"]),
        ('{"clause": "A.1.a", "text": "x"}\n{"clause": "A.1.a"\n', ["line 2", "column", "not readable as JSON"]),
        ('{"clause": "A.1.a", "text": "x", "text": "y"}\n', ["line 1", "'text' is given twice"]),
        ('{"clause": "A.1.a", "text": NaN}\n', ["line 1", "NaN"]),
        ('{"clause": "A.1.a", "text": -Infinity}\n', ["line 1", "-Infinity"]),
        ('{"clause": "A.1.a", "text": 3}\n', ["line 1", "column 'text'", "must be text"]),
        ('{"clause": "A.1.a", "text": "x", "colour": "red"}\n', ["line 1", "'colour'"]),
        ('{"clause": "A.1.a", "text": "x", "title": 3}\n', ["line 1", "column 'title'", "must be text"]),
        ('{"clause": "A.1.a", "text": "x", "tags": 3}\n', ["line 1", "column 'tags'", "a list"]),
        ('{"clause": "A.1.a", "text": "x", "tags": [3]}\n', ["line 1", "column 'tags'"]),
        ('{"clause": "A.1.a", "text": "x", "tags": [{"code": 3}]}\n', ["line 1", "column 'tags'", "scheme and code"]),
    ],
)
def test_h6_a_faulty_line_is_refused_naming_it(refused, lines, words):
    """H6."""
    message = refused("jsonl", "q.jsonl", lines)
    assert message.startswith("q.jsonl") and all(word in message for word in words), message


def test_the_columns_for_a_mapping(file, workbook):
    assert columns("csv", file("q.csv", "Prompt;Kind\na;b\n")) == ["Prompt", "Kind"]
    assert columns("xlsx", file("q.xlsx", workbook([["Prompt", "Kind"], ["a", "b"]]))) == ["Prompt", "Kind"]
    assert columns("jsonl", file("q.jsonl", [{"a": 1, "b": 2}, {"c": 3, "a": 4}])) == ["a", "b", "c"]
    with pytest.raises(BankError, match="no columns to map"):
        columns("garak", file("q.txt", "x"))


def test_a_format_that_is_not_known_no_file_and_a_mapping_without_columns_are_refused(file):
    with pytest.raises(BankError, match="did you mean 'promptfoo'") as caught:
        read("promtfoo", [file("q", "x")])
    assert caught.value.code == "unknown_format"
    with pytest.raises(BankError, match="no file"):
        read("csv", [])
    with pytest.raises(BankError, match="no columns to map"):
        read("garak", [file("q.txt", "x")], mapping=ColumnMapping())


def test_every_format_of_the_contract_is_there():
    names = (
        "csv xlsx jsonl xstest ailuminate harmbench jailbreakbench strongreject orbench donotanswer jade safetybench"
    )
    names += " chisafetybench saladbench promptfoo inspect garak pyrit"
    assert set(FORMATS) == set(names.split())


@pytest.mark.parametrize(
    ("mode", "language", "must"),
    [
        ("rf", "zh-CN", "拒绝"),
        ("rf", "en", "Refuses"),
        ("oc", "zh-CN", "正常回答"),
        ("oc", "en", "Helps"),
    ],
)
def test_the_usual_expectation_follows_mode_and_language(imported, mode, language, must):
    aspect = "age" if mode == "oc" else ""
    content = f"clause,text,mode,language,aspect\nA.2.f,?,{mode},{language},{aspect}\n"
    assert imported("csv", "q.csv", content).cases[0].expectation.must.startswith(must)


def test_a_sheet_with_an_empty_first_column_of_headings_is_refused(refused, workbook):
    assert "column 1" in refused("xlsx", "q.xlsx", workbook([[None, "clause", "text"], ["x", "A.1.a", "y"]]))
