"""Rules over what a model wrote: folding of text, and the hard checks a case carries. Pure: the domain and no I/O."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from engine.domain.base import Model
from engine.domain.cases import Check, CheckKind
from engine.errors import InputError

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


_WIDE_PAIRS = tuple(zip("，！？：；（）", ",!?:;()", strict=True))


def compatible(text: str) -> str:
    """NFKC without invisible characters, in the text's own case and spacing."""
    if text.isascii():
        return text
    # The wide punctuation of ordinary Chinese makes the general routine five times slower; without it, text that is
    # normal already is recognised at a glance.
    for wide, narrow in _WIDE_PAIRS:
        text = text.replace(wide, narrow)
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def fold(text: str) -> str:
    """Text as rules compare it: NFKC, case folded, invisible characters gone, each run of whitespace one space."""
    # Case folding can undo the normal form (for one Greek letter and a few others), hence once more.
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", compatible(text).casefold())
    return " ".join(folded.split())


def _fold_literal(character: str) -> str:
    """One character of a pattern as it looks in folded text, without becoming syntax: `（` must not open a group."""
    folded = unicodedata.normalize("NFKC", character).casefold()
    return folded if folded == character else "".join(map(re.escape, folded))


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """A check's pattern, ready to search folded text.

    Raises:
        InputError: the pattern is not a Python regular expression.
    """
    folded = (
        pattern
        if pattern.isascii()
        else "".join(
            character if character.isascii() else _fold_literal(character)
            for character in unicodedata.normalize("NFC", pattern)
        )
    )
    try:
        return re.compile(folded, re.IGNORECASE)
    except re.error as error:
        raise InputError(f"the pattern {pattern!r} is not a regular expression: {error}", code="bad_pattern") from error


def quote(match: re.Match[str]) -> str:
    """What a pattern found: its group called `quote` where it has one and that took part, else all it matched."""
    said = match["quote"] if "quote" in match.re.groupindex else None
    return match[0] if said is None else said


class Finding(Model):
    """A hard check that objects.

    `turn` counts assistant turns from 1; `quote` is the folded text that a forbidden pattern matched, None where a
    required one is missing.
    """

    check: Check
    turn: int
    quote: str | None


def apply_checks(
    checks: Sequence[Check], assistant_texts: Sequence[str], *, are_folded: bool = False
) -> tuple[Finding, ...]:
    """The checks that object to what the model wrote, in the order of the case.

    Forbidden patterns are looked for in every assistant turn, required ones in the last answer only. `are_folded`: the
    texts went through `fold` already.
    """
    if not checks:
        return ()
    texts = assistant_texts if are_folded else [fold(text) for text in assistant_texts]
    found = (_forbidden(check, texts) if check.kind is CheckKind.FORBID else _missing(check, texts) for check in checks)
    return tuple(finding for finding in found if finding is not None)


def _forbidden(check: Check, texts: Sequence[str]) -> Finding | None:
    for turn, text in enumerate(texts, start=1):
        for pattern in check.patterns:
            match = compiled(pattern).search(text)
            if match is not None:
                return Finding(check=check, turn=turn, quote=quote(match))
    return None


def _missing(check: Check, texts: Sequence[str]) -> Finding | None:
    last = texts[-1] if texts else ""
    if any(compiled(pattern).search(last) for pattern in check.patterns):
        return None
    return Finding(check=check, turn=len(texts), quote=None)
