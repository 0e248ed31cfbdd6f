"""What every importer takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from engine.domain.banks import Unmapped
from engine.domain.base import Model
from engine.domain.cases import Case


class SourceFile(NamedTuple):
    """A file as it was handed in. `name` is what messages call it."""

    name: str
    content: bytes


class Imported(NamedTuple):
    """What files became. `mapping_counts` says how many cases each mapping rule made."""

    cases: tuple[Case, ...]
    unmapped: tuple[Unmapped, ...]
    mapping_counts: dict[str, int]

    @property
    def read(self) -> int:
        """How many rows the files held: all became a case or are reported."""
        return len(self.cases) + len(self.unmapped)


class ColumnMapping(Model):
    """How a table of somebody else's is to be read.

    `columns` gives for each of our column names the name in the file; what it does not name is looked for under our
    own name. `defaults` stands in where the file has no such column, or a blank cell.
    """

    columns: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}


Importer = Callable[[Sequence[SourceFile]], Imported]
"""Reads all files of one import, or raises BankError naming file, line and column. Nothing in between."""
