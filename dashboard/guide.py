"""The guide for newcomers, read from the documentation that comes with the source."""

from __future__ import annotations

import posixpath
import re

from dashboard import session

FOLDER = "docs/tutorial"
FILE = session.PAGES.parent / FOLDER / "getting-started.md"
LANGUAGE = "en"
WIDTH = 820
"""Pixels; longer lines are hard to read."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+://)([^)\s]+)\)")


def text() -> str | None:
    """The guide without its heading, None where the documentation was not installed.

    A link to another file of the repository leads nowhere in a browser, so it becomes that file's name.
    """
    try:
        whole = FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return _LINK.sub(_named, re.sub(r"\A# .*\n", "", whole))


def _named(link: re.Match[str]) -> str:
    picture, words, target = link.groups()
    return "" if picture else f"{words} (`{posixpath.normpath(posixpath.join(FOLDER, target))}`)"
