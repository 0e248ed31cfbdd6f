"""CSV, XLSX and JSONL of our own shape, or of another one with a mapping of its columns."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import openpyxl
from pydantic import ValidationError

from engine.bank import checking, problems
from engine.bank.importers import rows
from engine.bank.importers.base import ColumnMapping, Imported, SourceFile
from engine.bank.importers.clauses import clause_named
from engine.bank.importers.conversation import LeftOut
from engine.bank.importers.gathering import Gathering, Origin, Place, id_from, id_of_text
from engine.bank.importers.reading import (
    MAX_ROWS,
    Entry,
    Row,
    Table,
    check_size,
    headings_of,
    jsonl_of,
    refuse,
    rows_of,
)
from engine.bank.loading import expand
from engine.domain.cases import Case, Fixture, Instance
from engine.errors import BankError

MAX_UNPACKED = 128 * 1024 * 1024
"""Of a workbook, in bytes."""

_PIECE = 64 * 1024
"""Bytes of a part that are looked at together."""

_FORMULAS = (b"<f>", b"<f ")
"""How a formula begins in a sheet."""

_ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#SPILL!", "#CALC!"})
"""What a spreadsheet shows in place of a value it could not work out."""

_FIXTURE_LINE = {"fixture"}
"""The keys of a line that describes a fixture."""

_TEXT_ALIASES = {"prompt": rows.TEXT, "question": rows.TEXT, "id": "case_id"}


def read_csv(files: Sequence[SourceFile], mapping: ColumnMapping | None = None) -> Imported:
    """CSV files, each with a row of headings."""
    return _read_tables([(file, rows_of(file)) for file in files], mapping)


def read_xlsx(files: Sequence[SourceFile], mapping: ColumnMapping | None = None) -> Imported:
    """Workbooks; the first sheet counts, with a row of headings."""
    return _read_tables([(file, _sheet_of(file)) for file in files], mapping)


def read_jsonl(
    files: Sequence[SourceFile], mapping: ColumnMapping | None = None, installed: Mapping[str, Fixture] = {}
) -> Imported:
    """One object a line: a case as in dataset.json (it has `turns`), or texts under our column names.

    In the second form `prompt` and `question` also stand for `text`, and `id` for `case_id`. A line `{"fixture": ...}`
    describes a fixture as in fixtures.json; a case that uses it is kept where the very same one is `installed`.
    """
    gathering = Gathering()
    described: dict[str, Fixture] = {}
    for file in files:
        for line, entry in jsonl_of(file):
            place = Place(file, line)
            if entry.keys() == _FIXTURE_LINE:
                _describe(described, place, entry["fixture"])
            elif "turns" in entry and mapping is None:
                _keep_case(gathering, place, entry, described, installed)
            else:
                named = rows.headings(file, list(entry), mapping, line=line, aliases=_aliases(entry))
                _add_row(gathering, place, entry, named)
    return gathering.imported()


def csv_columns(file: SourceFile) -> list[str]:
    """The headings."""
    return list(rows_of(file).headings)


def xlsx_columns(file: SourceFile) -> list[str]:
    """The headings of the first sheet."""
    return list(_sheet_of(file).headings)


def jsonl_columns(file: SourceFile) -> list[str]:
    """All keys that occur, in order of first use."""
    entries = (entry for _, entry in jsonl_of(file) if entry.keys() != _FIXTURE_LINE)
    return list(dict.fromkeys(key for entry in entries for key in entry))


def _read_tables(tables: Sequence[tuple[SourceFile, Table]], mapping: ColumnMapping | None) -> Imported:
    gathering = Gathering()
    for file, table in tables:
        named = rows.headings(file, table.headings, mapping, line=table.line)
        empty = True
        for row in table.rows:
            empty = False
            _add_row(gathering, Place(file, row.line), row.cells, named)
        if empty:
            refuse(file, "has headings and no row below them; choose another file")
    return gathering.imported()


def _add_row(gathering: Gathering, place: Place, cells: dict[str, Any], named: rows.Headings) -> None:
    file, line = place
    values = dict(named.defaults)
    for name, heading in named.by_name.items():
        value = cells.get(heading)
        if name == "case_id" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is not None and (not isinstance(value, str) or value.strip()):
            values[name] = value
    required = [name for name in ("case_id", "clause", named.turns[0]) if name in named.by_name or name != "case_id"]
    for name in required:
        if name not in values:
            refuse(
                file, "the cell is blank, and every question needs one; fill it", line=line, column=named.heading(name)
            )
    turns = [values[name] for name in named.turns if name in values]
    gap = [name for name in named.turns[: len(turns)] if name not in values]
    if gap:
        refuse(file, "the cell is blank, but a later turn is not; fill it", line=line, column=named.heading(gap[0]))
    for name in ("case_id", "clause", *named.turns):
        if name in values and not isinstance(values[name], str):
            refuse(file, "must be text", line=line, column=named.heading(name))
    try:
        details = rows.details_of(values)
    except rows.NotOurs as error:
        refuse(file, error.words, line=line, column=named.heading(error.name))
    label = values["clause"].strip()
    mapped = clause_named(label)
    if mapped is None:
        gathering.leave(place, label, "names none of the 31 clauses, nor a group that has a catch-all clause")
        return
    original = values.get("case_id")
    try:
        gathering.add(
            place,
            turns,
            mapped,
            origin=Origin(set=file.stem),
            case_id=id_from(original) if original else id_of_text("q", *turns),
            details=details,
            original_id=original,
            original_label=label,
        )
    except LeftOut as left:
        gathering.leave(place, label, str(left))


def _describe(described: dict[str, Fixture], place: Place, value: Any) -> None:
    """A fixture that cases below may use."""
    fixture, found = problems.parse(Fixture, value, file=place.file.shown, subject=f"line {place.line}, fixture")
    if fixture is None:
        raise problems.error_for(found)
    if described.setdefault(fixture.fixture_id, fixture) != fixture:
        refuse(place.file, f"fixture {fixture.fixture_id!r} is described otherwise before; keep one", line=place.line)


def _why_not(name: str, described: Mapping[str, Fixture], installed: Mapping[str, Fixture]) -> str:
    """Why a case that uses this fixture cannot be kept; empty where it can."""
    if name not in described:
        return f"leans on fixture {name!r}, which no line above describes"
    if name not in installed:
        return f"leans on fixture {name!r}, which is not installed here"
    if described[name] != installed[name]:
        ours, theirs = installed[name].sha256, described[name].sha256
        other = "another description" if ours == theirs else f"SHA-256 {ours}, not {theirs}"
        return f"leans on fixture {name!r}, which has {other} here"
    return ""


def _keep_case(
    gathering: Gathering,
    place: Place,
    entry: Entry,
    described: Mapping[str, Fixture],
    installed: Mapping[str, Fixture],
) -> None:
    """A whole case, as strictly as in dataset.json; it is kept as it is written, so that export and import agree."""
    file, line = place
    if isinstance(entry.get("clause"), str) and (mapped := clause_named(entry["clause"])) is not None:
        entry["clause"] = mapped.clause
    subject = f"line {line}"
    case, found = problems.parse(Case, entry, file=file.shown, subject=subject)
    if case is not None:
        found = [problems.Problem(file.shown, subject, *finding) for finding in checking.case_findings(case)]
        found += _variant_problems(file, subject, case)
    if case is None or found:
        raise problems.error_for(found)
    names = [
        *case.fixture_ids,
        *(name for each in case.variants for turn in each.turns or () for name in turn.fixtures),
    ]
    reasons = list(filter(None, (_why_not(name, described, installed) for name in names)))
    if reasons:
        gathering.leave(place, case.clause, reasons[0])
        return
    gathering.keep(place, case, rule=case.provenance.mapping if case.provenance else "as written")


def _variant_problems(file: SourceFile, subject: str, case: Case) -> Iterator[problems.Problem]:
    for instance_id, values in expand(case):
        try:
            Instance(**values)
        except ValidationError as error:
            yield from problems.from_validation(
                error, Instance, file=file.shown, subject=f"{subject}, instance {instance_id!r}"
            )


def _aliases(entry: Entry) -> dict[str, str]:
    return {key: name for key, name in _TEXT_ALIASES.items() if name not in entry}


def _sheet_of(file: SourceFile) -> Table:
    check_size(file)
    records = _cells_of(file)
    line, first = next(records, (1, []))
    while first and not first[-1].strip():
        first.pop()
    if not first:
        refuse(file, "the first sheet has no row of headings; add one")
    headings = headings_of(file, first, line=line)
    return Table(headings, line, _sheet_rows(file, headings, records))


def _sheet_rows(file: SourceFile, headings: tuple[str, ...], records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    width = len(headings)
    for line, cells in records:
        if any(cell.strip() for cell in cells[width:]):
            column = next(number for number, cell in enumerate(cells, start=1) if number > width and cell.strip())
            refuse(file, "no heading above this cell; add one or clear it", line=line, column=column)
        yield Row(line, dict(zip(headings, [*cells, *[""] * width], strict=False)))


def _cells_of(file: SourceFile) -> Iterator[tuple[int, list[str]]]:
    """Rows with content of the first sheet, each with its number, cells as text."""
    computed = _check_archive(file)
    try:
        with closing(_book(file, data_only=True)) as book:
            if not book.worksheets:
                refuse(file, "the workbook has no sheet of cells; choose another")
            if computed:
                _check_results(file, book)
            for number, cells in enumerate(_rows_of(book, values_only=True), start=1):
                texts = [_cell_text(cell) for cell in cells]
                if not _ERRORS.isdisjoint(texts):
                    column = next(at for at, text in enumerate(texts, start=1) if text in _ERRORS)
                    words = f"holds the error {texts[column - 1]}; correct or clear it"
                    refuse(file, words, line=number, column=column)
                if any(text.strip() for text in texts):
                    yield number, texts
    except BankError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged workbook makes openpyxl fail in any way its code happens to
        refuse(file, f"not readable as a workbook ({type(error).__name__}); save it again as .xlsx")


def _book(file: SourceFile, *, data_only: bool) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(file.content), read_only=True, data_only=data_only)


def _rows_of(book: openpyxl.Workbook, *, values_only: bool) -> Iterator[tuple[Any, ...]]:
    """The rows of the first sheet."""
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # some writers state an area smaller than the one they fill
    yield from sheet.iter_rows(values_only=values_only)


def _check_results(file: SourceFile, book: openpyxl.Workbook) -> None:
    """Raises BankError at a formula without a result: programs that only write sheets work nothing out.

    A formula that comes to no text keeps a type of its own, and is as good as a blank cell.
    """
    with closing(_book(file, data_only=False)) as written:
        both = zip(_rows_of(book, values_only=False), _rows_of(written, values_only=False), strict=False)
        for number, (cells, sources) in enumerate(both, start=1):
            for column, (cell, source) in enumerate(zip(cells, sources, strict=False), start=1):
                if source.data_type == "f" and cell.value is None and cell.data_type == "n":
                    words = "holds a formula without its result; save the file in a spreadsheet, or write the text"
                    refuse(file, words, line=number, column=column)


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()  # as the sheet shows it
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a sheet knows no whole numbers
    return str(value).replace("\r\n", "\n").replace("\r", "\n")


def _check_archive(file: SourceFile) -> bool:
    """Whether a sheet holds formulas. Raises BankError for what is no archive, or unpacks to more than we read."""
    formulas = False
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            # A part never unpacks to more than it declares: zipfile stops there.
            unpacked = sum(part.file_size for part in archive.infolist())
            if unpacked > MAX_UNPACKED:
                size, most = unpacked // 1024 // 1024, MAX_UNPACKED // 1024 // 1024
                refuse(file, f"unpacks to {size} MB, more than the {most} MB a workbook may have; split it")
            for part in archive.namelist():
                with archive.open(part) as content:
                    piece, rows_found = content.read(_PIECE), 0
                    if b"<!DOCTYPE" in piece:
                        refuse(file, "declares a document type, as no workbook does; save it again as .xlsx")
                    # Counted before any is kept: too long a sheet costs time, not memory.
                    while piece and part.startswith("xl/worksheets/"):
                        rows_found += piece.count(b"<row ")
                        formulas = formulas or any(tag in piece for tag in _FORMULAS)
                        if rows_found > MAX_ROWS + 1:
                            refuse(file, f"a sheet has more than {MAX_ROWS:,} rows; split it")
                        piece = content.read(_PIECE)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        refuse(file, f"not a workbook ({type(error).__name__}); save it as .xlsx")
    return formulas
