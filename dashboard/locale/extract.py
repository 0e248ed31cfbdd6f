"""Reads every string of the interface from the source and brings both catalogues up to date.

Run as `python -m dashboard.locale.extract` (`make messages`). New strings get their own text in English and stay empty
in Chinese until somebody translates them; strings no longer used are dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from dashboard.locale import sentences

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("dashboard", "pages")
KEYWORDS = {"_": None, "ngettext": (1, 2)}
CATALOGUES = ("zh_CN", "en")


def messages(
    source: BinaryIO, keywords: Collection[str], comment_tags: object, options: object
) -> Iterator[tuple[int, str, tuple[str, ...] | str, list[str]]]:
    """Babel's extraction over the syntax tree; its own reads tokens and misses calls inside an f-string."""
    for node in ast.walk(ast.parse(source.read())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in keywords:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if texts:
                yield node.lineno, node.func.id, tuple(texts) if len(texts) > 1 else texts[0], []


def path(locale: str) -> Path:
    """Where a catalogue lives."""
    return ROOT / "dashboard" / "locale" / locale / "LC_MESSAGES" / "messages.po"


def template() -> Catalog:
    """Every string the source asks for, with where."""
    found = Catalog(charset="utf-8")
    for folder in SOURCES:
        for name, line, message, comments, context in extract_from_dir(
            str(ROOT / folder), [("**.py", "dashboard.locale.extract:messages")], keywords=KEYWORDS
        ):
            found.add(message, None, [(f"{folder}/{name}", line)], auto_comments=comments, context=context)
    return found


def read(locale: str) -> Catalog:
    """The catalogue of a locale as its file says; files carry no header, so that they change only with their texts."""
    with path(locale).open("rb") as source:
        return read_po(source, locale=locale, charset="utf-8")


def updated(locale: str) -> Catalog:
    """The catalogue of a locale with exactly the strings the source asks for and the translations it has."""
    catalogue = read(locale)
    catalogue.update(template(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    if locale == "en":
        for message in catalogue:
            if message.id:
                message.string = message.id if isinstance(message.id, str) else tuple(message.id)
    return catalogue


def write(locale: str, catalogue: Catalog) -> None:
    """Put a catalogue into its file, in the order of its strings."""
    with path(locale).open("wb") as target:
        write_po(target, catalogue, width=120, sort_output=True, no_location=True, omit_header=True)


def main() -> None:
    """Bring both files up to date, and that of the engine's sentences."""
    for locale in CATALOGUES:
        write(locale, updated(locale))
    sentences.update()


if __name__ == "__main__":
    main()
