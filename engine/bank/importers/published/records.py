"""The rows of a published file: CSV, a JSON list or JSON lines, with headings in any case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from engine.bank.importers.base import SourceFile
from engine.bank.importers.gathering import Place
from engine.bank.importers.reading import Entry, json_list_of, jsonl_of, refuse, rows_of, text_of
from engine.errors import BankError


class Record(NamedTuple):
    """One row, its values by heading in small letters, and its number within the file, counted from 1."""

    place: Place
    number: int
    values: Mapping[str, Any]

    def get(self, name: str) -> str:
        """The cell as text without the space around it; empty where there is none."""
        value = self.values.get(name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.refuse(f"must be text, not {_kind(value)}", name)
        return str(value).strip()

    def need(self, name: str) -> str:
        """The cell as text; a blank one is an error."""
        text = self.get(name)
        if not text:
            self.refuse("is blank; fill it in or remove the row", name)
        return text

    def refuse(self, words: str, name: str | None = None) -> NoReturn:
        """Raises the error that names file, line and column."""
        refuse(self.place.file, words, line=self.place.line, column=name)


def records_of(files: Sequence[SourceFile], *, needed: Sequence[str]) -> Iterator[Record]:
    """The rows of all files in order; each must have the columns `needed` (in small letters)."""
    for file in given(files):
        number = 0
        for number, (line, values) in enumerate(_rows(file, needed), start=1):
            yield Record(Place(file, line), number, values)
        if number == 0:
            refuse(file, "holds no questions; choose another file")


def given(files: Sequence[SourceFile]) -> Sequence[SourceFile]:
    """The files, of which there must be one at least."""
    if not files:
        raise BankError("no file was given; name the files of the set")
    return files


def is_object(file: SourceFile) -> bool:
    """Whether the file begins with a JSON object: JSON lines, or one object as a whole."""
    return text_of(file).lstrip().startswith("{")


def record(place: Place, number: int, entry: object, *, needed: Sequence[str] = ()) -> Record:
    """A JSON object as a record."""
    if not isinstance(entry, dict):
        refuse(place.file, f"must be an object in {{ }}, not {_kind(entry)}", line=place.line)
    found = Record(place, number, {key.strip().casefold(): value for key, value in entry.items()})
    for name in needed:
        if name not in found.values:
            refuse(place.file, _missing(name, entry), line=place.line, column=name)
    return found


def _rows(file: SourceFile, needed: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.ends_with(".json", ".jsonl", ".ndjson"):
        entries: Iterator[tuple[int, Entry | Any]] = jsonl_of(file) if is_object(file) else json_list_of(file)
        for number, (line, entry) in enumerate(entries, start=1):
            yield line, record(Place(file, line), number, entry, needed=needed).values
        return
    table = rows_of(file)
    known = {heading.casefold() for heading in table.headings}
    for name in needed:
        if name not in known:
            refuse(file, _missing(name, table.headings), line=table.line, column=name)
    for row in table.rows:
        yield row.line, {heading.casefold(): cell for heading, cell in row.cells.items()}


def _missing(name: str, there: object) -> str:
    shown = ", ".join(str(one) for one in list(there)[:12])  # type: ignore[call-overload]
    return f"is not there (there are: {shown}); choose the set's own file or correct the heading"


def _kind(value: object) -> str:
    return {"dict": "an object", "list": "a list", "bool": "true or false"}.get(type(value).__name__, "that")
