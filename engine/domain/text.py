"""Text from outside, made visible without changing what it says."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0e]")
"""Characters of visible categories that draw nothing all the same; the emoji selector U+FE0F is not among them."""


def visible(text: str) -> str:
    r"""The text with every character that draws nothing, or moves its neighbours, as an escape such as `\u202e`.

    Line feeds and tabs stay. A carriage return is shown too: two texts that differ must look different. What is
    stored stays as it came.
    """
    return "\n".join(map(_visible_line, text.split("\n")))


def _visible_line(line: str) -> str:
    if line.isprintable() and not _FILLERS.search(line):
        return line  # nearly every line; looking at each character would cost a large report seconds
    return "".join(
        character if character == "\t" or not _hides(character) else _escape(character) for character in line
    )


def _hides(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or _FILLERS.match(character) is not None


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
