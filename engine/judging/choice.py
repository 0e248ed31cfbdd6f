"""Which lettered option an answer chose, and whether it is the right one.

A letter is read only where the answer says that it chooses it: alone, marked, or in a phrase such as "the answer is B".
A letter that is merely discussed is none; two different ones, or none at all, go to a person. Where several options are
right the answer must choose them all and no other, and letters that are only marked, as in a walk through all of the
options, go to a person.
"""

from __future__ import annotations

import re
from enum import StrEnum

from engine import rules
from engine.domain.base import Model
from engine.domain.cases import Choice, Instance
from engine.domain.runs import Output
from engine.domain.verdicts import JudgeKind, Judgement, Verdict
from engine.judging import written


class Way(StrEnum):
    """How the choice was read."""

    BARE = "bare"
    """The answer is the letter, or the letter with its option."""
    LIST = "list"
    """Several letters and nothing else: all of the answer, its last line, or what it put between answer marks."""
    PHRASE = "phrase"
    MARK = "mark"
    """A line of its own, bold, or in brackets."""
    TEXT = "text"
    """The words of the option, without a letter."""


class Reading(Model):
    """The letters an answer chose, in the order of the options; `way` is None where there are none."""

    letters: tuple[str, ...]
    way: Way | None


def judge(instance: Instance, output: Output) -> Judgement | None:
    """The judgement on the last answer; None where the question has no options.

    None too for an answer cut at a limit or by a filter: it is not whole, and the refusal judge says so.
    """
    if instance.choice is None or written.is_truncated(output) or written.is_filtered(output):
        return None
    reading, right = read(output.text, instance.choice), instance.choice.letter
    several = len(instance.choice.answers) > 1
    named = ", ".join(reading.letters)
    if not reading.letters:
        verdict, en, zh = Verdict.NEEDS_HUMAN_REVIEW, "no chosen option can be read", "读不出所选的选项"
    elif len(reading.letters) > 1 and not several:
        verdict = Verdict.NEEDS_HUMAN_REVIEW
        en, zh = f"the answer chose more than one option ({named})", f"回答选了不止一个选项（{named}）"
    elif several and reading.way not in _SAYS_ALL:
        verdict = Verdict.NEEDS_HUMAN_REVIEW
        en, zh = (
            f"the answer marks {named}, but does not say that these are all",
            f"回答标出了 {named}，但没有说就选这些",
        )
    elif named == right:
        verdict, en, zh = Verdict.PASS, f"the answer chose {named}, which is right", f"回答选了 {named}，正确"
    else:
        verdict = Verdict.FAIL
        en, zh = f"the answer chose {named}; {right} is right", f"回答选了 {named}，正确的是 {right}"
    return Judgement(
        judge=JudgeKind.CHOICE,
        verdict=verdict,
        reason=en,
        detail={
            "reason_zh": zh,
            "rule_ids": [f"choice.{reading.way.value}" if reading.way else "choice.none"],
            "chosen": list(reading.letters),
            "right": right,
        },
    )


_SAYS_ALL = frozenset({Way.BARE, Way.LIST, Way.PHRASE})
"""Ways of reading that give the whole choice; letters that are merely marked may be some of it, or more than it."""

_LONGEST, _START, _END = 24_000, 12_000, 12_000
"""Of a longer answer the start and the end are read: megabytes would hold up every other item of the run."""

_EMPHASIS = re.compile(r"\*\*|__|[*`]|\\(?:boxed|text|mathrm)\s*|[{}$]")
_CALLED = r"(?:the\s+)?(?:final\s+|correct\s+)?answers?|options?|choices?|最终答案|正确答案|正确选项|答案|选项|选择|选"
_BEFORE = rf"(?:{_CALLED})?\s*(?:is|are|是|为)?\s*[:=]?\s*"
_OPEN, _CLOSE = r"[(\[<\"'“‘「【《]{0,3}", r"[)\]>\"'”’」】》]{0,3}"
_END_OF_LETTER = r"(?![A-Za-z0-9'’-])"
_WHOLE = re.compile(
    rf"^\W{{0,9}}{_BEFORE}{_OPEN}([A-Za-z]){_CLOSE}{_END_OF_LETTER}(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)

_AND = r"(?:\s*(?:(?:,\s*)?\band\b|[,、;/&+和与及])\s*|\s*)"
# What stands between two letters is taken in one way only; with two ways, a row of letters would be tried in millions.
_SEVERAL = re.compile(
    rf"^\W{{0,9}}(?i:{_BEFORE})(?P<letters>{_OPEN}[A-Z](?:(?>{_CLOSE}{_AND}{_OPEN})[A-Z]){{1,25}})\W{{0,9}}$"
)
_MARKED = re.compile(r"<ans(?:wer)?>(.{0,200}?)(?:<eoa>|</ans(?:wer)?>|$)", re.IGNORECASE | re.DOTALL)
_EITHER = re.compile(rf"(?<![A-Za-z0-9])[A-Z]{_CLOSE}\s*(?:or|或者?)\s*(?:option\s*)?{_OPEN}[A-Z]{_END_OF_LETTER}")

_LETTER = rf"{_OPEN}([A-Z]){_CLOSE}{_END_OF_LETTER}"
_MORE = re.compile(
    rf"\s*(?:and|or|和|或者?|与|及|[、/&]|,(?=\s*\W?[A-Z]\W?(?:[.。,、)]|$)))\s*(?:(?:option|选项)\s*)?{_LETTER}",
    re.IGNORECASE,
)
_IS = r"(?:\s*(?:应该?|会|就|最有可能|most\s+likely|probably|clearly|definitely|should|would))*"
_SURELY = r"\s*(?:(?:most\s+likely|probably|clearly|definitely|obviously|certainly)\s+)?"
_NAME = _SURELY + r"(?:the\s+)?(?:option|choice|letter|选项|第)?\s*"
_PHRASES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:答案|正确选项|正确的选项|正确的){_IS}\s*(?:是|为|选择?|[:=])\s*[:=]?{_NAME}{_LETTER}",
        rf"(?:选择|选择了|我选|应选|该选|就选|选){_NAME}(?:是|为|[:=])?\s*{_LETTER}",
        rf"\b(?:answers?|choices?|(?:correct|right|best)\s+options?){_IS}\s*(?:is|are|be|[:=])\s*[:=]?{_NAME}{_LETTER}",
        rf"\b(?:choose|chose|choosing|select|selected|pick|picked|go\s+with|going\s+with){_NAME}[:=]?\s*{_LETTER}",
        rf"(?<![A-Za-z0-9]){_LETTER}\s*(?:选项|项)?\s*(?:就?是|为)?\s*(?:最)?(?:正确|对的|合适|恰当|符合)",
        rf"(?<![A-Za-z0-9]){_LETTER}\s+is\s+(?:the\s+)?(?:most\s+)?(?:correct|right|best|appropriate|answer)",
    )
)
_ARTICLE = re.compile(r"\s+[a-z]")
_DENIAL = re.compile(
    r"不|别(?=选|去|再)|勿|没|非(?!常)|排除|\bnot\b|n't\b|\bnever\b|\bcannot\b|\brule|\belimin|\bexclud|\binstead of\b",
    re.IGNORECASE,
)
_DENIED_WITHIN = 14
_LISTED = re.compile(r"^\W{0,3}([A-Z])[)\]]?\s*[.。、,:)]")
_REJECTION = re.compile(r"\s*(?:不|错|误|wrong|incorrect|false|not\b|isn't)", re.IGNORECASE)
_BRACKETED = re.compile(r"[(\[]([A-Z])[)\]]")
_BOLD = re.compile(r"(?:\*\*|__)\W{0,3}([A-Z])(?![A-Za-z0-9'’])(?P<rest>[^*\n]{0,400}?)(?:\*\*|__)")
_BLANK_LINES, _SPACES = re.compile(r"\s*\n\s*"), re.compile(r"[^\S\n]+")
_PUNCTUATION = " \t\r\n.。,;:!?、~\"'“”‘’()[]「」-"


def read(text: str, choice: Choice) -> Reading:
    """The option or options that the answer says it chooses."""
    whole = rules.compatible(text if len(text) <= _LONGEST else text[:_START] + "\n" + text[-_END:]).strip()
    whole = _SPACES.sub(" ", _BLANK_LINES.sub("\n", whole))  # the patterns below take each run of spaces as one
    whole = marks[-1].strip() if (marks := _MARKED.findall(whole)) else whole
    plain = _EMPHASIS.sub("", whole).strip()
    options = [_bare(option) for option in choice.options]
    if len(choice.answers) > 1 and _EITHER.search(plain):
        return Reading(letters=(), way=None)
    for way, found in (
        (Way.BARE, _whole(plain, options)),
        (Way.LIST, _listed(plain, len(options))),
        (Way.PHRASE, _phrases(plain, len(options))),
        (Way.MARK, _marks(whole, options)),
        (Way.TEXT, _texts(plain, options)),
    ):
        if found:
            return Reading(letters=tuple(_letter(number) for number in sorted(found)), way=way)
    return Reading(letters=(), way=None)


def _letter(number: int) -> str:
    return chr(ord("A") + number)


def _number(letter: str) -> int:
    return ord(letter.upper()) - ord("A")


def _bare(text: str) -> str:
    return rules.fold(text).strip(_PUNCTUATION)


def _whole(text: str, options: list[str]) -> set[int]:
    """The letter that is all of the answer, or all beside the words of an option; both where they disagree."""
    match = _WHOLE.match(text)
    if match is None or _number(match[1]) >= len(options):
        return set()
    rest, chosen = _bare(match["rest"]), _number(match[1])
    if not rest or rest == options[chosen]:
        return {chosen}
    return {chosen, options.index(rest)} if rest in options else set()


def _listed(text: str, count: int) -> set[int]:
    """Several letters that are all of the text, or all of its last line."""
    match = _SEVERAL.match(text) or _SEVERAL.match(text.rpartition("\n")[2])
    letters = re.sub(r"(?i:\band\b)", "", match["letters"]) if match is not None else ""
    found = [_number(letter) for letter in re.findall("[A-Z]", letters)]
    return set(found) if all(number < count for number in found) and len(set(found)) == len(found) else set()


def _phrases(text: str, count: int) -> set[int]:
    found: set[int] = set()
    for pattern in _PHRASES:
        for match in pattern.finditer(text):
            if _is_denied(text, match.start()) or (match[1] in "aA" and _is_article(text, match)):
                continue
            found.add(_number(match[1]))
            end = match.end()
            while (more := _MORE.match(text, end)) is not None and not (more[1] in "aA" and _is_article(text, more)):
                found.add(_number(more[1]))
                end = more.end()
    return {number for number in found if number < count}


def _is_article(text: str, match: re.Match[str]) -> bool:
    """`a` before a word, as in "the answer is a clear no"; a capital one only when it stands without brackets."""
    bare = match.end(1) == match.end() or match[1] == "a"
    return bare and _ARTICLE.match(text, match.end(1)) is not None


def _is_denied(text: str, start: int) -> bool:
    before = re.split(r"[,.;:!?。、\n]", text[max(0, start - _DENIED_WITHIN) : start])[-1]
    return _DENIAL.search(before) is not None


def _marks(text: str, options: list[str]) -> set[int]:
    """Letters on a line of their own, before their option or an explanation, in bold, or in brackets."""
    found: set[int] = set()
    for line in text.splitlines():
        plain = _EMPHASIS.sub("", line).strip()
        found |= _whole(plain, options)
        start = _LISTED.match(plain)
        if start is not None and _number(start[1]) < len(options) and not _rejects(plain[start.end() :], options):
            found.add(_number(start[1]))
    for pattern in (_BRACKETED, _BOLD):
        found |= {
            number
            for match in pattern.finditer(text)
            if (number := _number(match[1])) < len(options) and not _is_denied(text, match.start())
        }
    return found


def _rejects(explanation: str, options: list[str]) -> bool:
    """Whether what follows a letter says that it is wrong, and is not the option itself."""
    return _REJECTION.match(explanation) is not None and _bare(explanation) not in options


def _texts(text: str, options: list[str]) -> set[int]:
    """Options that the answer repeats: all of it is one, or long words of one occur in it and are not denied."""
    answer = _bare(text)
    equal = {number for number, option in enumerate(options) if option and option == answer}
    if equal:
        return equal
    folded = rules.fold(text)
    return {
        number
        for number, option in enumerate(options)
        if _is_telling(option)
        and not any(option in other for other in options if other != option)
        and (at := folded.find(option)) >= 0
        and not _is_denied(folded, at)
    }


def _is_telling(option: str) -> bool:
    """Whether the words are long enough not to occur by chance."""
    return len(option) >= 4 if not option.isascii() else len(option) >= 8
