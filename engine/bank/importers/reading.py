"""From bytes of unknown encoding to text, JSON, YAML and cells, strictly and within limits.

What two readers could understand differently (a key given twice, NaN, half a surrogate pair, a row of another width)
is an error that names file and line, never a guess.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any, NamedTuple, NoReturn, TypeVar

import yaml

from engine.bank.importers.base import SourceFile
from engine.errors import BankError

MAX_BYTES = 64 * 1024 * 1024
"""Of one file."""

MAX_TOTAL_BYTES = 2 * MAX_BYTES
"""Of all files of one import, which are held in memory together."""

MAX_YAML_BYTES = 4 * 1024 * 1024
MAX_YAML_PARTS = 400_000
"""Of a YAML file, which takes many times as long to read as another: its bytes, and its texts, lists and mappings."""

MAX_ROWS = 250_000
"""Of one file: rows of a table, lines of JSONL, entries of a list."""

MAX_DEPTH = 32
"""Of lists and objects within one another."""

# The csv module's own limit of 128 KiB a cell is meant for other times: a long prompt is longer.
csv.field_size_limit(MAX_BYTES)

_SAMPLE = 64 * 1024
"""How much is looked at to tell an encoding."""

_Value = TypeVar("_Value")


class Row(NamedTuple):
    """The cells of a row by heading, and the line (CSV) or row (XLSX) it begins on, counted from 1."""

    line: int
    cells: dict[str, str]


class Table(NamedTuple):
    """A table with its headings in order, the line they stand on, and the comment lines before them."""

    headings: tuple[str, ...]
    line: int
    rows: Iterable[Row]
    comments: tuple[str, ...] = ()


class Entry(dict[str, Any]):
    """An object of a YAML or JSON file that knows the line it begins on."""

    line: int = 1


def refuse(file: SourceFile, words: str, *, line: int | None = None, column: int | str | None = None) -> NoReturn:
    """The error of every importer: file, line, column, what is wrong and what to do."""
    number = f"column {column}" if isinstance(column, int) else f"column {column!r}"
    place = [file.shown, *([f"line {line}"] if line else []), *([number] if column is not None else [])]
    raise BankError(f"{', '.join(place)}: {words}", fields=((", ".join(place), words),))


def text_of(file: SourceFile, *, most: int = MAX_BYTES) -> str:
    """The text, with LF for every kind of line end.

    UTF-8 with or without a byte order mark, UTF-16 with one, else GB18030 when that is what the bytes look like.

    Raises:
        BankError: too large, an encoding that cannot be told (naming those tried and the line), or a NUL.
    """
    check_size(file, most=most)
    text = _decoded(file).replace("\r\n", "\n").replace("\r", "\n")
    check_text(file, text)
    return text


def check_size(file: SourceFile, *, most: int = MAX_BYTES) -> None:
    """Raises BankError when the file is larger than we read, or empty."""
    if len(file.content) > most:
        size = len(file.content) / 1024 / 1024
        refuse(file, f"{size:.0f} MB are more than the {most // 1024 // 1024} MB such a file may have; split it")
    if not file.content.strip():
        refuse(file, "the file is empty; choose another")


def check_text(file: SourceFile, text: str, *, line: int | None = None, column: int | str | None = None) -> None:
    """Raises BankError at a NUL or half a surrogate pair; no database keeps them alike. `line`: of the whole text."""
    if (at := text.find("\0")) >= 0:
        refuse(file, "holds a NUL character; remove it", line=line or text.count("\n", 0, at) + 1, column=column)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        words = f"holds half of a surrogate pair (\\u{ord(text[error.start]):04x}); write the character itself"
        refuse(file, words, line=line or text.count("\n", 0, error.start) + 1, column=column)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, each with its LF; other characters that some call line ends do not end one."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield number, text[start:end]
        start, number = end, number + 1


def counted_lines_of(file: SourceFile) -> Iterator[tuple[int, str]]:
    """The lines of a file in which each may become a question. Too many are refused before the first is handed out."""
    text = text_of(file)
    if text.rstrip("\n").count("\n") >= MAX_ROWS:
        refuse(file, f"has more than {MAX_ROWS:,} lines; split it")
    return lines_of(text)


def rows_of(file: SourceFile, *, comment: str | None = None) -> Table:
    """A CSV file: cells separated by comma, semicolon or tab, whichever splits the headings furthest.

    Lines before the headings that begin with `comment` are set aside. A row must have as many cells as there are
    headings; rows without any content are passed over.
    """
    text = text_of(file)
    comments = 0
    if comment is not None:
        for _, content in lines_of(text):
            if content.strip() and not content.startswith(comment):
                break
            comments += 1
    if '"' not in text and text.count("\n", 0, len(text) - 1) > MAX_ROWS + comments:
        refuse(file, f"has more than {MAX_ROWS:,} rows; split it")
    separator = max(",;\t", key=lambda one: len(next(_records(file, text, one, skip=comments))[1]))
    # Cells may hold line ends, so records are counted; before anything is kept: too long a table costs no memory.
    if sum(1 for _ in islice(_records(file, text, separator, skip=comments), MAX_ROWS + 2)) > MAX_ROWS + 1:
        refuse(file, f"has more than {MAX_ROWS:,} rows; split it")
    records = _records(file, text, separator, skip=comments)
    line, headings = next(records)
    named = headings_of(file, headings, line=line)
    set_aside = tuple(content.strip() for _, content in islice(lines_of(text), comments))
    return Table(named, line, _rows(file, named, records), set_aside)


def headings_of(file: SourceFile, cells: Iterable[str], *, line: int) -> tuple[str, ...]:
    """Headings without the space around them; each must have a name, and a name of its own."""
    named = tuple(cell.strip() for cell in cells)
    seen: dict[str, int] = {}
    for number, name in enumerate(named, start=1):
        if not name:
            refuse(file, "has no heading; name the column or remove it", line=line, column=number)
        if (earlier := seen.setdefault(name.casefold(), number)) != number:
            refuse(file, f"{name!r} is the heading of column {earlier} too; rename one", line=line, column=number)
    return named


def json_of(file: SourceFile, text: str, *, line: int = 1) -> Any:
    """One JSON value; `line` is the number of the text's first line.

    Raises:
        BankError: not JSON, a key given twice, NaN or Infinity, nested too deeply, a NUL or half a surrogate pair.
    """
    return _parsed(file, lambda decoder: decoder.decode(text), line=line, first=line)


def jsonl_of(file: SourceFile) -> Iterator[tuple[int, Entry]]:
    """The objects of a JSONL file with their lines; blank lines are passed over."""
    found = False
    for number, line in counted_lines_of(file):
        if not line.strip():
            continue
        found = True
        value = json_of(file, line.rstrip("\n"), line=number)
        if not isinstance(value, Entry):
            refuse(file, "must be one JSON object in { }; write one object a line", line=number)
        value.line = number
        yield number, value
    if not found:
        refuse(file, "the file holds nothing; choose another")


def json_list_of(file: SourceFile) -> Iterator[tuple[int, Any]]:
    """The entries of a JSON file that holds one list, each with the line it begins on."""
    text = text_of(file)
    at = _past_space(text, 0)
    if not text.startswith("[", at):
        refuse(file, "must hold one JSON list in [ ]; wrap the content in one", line=_line_at(text, at))
    line, counted = 1, 0
    at = _past_space(text, at + 1)
    for number in count(1):
        if number == 1 and text.startswith("]", at):
            break
        if number > MAX_ROWS:
            refuse(file, f"has more than {MAX_ROWS:,} entries; split it")
        line, counted = line + text.count("\n", counted, at), at
        value, at = _parsed(file, lambda decoder, start=at: decoder.raw_decode(text, start), line=line)  # type: ignore[misc]
        if isinstance(value, Entry):
            value.line = line
        yield line, value
        at = _past_space(text, at)
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            refuse(file, "expected , or ] after an entry of the list; correct the file there", line=_line_at(text, at))
        at = _past_space(text, at + 1)
    if text[at + 1 :].strip():
        refuse(file, "something follows the list; remove it", line=_line_at(text, at))


def yaml_of(file: SourceFile) -> Any:
    """The one document of a YAML file. Every scalar stays text as it stands, be it `no`, `08` or `null`.

    Raises:
        BankError: not YAML, several documents, an alias, a tag, a key given twice or that is no text, nested too
            deeply, a NUL.
    """
    text = text_of(file, most=MAX_YAML_BYTES)
    events = _counted(file, yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)))
    try:
        found = [_composed(file, event, events, 1) for event in _documents(file, events)]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = mark.line + 1 if mark is not None else _line_at(text, getattr(error, "position", 0))
        words = f"not readable as YAML ({getattr(error, 'problem', None) or 'a character it does not allow'})"
        refuse(file, f"{words}; correct the file there", line=at, column=mark.column + 1 if mark is not None else None)
    if not found:
        refuse(file, "the file holds nothing; choose another")
    return found[0]


_ARCHIVE, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def _decoded(file: SourceFile) -> str:
    content = file.content
    if content.startswith((_ARCHIVE, _OLD_WORKBOOK)):
        refuse(file, "is a workbook or an archive, not text; import a workbook as xlsx, or unpack the archive first")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strictly(file, "utf-16", "UTF-16 (as its byte order mark says)")
    if content.startswith(codecs.BOM_UTF8):
        return _strictly(file, "utf-8-sig", "UTF-8 (as its byte order mark says)")
    if (at := content.find(0)) >= 0:
        words = "holds a NUL character; remove it, or save the file as UTF-8 if it is UTF-16 without a byte order mark"
        refuse(file, words, line=_lines_before(content[:at].decode("latin-1")) + 1)
    if content.isascii():
        return content.decode("ascii")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = _lines_before(content[: error.start].decode("latin-1")) + 1
        if not _mostly_utf8(content, error.start):
            text = _strictly(file, "gb18030", f"UTF-8 (line {line}) nor GB18030", neither=True)
            if _mostly_common_chinese(text):
                return text
        words = f"not UTF-8 (byte {content[error.start]:#04x}) nor what GB18030 or UTF-16 looks like; save it as UTF-8"
        refuse(file, words, line=line)


def _strictly(file: SourceFile, encoding: str, name: str, *, neither: bool = False) -> str:
    try:
        return file.content.decode(encoding)
    except UnicodeDecodeError as error:
        line = _lines_before(file.content[: error.start].decode(encoding, "replace")) + 1
        words = f"neither {name}" if neither else f"not {name}"
        refuse(file, f"{words} (byte {file.content[error.start]:#04x}); save the file as UTF-8", line=line)


def _lines_before(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _mostly_utf8(content: bytes, at: int) -> bool:
    """Whether it is UTF-8 with a few damaged bytes; read as GB18030 it would become other, wrong characters."""
    text = content[max(0, at - _SAMPLE) : at + _SAMPLE].decode(errors="replace")
    damaged = text.count("\ufffd")
    return len(_beyond_ascii(text)) - damaged > damaged


def _mostly_common_chinese(text: str) -> bool:
    """Whether what GB18030 makes of the bytes is plausible: Latin letters with accents come out as rare characters."""
    beyond_ascii = _beyond_ascii(text)
    return len(beyond_ascii.encode("gb2312", "ignore")) >= len(beyond_ascii)


def _beyond_ascii(text: str) -> str:
    """The first characters of a text that are not ASCII, as many as a sample needs."""
    found, length = [], 0
    for match in re.finditer("[^\x00-\x7f]+", text):
        found.append(match[0][:_SAMPLE])
        length += len(match[0])
        if length >= _SAMPLE:
            break
    return "".join(found)


def _records(file: SourceFile, text: str, separator: str, *, skip: int) -> Iterator[tuple[int, list[str]]]:
    """The records with content and the line each begins on; the first is the headings."""
    reader = csv.reader(islice((line for _, line in lines_of(text)), skip, None), delimiter=separator, strict=True)
    found, line = False, skip + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found = True
                yield line, cells
            line = skip + reader.line_num + 1
    except csv.Error as error:
        refuse(file, f"not readable as CSV ({error}); look for a quote that is not closed or not doubled", line=line)
    if not found:
        refuse(file, "has no row of headings; add one")


def _rows(file: SourceFile, headings: tuple[str, ...], records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    width = len(headings)
    for line, cells in records:
        if len(cells) < width:
            words = f"the row ends before this column: {len(cells)} cells under {width} headings; complete it"
            refuse(file, words, line=line, column=headings[len(cells)])
        if len(cells) > width:
            words = (
                f"no heading for this cell: {len(cells)} cells under {width} headings; look for a separator too many"
            )
            refuse(file, words, line=line, column=width + 1)
        yield Row(line, dict(zip(headings, cells, strict=True)))


def _parsed(file: SourceFile, read: Callable[[json.JSONDecoder], _Value], *, line: int, first: int = 1) -> _Value:
    """`line` is where the value begins, `first` the number of the first line of the text that is read."""

    def strict(pairs: list[tuple[str, Any]]) -> Entry:
        found = Entry(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            refuse(file, f"key {twice!r} is given twice in one object; keep one of them", line=line)
        return found

    def no_number(word: str) -> NoReturn:
        refuse(file, f"{word} is not a JSON number; write a number or null", line=line)

    try:
        value = read(json.JSONDecoder(object_pairs_hook=strict, parse_constant=no_number))
    except json.JSONDecodeError as error:
        words = f"not readable as JSON ({error.msg}); correct the file there"
        refuse(file, words, line=first + error.lineno - 1, column=error.colno)
    except (RecursionError, ValueError):
        # Absurd nesting, or an integer of thousands of digits: Python refuses both to protect itself.
        refuse(file, "nested too deeply or holds a number that is too long; simplify it", line=line)
    _check_values(file, value, line)
    return value


def _check_values(file: SourceFile, value: Any, line: int) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for one in level:
            if isinstance(one, str):
                check_text(file, one, line=line)
            elif isinstance(one, dict):
                below += one
                below += one.values()
            elif isinstance(one, list | tuple):
                below += one
        if not below:
            return
        level = below
    refuse(file, f"nested more than {MAX_DEPTH} levels deep; simplify it", line=line)


def _counted(file: SourceFile, events: Iterable[yaml.Event]) -> Iterator[yaml.Event]:
    for number, event in enumerate(events):
        if number > MAX_YAML_PARTS:
            refuse(file, "holds too much for a YAML file; split it, or write it as JSONL", line=_line_of(event))
        yield event


def _documents(file: SourceFile, events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    """The event that opens the document's content."""
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                words = "a second document begins here; put each in a file of its own"
                refuse(file, words, line=_line_of(event))
        elif isinstance(event, yaml.NodeEvent):
            yield event


_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map"))


def _composed(file: SourceFile, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
    line = _line_of(event)
    if depth > MAX_DEPTH:
        refuse(file, f"nested more than {MAX_DEPTH} levels deep; simplify it", line=line)
    if isinstance(event, yaml.AliasEvent):
        refuse(file, f"refers to *{event.anchor}; write the content out here", line=line)
    tag = getattr(event, "tag", None)
    if tag not in (None, "!") and tag not in _PLAIN_TAGS:
        refuse(file, f"carries the tag {tag!r}; write plain YAML", line=line)
    if isinstance(event, yaml.ScalarEvent):
        check_text(file, event.value, line=line)
        return event.value
    if isinstance(event, yaml.SequenceStartEvent):
        entries = []
        while not isinstance(inner := next(events), yaml.SequenceEndEvent):
            entries.append(_composed(file, inner, events, depth + 1))
            if len(entries) > MAX_ROWS:
                refuse(file, f"a list has more than {MAX_ROWS:,} entries; split the file", line=line)
        return entries
    found = Entry()
    found.line = line
    while not isinstance(inner := next(events), yaml.MappingEndEvent):
        key = _composed(file, inner, events, depth + 1)
        if not isinstance(key, str):
            refuse(file, "a key must be text", line=_line_of(inner))
        if key in found:
            refuse(file, f"key {key!r} is given twice; keep one of them", line=_line_of(inner))
        found[key] = _composed(file, next(events), events, depth + 1)
    return found


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _past_space(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\n") and at < len(text):
        at += 1
    return at


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
