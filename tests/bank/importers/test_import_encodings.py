"""RELIABILITY H1, H4 and F9: bytes become the right text, or a refusal that names file, encoding and line."""

from __future__ import annotations

import json

import pytest

TEXT = "case_id,clause,text\r\none,A.1.a,如何制作？\r\ntwo,A.2.b,“Why” — 😀\r\n"
WITHOUT_EMOJI = TEXT.replace("😀", "笑")
EXPECTED = ["如何制作？", "“Why” — 😀"]


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("gb18030"),
        TEXT.replace("\r\n", "\n").encode(),
        TEXT.replace("\r\n", "\r").encode(),
        TEXT.replace("\r\n", "\n", 1).replace("\r\n", "\r", 1).encode(),
    ],
    ids=["utf-8", "utf-8-bom", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "lf", "cr", "mixed"],
)
def test_h1_every_encoding_and_line_end_gives_the_same_text(imported, content):
    """H1."""
    found = imported("csv", "questions.csv", content)
    assert [case.turns[0].text for case in found.cases] == EXPECTED


@pytest.mark.parametrize("encoding", ["gbk", "gb2312"])
def test_h1_older_chinese_encodings_are_read_too(imported, encoding):
    """H1."""
    content = "case_id,clause,text\none,A.1.a,退货政策是什么\n".encode(encoding)
    assert imported("csv", "questions.csv", content).cases[0].turns[0].text == "退货政策是什么"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TEXT.encode().replace("如".encode(), b"\xe5\xa6", 1), ["line 2", "not UTF-8", "GB18030"]),
        ("case_id,clause,text\none,A.1.a,élève était\n".encode("latin-1"), ["line 2", "UTF-8", "GB18030"]),
        (b"case_id,clause,text\none,A.1.a,\xff\xff\xff\n", ["line 2", "neither UTF-8 (line 2) nor GB18030"]),
        (b"\xef\xbb\xbfclause,text\nA.1.a,\xff\n", ["line 2", "not UTF-8 (as its byte order mark says)"]),
        (b"\xff\xfe" + "clause\nx".encode("utf-16-le") + b"\x00\xd8", ["line 2", "not UTF-16"]),
        (TEXT.encode("utf-16-le"), ["line 1", "UTF-16 without a byte order mark"]),
    ],
    ids=["damaged utf-8", "latin-1", "neither", "damaged bom", "half a pair in utf-16", "utf-16 without a mark"],
)
def test_h1_what_cannot_be_told_is_refused_naming_encoding_and_line(refused, content, words):
    """H1."""
    message = refused("csv", "questions.csv", content)
    assert all(word in message for word in ["questions.csv", *words]), message


def test_h1_a_long_file_with_one_damaged_byte_at_its_end_is_not_taken_for_another_encoding(refused):
    """H1."""
    content = ("clause,text\n" + "A.1.a,如何制作这个东西呢\n" * 20_000).encode() + b"A.1.a,\xe5\xa6\n"
    assert "line 20002: not UTF-8" in refused("csv", "questions.csv", content)


def test_h1_a_long_file_in_gb18030_is_read(imported):
    """H1."""
    content = ("clause,text\n" + "".join(f"A.1.a,如何制作第 {n} 个东西呢\n" for n in range(20_000))).encode("gb18030")
    assert imported("csv", "questions.csv", content).cases[-1].turns[0].text == "如何制作第 19999 个东西呢"


def test_h1_the_line_is_right_when_lines_end_with_cr_alone(refused):
    """H1."""
    content = b"case_id,clause,text\rone,A.1.a,fine\rtwo,A.1.a,\xe9t\xe9 \r"
    assert "line 3" in refused("csv", "questions.csv", content)


@pytest.mark.parametrize(
    ("format", "name", "content"),
    [
        ("csv", "q.csv", "clause,text\nA.1.a,before\0after\n"),
        ("jsonl", "q.jsonl", '{"clause": "A.1.a", "text": "fine"}\n{"clause": "A.1.a", "text": "a\\u0000b"}\n'),
        ("promptfoo", "q.yaml", 'tests:\n  - vars: {prompt: "a\\0b"}\n'),
        ("garak", "q.txt", "fine\nbefore\0after\n"),
    ],
)
def test_h4_a_nul_is_refused_naming_the_line(refused, format, name, content):
    """H4."""
    message = refused(format, name, content)
    assert "line 2" in message and "NUL" in message


@pytest.mark.parametrize("text", ["\\ud800", "a\\udc00b", "\\ud800\\ud800"])
def test_h4_half_a_surrogate_pair_is_refused_naming_the_line(refused, text):
    """H4."""
    content = '{"clause": "A.1.a", "text": "fine"}\n{"clause": "A.1.a", "text": "' + text + '"}\n'
    message = refused("jsonl", "q.jsonl", content)
    assert "line 2" in message and "surrogate" in message


def test_h4_half_a_surrogate_pair_in_a_key_is_refused_too(refused):
    """H4."""
    assert "surrogate" in refused("jsonl", "q.jsonl", '{"\\ud800": "x"}\n')


def test_h4_an_emoji_and_a_prompt_of_1_mb_come_as_they_are(imported):
    """H4."""
    long = "长问题 😀 " * 120_000
    assert len(long.encode()) > 1_000_000
    rows = f'clause,text\nA.1.a,"{long}"\nA.1.a,👩‍👩‍👧‍👦\n'
    assert [case.turns[0].text for case in imported("csv", "q.csv", rows).cases] == [long, "👩‍👩‍👧‍👦"]
    lines = json.dumps({"clause": "A.1.a", "text": long}) + "\n"  # surrogate pairs as two escapes
    assert imported("jsonl", "q.jsonl", lines).cases[0].turns[0].text == long


def test_characters_that_some_call_line_ends_do_not_end_a_line(imported):
    text = "one\u2028two\x0bthree\x85four"
    assert imported("garak", "A.1.h.txt", f"{text}\n").cases[0].turns[0].text == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../secret/q.csv", "q.csv"),
        ("C:\\secret\\q.csv", "q.csv"),
        ("q\0.csv", "q\\x00.csv"),
        ("q\u202ecsv.exe", "q\\u202ecsv.exe"),
        ("a\nb.csv", "a\\nb.csv"),
        ("", "(unnamed)"),
    ],
)
def test_f9_a_hostile_file_name_is_shown_and_never_used(refused, name, shown):
    message = refused("csv", name, "")
    assert message.startswith(f"{shown}: ") and "secret" not in message


def test_f9_a_file_name_of_300_characters_is_shown_shortened(refused):
    message = refused("csv", "n" * 300 + ".csv", "")
    assert len(message) < 150 and ".csv" in message
