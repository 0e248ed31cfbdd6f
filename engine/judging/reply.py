"""The one reader of judge replies. What it cannot read with certainty is a JudgeError, never a guess.

A readable reply holds, after its reasoning blocks are taken off, exactly one JSON object with a top-level `verdict`:
bare, in a code fence or with prose around it that does not state another verdict. `verdict` is one of VERDICT_WORDS,
compared without regard to case, width, spaces at its ends and invisible marks; nothing else is folded, so look-alike
letters stay strange. It may have `reason` (text), `confidence` (a number from 0 to 1) and `quote` (text or null). Other
keys are ignored and named, except that a `score` or a second verdict (`final_verdict`, `passed`, `结论`) which
contradicts the verdict makes a conflict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NoReturn

from engine import rules
from engine.domain.base import Model
from engine.errors import JudgeError

MAX_CHARACTERS = 1_000_000
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
    "passes": JudgeWord.PASS,
    "通過": JudgeWord.PASS,
    "fail": JudgeWord.FAIL,
    "failed": JudgeWord.FAIL,
    "fails": JudgeWord.FAIL,
    "不通過": JudgeWord.FAIL,
    "未通過": JudgeWord.FAIL,
    "不通过": JudgeWord.FAIL,
    "未通过": JudgeWord.FAIL,
    "不合格": JudgeWord.FAIL,
    "unsure": JudgeWord.UNSURE,
    "uncertain": JudgeWord.UNSURE,
    "不确定": JudgeWord.UNSURE,
    "无法确定": JudgeWord.UNSURE,
    "无法判断": JudgeWord.UNSURE,
    "不確定": JudgeWord.UNSURE,
    "無法確定": JudgeWord.UNSURE,
    "無法判斷": JudgeWord.UNSURE,
}


class Reply(Model):
    """A judge's reply, read."""

    verdict: JudgeWord
    reason: str
    confidence: float | None
    quote: str | None
    conflict: bool
    """The reply carries a score, or beside its verdict a second one, that says the opposite."""
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
    value, around = _only_object(text)
    read = _checked(value)
    if any(said is not read.verdict for said in _stated(around)):
        _refuse("the text around the object states another verdict")
    return read


def storable(text: str) -> str:
    """Text without the code points that databases refuse: NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)


def _refuse(why: str) -> NoReturn:
    raise JudgeError(f"the judge's reply cannot be read: {why}")


def _only_object(text: str) -> tuple[dict[str, Any], str]:
    """The single JSON object with a verdict outside reasoning blocks, and the prose around it.

    Text is read from left to right, so that a tag or a brace inside a JSON string is never taken for structure, and
    an object inside a broken one is never taken for the reply.
    """
    found: dict[str, Any] | None = None
    other = False
    prose: list[str] = []
    position = 0
    while (landmark := _LANDMARK.search(text, position)) is not None:
        prose.append(text[position : landmark.start()])
        if landmark["open"]:
            end = _CLOSE.search(text, landmark.end())
            if end is None and found is not None:
                _refuse("its reasoning goes on after the object and does not end")
            position = end.end() if end is not None else len(text)
        elif landmark["close"]:
            # Some endpoints swallow the opening tag. What came before is then reasoning; a verdict in it
            # could be a draft or the reply, and nobody can tell.
            if found is not None:
                _refuse("a JSON object stands before the end of the reasoning")
            prose.clear()
            position = landmark.end()
        else:
            start = landmark.start()
            if (braces := _PROSE_BRACES.match(text, start)) is not None:
                position = _skip_prose(braces)
                prose.append(braces[0])
                continue
            value, position = _decode(text, start)
            if value is None:
                _refuse("it holds braces that are not a JSON object")
            if not _names_a_verdict(text[start:position]):
                other = True  # an object of something else, which says nothing about the answer
                continue
            if found is not None:
                _refuse("it holds more than one JSON object with a verdict")
            if text[:start].rstrip().endswith("[") and text[position:].lstrip()[:1] in ("]", ","):
                _refuse("the object stands in a list")
            found = value
    if found is None:
        if other:
            _refuse("its JSON object has no verdict")
        _refuse("it holds no JSON object" if text.strip() else "it is empty")
    return found, "".join([*prose, text[position:]])


def _names_a_verdict(text: str) -> bool:
    """Whether a verdict is spoken of anywhere in it, under whatever spelling of the key."""
    return "verdict" in rules.fold(text) or "\\u" in text


def _skip_prose(braces: re.Match[str]) -> int:
    """Braces without a quotation mark hold no JSON key: prose, unless they are meant for a verdict."""
    if "verdict" in rules.fold(braces[0]):
        _refuse("its verdict does not stand in a JSON object")
    return braces.end()


class _DuplicateKeyError(ValueError):
    pass


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({rules.fold(key) for key, _ in pairs}) != len(pairs):
        raise _DuplicateKeyError
    return {_INVISIBLE.sub("", key).strip().lower(): item for key, item in pairs}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_no_constant)


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
    if reason is not None and not isinstance(reason, str):
        _refuse("the reason is not text")
    quote = value.get("quote")
    if quote is not None and not isinstance(quote, str):
        _refuse("the quote is neither text nor null")
    return Reply(
        verdict=verdict,
        reason=storable((reason or "").strip()),
        confidence=_share(value["confidence"], "confidence") if "confidence" in value else None,
        quote=storable(quote.strip()) or None if quote is not None else None,
        conflict=("score" in value and _contradicts(verdict, _share(value["score"], "score")))
        or any(said is not verdict for said in _second_verdicts(value)),
        ignored=tuple(storable(key)[:60] for key in value if key not in _KEYS)[:20],
    )


_KEYS = frozenset({"verdict", "reason", "confidence", "quote", "score"})


_WIDE: dict[int, int | str] = {0xFEE0 + code: code for code in range(0x21, 0x7F)} | {0x3000: " ", 0xA0: " "}
_HAN = re.compile("[\u4e00-\u9fff]")


def _known(word: str) -> JudgeWord | None:
    plain = _INVISIBLE.sub("", word).translate(_WIDE).strip().lower()
    return VERDICT_WORDS.get("".join(plain.split()) if _HAN.search(plain) else plain)


def _verdict(word: object) -> JudgeWord:
    if not isinstance(word, str):
        _refuse("the verdict is missing or not a word")
    known = _known(word)
    if known is None:
        _refuse("the verdict is not one of the declared words")
    return known


def _share(value: object, name: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        _refuse(f"the {name} is not a number from 0 to 1")
    return float(value)


def _contradicts(verdict: JudgeWord, score: float) -> bool:
    """Whether a score, 0 bad to 1 good, says the opposite of the verdict."""
    return (verdict is JudgeWord.PASS and score < 0.5) or (verdict is JudgeWord.FAIL and score > 0.5)


_SECOND = re.compile(
    r"verdict|conclusion|decision|outcome|judge?ment|\A(?:result|label|rating|grade|status)\Z"
    "|结论|結論|判定|评判|評判|裁决|裁決|结果|結果"
)
_YES_OR_NO = {"pass": True, "passed": True, "passes": True, "fail": False, "failed": False, "fails": False}


def _second_verdicts(value: dict[str, Any]) -> Iterator[JudgeWord]:
    """What other keys of the object say outright: under a name that means a verdict, or as `passed` and the like."""
    for key, said in value.items():
        if key in _KEYS:
            continue
        if isinstance(said, bool) and key in _YES_OR_NO:
            yield JudgeWord.PASS if said is _YES_OR_NO[key] else JudgeWord.FAIL
        elif isinstance(said, str) and _SECOND.search(key) and (known := _known(said)) is not None:
            yield known


_WORD = "|".join(sorted(VERDICT_WORDS, key=len, reverse=True))
_GAP, _MARKS = r"[^\S\n]+", r"[^\S\n]|[*_`\"'“”「」>#()\[\]-]"
_IN_PROSE = tuple(
    re.compile(pattern.replace(" ", _GAP), re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # A label and the word: "Verdict: FAIL", "结论是不通过".
        r"(?:verdict|decision|conclusion|judge?ment|rating|ruling|correction|answer|result)(?: (?:is|becomes|should be)"
        rf"(?: an?)?)?(?:{_MARKS}|[:=])*\b(?P<word>{_WORD})\b(?! to\b)",
        r"(?:结论|結論|判定|评判|評判|判断|判斷|结果|結果|裁决|裁決|更正|改判|应判|應判|判)(?:应?当?[为為是]|[成])?"
        rf"(?:{_MARKS}|[:：=])*(?P<word>{_WORD})",
        # The word alone on a line.
        rf"^(?:{_MARKS})*(?P<word>{_WORD})(?:{_MARKS}|[.。!！])*$",
        # What is said of the answer: "the answer fails", "this is a pass", "I would fail this one".
        r"(?<!\bif\s)(?<!\bwhen\s)(?<!\bwhether\s)\b(?:answer|response|reply|it|this|that) (?:\w+ly )?"
        r"(?P<word>passe[sd]|fail(?:s|ed))\b(?! (?:to|along|on|over|by|for|through)\b)",
        r"\b(?:answer|response|reply|it|this|that) (?:should|must|would|is an?) (?P<word>pass|fail)\b(?! to\b)",
        r"\b(?:i|we)(?:'d|'ll| would| will| must| have to| should)? (?P<word>pass|fail) "
        r"(?:it|this|the (?:answer|response))\b",
        rf"(?:回答|答复|该答|此答|本答)(?:应当?|應當?|判为|判為|属于|屬於|是|为|為)*(?P<word>{_WORD})",
        # The word negated.
        r"\b(?:does|do|should|can|could|would|will|must|is|has)(?:n't| not) (?:be )?(?:an? )?"
        r"(?P<not>pass(?:ed)?|fail(?:ed)?)\b(?! to\b)",
    )
)

_PROSE_READ = 20_000
"""Of long prose around the object so much is looked at, at its start and at its end."""


def _stated(prose: str) -> Iterator[JudgeWord]:
    """The verdicts that text around the object states outright; words like pass in other sentences are none."""
    if len(prose) > 2 * _PROSE_READ:
        prose = prose[:_PROSE_READ] + "\n" + prose[-_PROSE_READ:]
    plain = _INVISIBLE.sub("", prose).translate(_WIDE)
    for pattern in _IN_PROSE:
        for match in pattern.finditer(plain):
            if "not" in pattern.groupindex:
                yield JudgeWord.FAIL if match["not"].lower().startswith("pass") else JudgeWord.PASS
            elif (known := _known(match["word"])) is not None:
                yield known
    yield from _in_clauses(plain)


_LISTED = re.compile(
    r"\bpass\b\W+(?:(?:or|and)\W+)?fail\b(?:\W+(?:(?:or|and)\W+)?(?:unsure|uncertain)\b)?", re.IGNORECASE
)
"""The choice a judge has, not what it chose."""
_CLAUSE = re.compile(r"[^.,;:!?|\n—–→=<>。、()\[\]{}「」【】，；：！？]+")
_NOT_LETTERS = re.compile(r"[\W_]+")
_ENDS = re.compile(
    r"(?:\b(?:a|an|is|be|as|to|s)(?: (?:clear|clearly|definite|definitely|certain|plain))?(?: an?)? (pass|fail)"
    r"|(不通过|不通過|未通过|未通過|不合格|通过|通過|合格))\Z"
)
_DENIES = re.compile(
    r"\b(?:not|never|no|cannot|t)\b|没有?\Z|沒有?\Z|未能\Z|不能\Z|不予\Z|难以\Z|無法\Z|无法\Z|不应\Z|不该\Z|不可\Z"
)
_SUPPOSES = re.compile(r"\b(?:if|whether|unless|when)\b|\Ato |则|是否|能否|可否|如果|假如|若|除非|才|标准|標準")


def _in_clauses(plain: str) -> Iterator[JudgeWord]:
    """Clauses that are the bare word, or end in it as a judge's finding does: "So: fail", "this one is a fail"."""
    for clause in _CLAUSE.finditer(_LISTED.sub(" ", plain)):
        said = _NOT_LETTERS.sub(" ", clause[0]).strip().lower()
        if (known := VERDICT_WORDS.get(said)) is not None:
            yield known
        elif (end := _ENDS.search(said)) is not None and _SUPPOSES.search(said) is None:
            known = VERDICT_WORDS[end[1] or end[2]]
            if _DENIES.search(said, 0, end.start()) is not None:
                known = JudgeWord.FAIL if known is JudgeWord.PASS else JudgeWord.PASS
            yield known
