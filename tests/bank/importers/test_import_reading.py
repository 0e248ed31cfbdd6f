"""What the importers share: lists in JSON with their lines, comments before headings, files that hold nothing."""

from __future__ import annotations

import pytest

from engine.bank.importers import reading
from engine.bank.importers.gathering import language_of, title_of
from engine.errors import BankError


def test_the_entries_of_a_json_list_come_with_the_line_each_begins_on(file):
    content = '\n[\n  {"a": [1,\n 2]}, {"b": "]"},\n\n  3\n]\n'
    entries = list(reading.json_list_of(file("q.json", content)))
    assert entries == [(3, {"a": [1, 2]}), (4, {"b": "]"}), (6, 3)]
    assert entries[1][1].line == 4
    assert list(reading.json_list_of(file("q.json", "[ ]"))) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": 1}', ["line 1", "one JSON list"]),
        ("[1\n 2]", ["line 2", "expected , or ]"]),
        ("[1,\n2,\n]", ["line 3", "not readable as JSON"]),
        ("[1,\n2", ["line 2", "expected , or ]"]),
        ("[", ["line 1", "not readable as JSON"]),
        ("[1]\n[2]", ["line 1", "follows the list"]),
        ('[1,\n{"a": 1, "a": 2}]', ["line 2", "'a' is given twice"]),
        ("[1, 2, 3, 4]", ["more than 3 entries"]),
    ],
)
def test_a_faulty_json_list_is_refused_naming_the_line(file, monkeypatch, content, words):
    monkeypatch.setattr(reading, "MAX_ROWS", 3)
    with pytest.raises(BankError) as caught:
        list(reading.json_list_of(file("q.json", content)))
    assert all(word in caught.value.message for word in ["q.json", *words]), caught.value.message


def test_comment_lines_before_the_headings_are_set_aside(file):
    table = reading.rows_of(file("q.csv", "# one\n\n# two\na,b\n#1,2\n"), comment="#")
    assert (table.headings, table.line) == (("a", "b"), 4)
    assert table.comments == ("# one", "", "# two")
    assert [(row.line, row.cells) for row in table.rows] == [(5, {"a": "#1", "b": "2"})]


@pytest.mark.parametrize("format", ["csv", "xlsx", "jsonl", "promptfoo", "inspect", "garak", "pyrit"])
@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_file_that_holds_nothing_is_refused(refused, format, content):
    assert refused(format, "nothing", content).startswith("nothing: ")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Why is that so?", "en"),
        ("为什么 AI 会这样？", "zh-CN"),
        ("Please translate the word 你好 into plain English", "en"),
        ("なぜですか", "ja"),
        ("왜 그런가요", "ko"),
        ("Почему так?", "ru"),
        ("لماذا هذا", "ar"),
        ("12345", "en"),
    ],
)
def test_the_language_is_told_by_the_script(text, language):
    assert language_of(text) == language


def test_a_title_is_one_short_visible_line():
    assert title_of("one\n  two\u202e") == "one two\\u202e"
    assert len(title_of("word " * 100)) <= 60
    assert title_of("\n") == "…"
