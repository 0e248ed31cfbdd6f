"""The guide for newcomers, read from the documentation that comes with the source, in the reader's language."""

from __future__ import annotations

import posixpath
import re

from dashboard import session
from dashboard.i18n import language

FOLDERS = {"en": "docs/tutorial", "zh": "docs/tutorial/zh"}
"""Where the documents of each language lie in the repository."""
ROOT = session.PAGES.parent
FILE = "getting-started.md"
WIDTH = 820
"""Pixels; longer lines are hard to read."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+://)([^)\s]+)\)")


def text() -> str | None:
    """The guide without its heading, None where the documentation was not installed.

    A link to another file of the repository leads nowhere in a browser, so it becomes that file's name.
    """
    folder = FOLDERS[language()]
    try:
        whole = (ROOT / folder / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None

    def named(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        return "" if picture else f"{words} (`{posixpath.normpath(posixpath.join(folder, target))}`)"

    return _LINK.sub(named, re.sub(r"\A# .*\n", "", whole))
