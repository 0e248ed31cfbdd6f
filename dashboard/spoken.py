"""What the engine says, in the reader's language.

The engine's sentences are English. In English they are shown as they are; in Chinese they are looked up by their
pattern, and what fills the gaps is looked up in turn. What nobody translated, such as a provider's own words, stays.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dashboard import i18n, words
from dashboard.locale import sentences

LONGEST = 4000
"""Characters of a text that is looked at; a longer one is no sentence of ours."""

DEPTH = 6
"""How often a part of a text is taken apart in turn."""

_ENDS = (".", "!", "?", "。", "！", "？", "：", ":", "…")
_TRIES = 2
"""A text is taken apart at the first few places only; whoever fills it with such places gains nothing."""
_LETTER = re.compile(r"[A-Za-z]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAME = re.compile(r"[a-z]+ (?:of (?:mode )?)?")
"""How a pattern begins that names a thing only, such as `line {1}` or `cases of {1}`."""
_JOINT = re.compile("[:;.] ")


class _Pattern(NamedTuple):
    pieces: tuple[str, ...]
    """What stands before, between and after the gaps."""
    gaps: tuple[int, ...]
    """Their numbers; of two gaps side by side the first takes all."""
    chinese: str
    telling: str
    """The longest piece: a text without it need not be looked at further."""

    def match(self, text: str) -> dict[int, str] | None:
        """What fills the gaps, each as short as it can be; a name in quotes is kept whole."""
        first, *between = self.pieces
        if not text.startswith(first):
            return None
        if not between:
            return {} if text == first else None
        *between, last = between
        at, found = len(first), []
        for piece in between:
            quoted = _QUOTED.match(text, at)
            end = text.find(piece, quoted.end() if quoted else at)
            if end < 0:
                return None
            found.append(text[at:end])
            at = end + len(piece)
        end = len(text) - len(last)
        if end < at or not text.endswith(last):
            return None
        return dict(zip(self.gaps, (*found, text[at:end]), strict=True))


def said(text: str) -> str:
    """A message of the engine as the reader should see it; the engine's own English where there is no Chinese."""
    if i18n.language() != "zh" or len(text) > LONGEST:
        return text
    return _chinese(text) or text


def sentence(text: str) -> str:
    """The same as a whole sentence, with a capital letter where there is one, and a full stop."""
    whole = said(text)
    if whole == text and not _is_ours(text):
        return text
    stop = "。" if i18n.language() == "zh" else "."
    return whole[:1].upper() + whole[1:] + ("" if whole.endswith(_ENDS) else stop)


def _is_ours(text: str) -> bool:
    return len(text) <= LONGEST and any(pattern.match(text) is not None for pattern in _patterns())


@functools.cache
def _patterns() -> tuple[_Pattern, ...]:
    """All of them, the most telling first."""
    found = [_pattern(str(message.id), str(message.string)) for message in sentences.read() if message.id]
    return tuple(sorted(found, key=lambda each: -sum(map(len, each.pieces))))


def _pattern(english: str, chinese: str) -> _Pattern:
    pieces, gaps, open_gap = [""], [], False
    for literal, gap, _spec, _conversion in string.Formatter().parse(english):
        if literal:
            pieces[-1] += literal
            open_gap = False
        if gap is not None and not open_gap:
            gaps.append(int(gap))
            pieces.append("")
            open_gap = True
    return _Pattern(tuple(pieces), tuple(gaps), chinese, max(pieces, key=len))


@functools.lru_cache(maxsize=4096)
def _chinese(text: str, depth: int = DEPTH) -> str | None:
    """The Chinese of a text, None where no part of it is known. Only for sessions in Chinese: it is kept for all."""
    if depth == 0 or _LETTER.search(text) is None:
        return None
    return _best((*_of_patterns(text, depth), _of_lines(text, depth), *_of_parts(text, depth)))


def _best(found: Iterable[str | None]) -> str | None:
    """Of several readings the one that leaves least in English; of those, the one that touches no foreign joints."""

    def rank(text: str) -> tuple[int, int]:
        return len(_LETTER.findall(text)), sum(map(text.count, "：；。"))

    return min(filter(None, found), key=rank, default=None)


def _of_patterns(text: str, depth: int) -> Iterator[str]:
    for pattern in _patterns():
        values = pattern.match(text) if pattern.telling in text else None
        if values is None:
            continue
        is_name = _NAME.fullmatch(pattern.pieces[0]) is not None and pattern.pieces[1:] == ("",)
        if is_name and any(_JOINT.search(value) and not _QUOTED.fullmatch(value) for value in values.values()):
            continue
        chinese = {gap: _chinese(value, depth - 1) or _names(value) for gap, value in values.items()}
        if is_name and not all(
            chinese[gap] or _QUOTED.fullmatch(value) or " " not in value for gap, value in values.items()
        ):
            continue
        filled = [chinese.get(gap) or values.get(gap, "") for gap in range(1, max(values, default=0) + 2)]
        yield pattern.chinese.format("", *filled)


def _names(text: str) -> str | None:
    """What a model can do, as the rest of the page calls it."""
    names = text.split(", ")
    return ", ".join(map(words.capability, names)) if set(names) <= set(words.CAPABILITIES) else None


def _of_lines(text: str, depth: int) -> str | None:
    if "\n" not in text:
        return None
    lines = [(line[:2], line[2:]) if line.startswith("- ") else ("", line) for line in text.split("\n")]
    found = [_chinese(line, depth - 1) for _dash, line in lines]
    if not any(found):
        return None
    return "\n".join(dash + (chinese or line) for (dash, line), chinese in zip(lines, found, strict=True))


def _of_parts(text: str, depth: int) -> Iterator[str]:
    """How the engine joins what it says: `place: what is wrong; what to do`, `what. What to do.`, `part of whole`."""
    for joint, chinese_joint in ((". ", "。"), ("; ", "；"), (": ", "：")):
        places = [found.start() for found in re.finditer(re.escape(joint), text)]
        tries = (*places[-1:], *places[:_TRIES]) if joint == ". " else (*places[:_TRIES], *places[-1:])
        for at in dict.fromkeys(tries):
            left, right = text[:at], text[at + len(joint) :]
            before = _place(left, depth) if joint == ": " else _chinese(left, depth - 1)
            after = _chinese(right, depth - 1)
            if before is not None or after is not None:
                yield f"{before or left}{chinese_joint}{after or right}"
    part, of, whole = text.partition(" of ")
    if of and _JOINT.search(whole) is None and (first := _best(_of_patterns(part, depth - 1))):
        owner = _best(_of_patterns(whole, depth - 1))
        if owner or " " not in whole:
            yield f"{owner or whole} 的{first}"


def _place(text: str, depth: int) -> str | None:
    """Where something is wrong, such as `bank.csv, line 3, column 'clause'`."""
    parts = text.split(", ")
    found = [_best(_of_patterns(part, depth - 1)) for part in parts]
    if any(found):
        return "，".join(chinese or part for part, chinese in zip(parts, found, strict=True))
    return _best(_of_patterns(text, depth - 1))
