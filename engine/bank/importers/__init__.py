"""Reading questions from files of other forms: what each importer takes is said in its own module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.bank.importers import garak, inspect_samples, promptfoo, pyrit, tables
from engine.bank.importers.base import ColumnMapping, Imported, Importer, SourceFile
from engine.bank.importers.published import PUBLISHED
from engine.bank.importers.reading import MAX_TOTAL_BYTES
from engine.bank.problems import one_of
from engine.domain.cases import Fixture
from engine.errors import BankError

__all__ = [
    "FORMATS",
    "ColumnMapping",
    "Imported",
    "Importer",
    "SourceFile",
    "check_total",
    "columns",
    "read",
]

_MAPPED: dict[str, Callable[[Sequence[SourceFile], ColumnMapping | None], Imported]] = {
    "csv": tables.read_csv,
    "xlsx": tables.read_xlsx,
}
"""The other formats whose columns can be mapped."""

_COLUMNS: dict[str, Callable[[SourceFile], list[str]]] = {
    "csv": tables.csv_columns,
    "xlsx": tables.xlsx_columns,
    "jsonl": tables.jsonl_columns,
}

FORMATS: dict[str, Importer] = {
    "csv": tables.read_csv,
    "xlsx": tables.read_xlsx,
    "jsonl": tables.read_jsonl,
    **PUBLISHED,
    "promptfoo": promptfoo.read,
    "inspect": inspect_samples.read,
    "garak": garak.read,
    "pyrit": pyrit.read,
}


def check_total(sizes: Sequence[int]) -> None:
    """Whether files of these sizes, in bytes, may be imported together.

    Raises:
        BankError: `files_too_large`.
    """
    if sum(sizes) > MAX_TOTAL_BYTES:
        together, most = sum(sizes) / 1024 / 1024, MAX_TOTAL_BYTES // 1024 // 1024
        raise BankError(
            f"the {len(sizes)} files have {together:.0f} MB together, more than the {most} MB that one import may "
            "have; import them one after another",
            code="files_too_large",
        )


def read(
    format: str,
    files: Sequence[SourceFile],
    *,
    mapping: ColumnMapping | None = None,
    installed: Mapping[str, Fixture] = {},
) -> Imported:
    """The cases in the files, and what became none of them and why.

    Fixtures come with no file; cases of our own JSONL that describes those it uses may lean on the `installed` ones.

    Raises:
        BankError: an unknown format, no file, too much in all, a mapping where there are no columns, or a file that is
            malformed: file, line and column are named, and nothing is imported.
    """
    if format not in FORMATS:
        raise BankError(f"no format named {format!r}; {one_of(FORMATS, instead_of=format)}", code="unknown_format")
    if not files:
        raise BankError("no file to import; choose at least one")
    check_total([len(file.content) for file in files])
    if format == "jsonl":
        return tables.read_jsonl(files, mapping, installed)
    if format in _MAPPED:
        return _MAPPED[format](files, mapping)
    if mapping is not None:
        raise BankError(f"the format {format!r} has no columns to map; leave the mapping out, or import it as csv")
    return FORMATS[format](files)


def columns(format: str, file: SourceFile) -> list[str]:
    """The columns of a file, for a mapping of them.

    Raises:
        BankError: the format has no columns, or the file is malformed.
    """
    if format not in _COLUMNS:
        words = f"the format {format!r} has no columns to map; those that have: {', '.join(_COLUMNS)}"
        raise BankError(words, code="unknown_format")
    return _COLUMNS[format](file)
