"""Which of promptfoo's assertions become hard checks of a case.

Ours are searched without regard to case, in text whose blanks are single spaces. What cannot be said so is left out,
and so is all where a test only asks for a share of its assertions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine import rules
from engine.bank.patterns import why_never
from engine.domain.base import Localized
from engine.domain.cases import Check, CheckKind
from engine.errors import InputError

_ONE = frozenset({"contains", "icontains"})
_ANY = frozenset({"contains-any", "icontains-any"})
_ALL = frozenset({"contains-all", "icontains-all"})

_UNSAID = re.compile(r"\[[^\]]*[A-Z]-[A-Z]|\\n|\{\{|\{%")
"""In an expression: capitals alone, a line end, or a template."""

_SHOWN = 60


def checks_of(asserts: Iterable[Mapping[str, Any]]) -> tuple[Check, ...]:
    """In the order of the assertions: what an answer must hold is required, what it must not hold is forbidden."""
    return tuple(
        Check(check_id=f"assert-{number}", kind=kind, patterns=patterns, reason=_reason(kind, words))
        for number, (kind, patterns, words) in enumerate(_found(asserts), start=1)
    )


def _found(asserts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[CheckKind, tuple[str, ...], str]]:
    for one in asserts:
        if "transform" in one or one.get("weight") == 0:
            continue  # it looks at something else, or counts for nothing
        type_ = str(one["type"])
        denied = type_.startswith("not-")
        base = type_.removeprefix("not-")
        value = one.get("value")
        if base == "regex":
            groups = [[_expression(value)]]
        elif base in _ONE:
            groups = [[_literal(value)]]
        elif base in _ANY:
            groups = [_literals(value)]
        elif base in _ALL and not denied:  # that not all of them occur is no pattern
            groups = [[text] for text in _literals(value)]
        else:
            continue
        for group in groups:
            patterns = tuple(each for each in group if each)
            if patterns and len(patterns) == len(group):
                yield CheckKind.FORBID if denied else CheckKind.REQUIRE, patterns, f"{type_}: {_words(value)}"


def _literals(value: object) -> list[str]:
    """A list of texts, or one text with commas between."""
    return [_literal(each) for each in (value if isinstance(value, list) else str(value).split(","))]


def _literal(value: object) -> str:
    """A text as a pattern; empty where it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = rules.fold(str(value))
    return "" if "{{" in text or text.startswith("file://") else re.escape(text)


def _expression(value: object) -> str:
    """An expression that means the same here; empty where it does not."""
    if not isinstance(value, str) or _UNSAID.search(value):
        return ""
    pattern = unicodedata.normalize("NFKC", value)
    try:
        compiled = rules.compiled(pattern)
        return "" if compiled.search("") or why_never(pattern) else pattern
    except (InputError, RecursionError):
        return ""


def _reason(kind: CheckKind, words: str) -> Localized:
    if kind is CheckKind.FORBID:
        return Localized(zh=f"出现了断言所禁止的内容（{words}）", en=f"says what an assertion forbids ({words})")
    return Localized(zh=f"缺少断言所要求的内容（{words}）", en=f"lacks what an assertion requires ({words})")


def _words(value: object) -> str:
    shown = " ".join(str(value).split())
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
