"""Which patterns of a hard check can never be found, whatever a model writes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from engine import rules

# Python keeps its own reader of patterns here; there is no public one.
_parser: Any = importlib.import_module("re._parser")
_WORD = ("CATEGORY_WORD", "CATEGORY_NOT_WORD")
_EVERYTHING = ({"CATEGORY_SPACE", "CATEGORY_NOT_SPACE"}, {"CATEGORY_DIGIT", "CATEGORY_NOT_DIGIT"}, set(_WORD))
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@lru_cache(maxsize=4096)
def why_never(pattern: str) -> str:
    """Why a valid pattern fits no folded text; empty where none of the reasons known here applies.

    Folded text is NFKC, case folded, without invisible characters, its blanks single spaces: a pattern that asks for
    a line break, two spaces or a character that folding replaces waits for what never comes. So does one that asks
    for text before the start or after the end.
    """
    return _never_all(_parser.parse(rules.compiled(pattern).pattern, re.IGNORECASE), folds_case=True)


def _never_all(elements: Iterable[Any], *, folds_case: bool) -> str:
    """Why these elements cannot be met one after another."""
    started = begun = ended = False  # the start was asked for; something was consumed; the end was asked for
    least = spaces = 0  # characters consumed at least; blanks in a row just now
    before = ""
    for operation, value in elements:
        name = str(operation)
        if reason := _never(name, value, folds_case=folds_case):
            return reason
        if name == "AT":
            place = str(value)
            if place in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
                if least:
                    return "it asks for the start of the text after other characters"
                started = True
            ended = ended or place in ("AT_END", "AT_END_STRING")
            if ended and spaces:
                return "it asks for a blank at the end of the text, and folded text has none there"
            if place == "AT_BOUNDARY" and before == "word":
                before = "boundary"
            continue
        low, high = _width(name, value)
        if low and ended:
            return "it asks for more characters after the end of the text"
        kind = _kind(name, value)
        if kind == "space" and low and started and not begun:
            return "it asks for a blank at the start of the text, and folded text has none there"
        begun = begun or high > 0
        least += low
        if kind == "word" and before == "boundary":
            return "it asks for a word boundary between two letters"
        spaces = spaces + low if kind == "space" else spaces if high == 0 else 0
        if spaces > 1:
            return "it asks for two blanks in a row, and folded text has single spaces"
        before = kind if high else before
    return ""


def _never(name: str, value: Any, *, folds_case: bool) -> str:
    """Why one element cannot be met."""
    if name == "FAILURE" or (name == "ASSERT_NOT" and not len(value[1])):
        return "it asks for what is never true"
    if name == "LITERAL":
        return "" if _occurs(value, folds_case=folds_case) else f"it asks for {chr(value)!r}, which folding removes"
    if name == "IN":
        return _never_in(value, folds_case=folds_case)
    if name == "BRANCH":
        reasons = [_never_all(branch, folds_case=folds_case) for branch in value[1]]
        return reasons[0] if all(reasons) else ""
    if name == "SUBPATTERN":
        _, added, removed, inner = value
        return _never_all(inner, folds_case=(folds_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE)
    if name == "ATOMIC_GROUP":
        return _never_all(value, folds_case=folds_case)
    if name in _REPEATS:
        least, _, inner = value
        return _never_all(inner, folds_case=folds_case) if least else ""
    if name == "ASSERT":
        return _never_all(value[1], folds_case=folds_case)
    return ""


def _never_in(members: Any, *, folds_case: bool) -> str:
    names = {str(member) for operation, member in members if str(operation) == "CATEGORY"}
    if str(members[0][0]) == "NEGATE":
        everything = any(both <= names for both in _EVERYTHING)
        return "it asks for a character that is none at all" if everything else ""
    if names:
        return ""
    wanted = [range(m[0], m[1] + 1) if str(operation) == "RANGE" else (m,) for operation, m in members]
    if any(_occurs(code, folds_case=folds_case) for codes in wanted for code in codes):
        return ""
    return "it asks for one of characters that folding removes"


def _occurs(code: int, *, folds_case: bool) -> bool:
    """Whether a character can stand in folded text. The pattern's other letters are compared in either case."""
    character = chr(code)
    if character == " ":
        return True
    return rules.fold(character) == (character.lower() if folds_case else character)


def _width(name: str, value: Any) -> tuple[int, int]:
    """The fewest and the most characters an element takes."""
    if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "RANGE"):
        return 1, 1
    if name in _REPEATS:
        low, high = value[2].getwidth()
        return int(low * value[0]), int(high * value[1])
    if name == "SUBPATTERN":
        low, high = value[3].getwidth()
        return int(low), int(high)
    if name == "ATOMIC_GROUP":
        low, high = value.getwidth()
        return int(low), int(high)
    if name == "BRANCH":
        widths = [branch.getwidth() for branch in value[1]]
        return min(low for low, _ in widths), max(high for _, high in widths)
    return (0, 0) if name in ("ASSERT", "ASSERT_NOT") else (0, 1)


def _kind(name: str, value: Any) -> str:
    """`space` for what a single space alone can meet, `word` for a letter or digit."""
    if name == "LITERAL":
        character = chr(value)
        return "space" if character == " " else "word" if character.isalnum() or character == "_" else ""
    if name == "IN" and all(str(operation) == "CATEGORY" for operation, _ in value):
        return "space" if {str(member) for _, member in value} == {"CATEGORY_SPACE"} else ""
    if name in _REPEATS and len(value[2]) == 1:
        operation, inner = value[2][0]
        return "space" if _kind(str(operation), inner) == "space" else ""
    return ""
