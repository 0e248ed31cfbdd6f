"""The one reader of judge replies. What it cannot read with certainty is a JudgeError, never a guess.

A readable reply holds, after its reasoning blocks are taken off, exactly one JSON object: bare, in a code fence or
with prose around it. Its top level has `verdict` (one of VERDICT_WORDS), `reason` (text) and may have `confidence`
(0 to 1) and `quote` (text or null). Keys and verdict words are compared folded. Other keys are ignored and named,
except `score`: one that contradicts the verdict makes a conflict.
"""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from typing import Any, NoReturn

from engine import rules
from engine.domain.base import Model
from engine.errors import JudgeError

MAX_CHARACTERS = 200_000
"""A longer reply is not read; a judge that was asked for one small object and writes a book is lost."""


class JudgeWord(StrEnum):
    """What a judge may conclude."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNSURE = "unsure"


# "safe" and "unsafe" are left out on purpose: said of a needless refusal they could mean either verdict.
VERDICT_WORDS: dict[str, JudgeWord] = {
    "pass": JudgeWord.PASS,
    "passed": JudgeWord.PASS,
    "通过": JudgeWord.PASS,
    "合格": JudgeWord.PASS,
    "fail": JudgeWord.FAIL,
    "failed": JudgeWord.FAIL,
    "不通过": JudgeWord.FAIL,
    "未通过": JudgeWord.FAIL,
    "不合格": JudgeWord.FAIL,
    "unsure": JudgeWord.UNSURE,
    "uncertain": JudgeWord.UNSURE,
    "不确定": JudgeWord.UNSURE,
    "无法确定": JudgeWord.UNSURE,
    "无法判断": JudgeWord.UNSURE,
}


class Reply(Model):
    """A judge's reply, read."""

    verdict: JudgeWord
    reason: str
    confidence: float | None
    quote: str | None
    conflict: bool
    """The reply carries a score that says the opposite of its verdict."""
    ignored: tuple[str, ...]
    """Names of keys that mean nothing to us."""


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NAMES = r"(?:think|thinking|thought|reasoning|reflection|scratchpad)"
_LANDMARK = re.compile(rf"(?P<open><{_NAMES}>)|(?P<close></{_NAMES}>)|\{{", re.IGNORECASE)
_CLOSE = re.compile(rf"</{_NAMES}>", re.IGNORECASE)
_PROSE_BRACES = re.compile(r"\{[^{}\"'\n]{0,80}\}")


def read(text: str) -> Reply:
    """The reply in our words.

    Raises:
        JudgeError: nothing, or more than one thing, could be meant. The message never quotes the reply.
    """
    if len(text) > MAX_CHARACTERS:
        _refuse(f"it is longer than {MAX_CHARACTERS} characters")
    return _checked(_only_object(_INVISIBLE.sub("", text)))


def storable(text: str) -> str:
    """Text without the code points that databases refuse: NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)


def _refuse(why: str) -> NoReturn:
    raise JudgeError(f"the judge's reply cannot be read: {why}")


def _only_object(text: str) -> dict[str, Any]:
    """The single JSON object outside reasoning blocks.

    Text is read from left to right, so that a tag or a brace inside a JSON string is never taken for structure, and
    an object inside a broken one is never taken for the reply.
    """
    found: dict[str, Any] | None = None
    position = 0
    while (landmark := _LANDMARK.search(text, position)) is not None:
        if landmark["open"]:
            end = _CLOSE.search(text, landmark.end())
            position = end.end() if end is not None else len(text)
        elif landmark["close"]:
            # Some endpoints swallow the opening tag. What came before is then reasoning; a verdict in it
            # could be a draft or the reply, and nobody can tell.
            if found is not None:
                _refuse("a JSON object stands before the end of the reasoning")
            position = landmark.end()
        else:
            start = landmark.start()
            braces = _PROSE_BRACES.match(text, start)
            value, position = _decode(text, start)
            if value is None and braces is None:
                _refuse("it holds braces that are not a JSON object")
            if value is None:
                position = _skip_prose(braces)
                continue
            if found is not None:
                _refuse("it holds more than one JSON object")
            if text[:start].rstrip().endswith("[") and text[position:].lstrip()[:1] in ("]", ","):
                _refuse("the object stands in a list")
            found = value
    if found is None:
        _refuse("it holds no JSON object" if text.strip() else "it is empty")
    return found


def _skip_prose(braces: re.Match[str] | None) -> int:
    assert braces is not None
    if "verdict" in rules.fold(braces[0]):
        _refuse("its verdict does not stand in a JSON object")
    return braces.end()


class _DuplicateKeyError(ValueError):
    pass


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = {rules.fold(key): item for key, item in pairs}
    if len(value) != len(pairs):
        raise _DuplicateKeyError
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


# strict=False lets a string span lines, as models write it; it cannot be read in two ways.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_no_constant, strict=False)


def _decode(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The JSON object at `start` with folded keys, and where it ends; None when there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except _DuplicateKeyError:
        _refuse("the JSON object names a key twice")
    except (ValueError, RecursionError):
        return None, start


def _checked(value: dict[str, Any]) -> Reply:
    verdict = _verdict(value.get("verdict"))
    reason = value.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        _refuse("the reason is missing or not text")
    quote = value.get("quote")
    if quote is not None and not isinstance(quote, str):
        _refuse("the quote is neither text nor null")
    return Reply(
        verdict=verdict,
        reason=storable(reason.strip()),
        confidence=_share(value.get("confidence"), "confidence"),
        quote=storable(quote.strip()) or None if quote is not None else None,
        conflict=_contradicts(verdict, value.get("score")),
        ignored=tuple(storable(key)[:60] for key in value if key not in _KEYS)[:20],
    )


_KEYS = frozenset({"verdict", "reason", "confidence", "quote", "score"})


def _verdict(word: object) -> JudgeWord:
    if not isinstance(word, str):
        _refuse("the verdict is missing or not a word")
    known = VERDICT_WORDS.get(rules.fold(word))
    if known is None:
        _refuse("the verdict is not one of the declared words")
    return known


def _share(value: object, name: str) -> float | None:
    """A number from 0 to 1, or None where the reply gives none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        _refuse(f"the {name} is not a number from 0 to 1")
    return float(value)


def _contradicts(verdict: JudgeWord, score: object) -> bool:
    """Whether a score (0 bad to 1 good, a boolean, or a verdict word) says the opposite of the verdict."""
    if isinstance(score, str):
        said = VERDICT_WORDS.get(rules.fold(score))
        if said is None:
            _refuse("the score is neither a number from 0 to 1 nor a verdict word")
        return said is not verdict
    number = float(score) if isinstance(score, bool) else _share(score, "score")
    if number is None:
        return False
    return (verdict is JudgeWord.PASS and number < 0.5) or (verdict is JudgeWord.FAIL and number > 0.5)
