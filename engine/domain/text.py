"""Text from outside, made visible without changing what it says."""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but tab and line feed
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"  # zero width, bidi, BOM
    "\U000e0000-\U000e0fff"  # tags and variation selectors
    "\ud800-\udfff"  # lone surrogates
    "]"
)


def visible(text: str) -> str:
    r"""The same text with control, bidi and zero-width characters as escapes such as `\u202e`.

    Line ends become `\n`; what is stored stays as it came.
    """
    return _UNSEEN.sub(_escape, text.replace("\r\n", "\n").replace("\r", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
