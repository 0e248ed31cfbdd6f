from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.components import untrusted
from tests.dashboard.hostile import CORPUS

SPECIAL = "\\`*_{}[]()#+-.!|<>~$&=^\"'"


def unescaped(label: str) -> list[str]:
    """Characters with a meaning in Markdown that no backslash takes away."""
    found, rest = [], iter(label)
    for character in rest:
        if character == "\\":
            assert next(rest) in SPECIAL + ":", f"a backslash before an ordinary character: {label!r}"
        elif character in SPECIAL:
            found.append(character)
    return found


@pytest.mark.parametrize("text", CORPUS)
def test_no_hostile_text_keeps_markdown_in_a_label(text: str) -> None:
    assert unescaped(untrusted.label(text)) == []


@pytest.mark.parametrize("text", CORPUS)
def test_no_shortcode_and_no_bare_address_survives_in_a_label(text: str) -> None:
    drawn = untrusted.label(text).replace("\\", "")
    assert "://" not in drawn
    assert "www." not in drawn
    assert ":red[" not in drawn
    assert ":material/" not in drawn
    assert ":smile:" not in drawn
    assert "e@o" not in drawn


@given(st.text(max_size=300))
def test_a_label_never_holds_live_markdown_or_a_line_break(text: str) -> None:
    label = untrusted.label(text)
    assert unescaped(label) == []
    assert "\n" not in label


@given(st.text(max_size=300))
def test_what_is_visible_holds_nothing_that_draws_nothing(text: str) -> None:
    for character in untrusted.visible(text):
        assert character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ("a\r\nb", "a\\x0d\nb"),
        ("a\tb\nc", "a\tb\nc"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("汉字 é 🙂", "汉字 é 🙂"),
    ],
)
def test_hidden_characters_are_written_out(text: str, drawn: str) -> None:
    assert untrusted.visible(text) == drawn


def test_a_cell_is_one_line_and_is_cut_with_an_ellipsis() -> None:
    assert untrusted.cell("a\n  b\tc") == "a b c"
    assert untrusted.cell("x" * 300, limit=10) == "x" * 9 + "…"


def test_ordinary_names_read_as_they_are() -> None:
    assert untrusted.label("qwen max 2") == "qwen max 2"
    assert untrusted.label("通义千问") == "通义千问"
