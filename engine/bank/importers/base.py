"""What every importer takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from engine.domain.banks import Unmapped
from engine.domain.base import Model
from engine.domain.cases import Case
from engine.domain.text import visible

_NAME_SHOWN = 80


class SourceFile(NamedTuple):
    """A file as it was handed in. Its name is shown in messages and is never used as a path."""

    name: str
    content: bytes

    @property
    def shown(self) -> str:
        """The name without folders, safe to print: nothing invisible, not too long."""
        name = visible(self.name.replace("\\", "/").rstrip("/").rpartition("/")[2]).replace("\n", "\\n").strip()
        if len(name) > _NAME_SHOWN:
            name = f"{name[: _NAME_SHOWN - 20]}…{name[-19:]}"
        return name or "(unnamed)"

    @property
    def stem(self) -> str:
        """The shown name without its last ending."""
        return self.shown.rpartition(".")[0] or self.shown

    def ends_with(self, *endings: str) -> bool:
        """Whether the name has one of these endings, as `.csv`; upper and lower case count as the same."""
        return self.shown.lower().endswith(endings)


class Imported(NamedTuple):
    """What files became. `mapping_counts` says how many cases each mapping rule made."""

    cases: tuple[Case, ...]
    unmapped: tuple[Unmapped, ...]
    mapping_counts: dict[str, int]

    @property
    def read(self) -> int:
        """How many questions the files held: each became a case or is reported."""
        return len(self.cases) + len(self.unmapped)


class ColumnMapping(Model):
    """How a table of somebody else's is to be read.

    `columns` gives for each of our column names the name in the file; what it does not name is looked for under our
    own name. `defaults` stands in, by our names, where the file has no such column or a blank cell. `ignored` names
    columns of the file that are left out on purpose; any other column that is not known is an error.
    """

    columns: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}
    ignored: tuple[str, ...] = ()


Importer = Callable[[Sequence[SourceFile]], Imported]
"""Reads all files of one import, or raises BankError naming file, line and column. Nothing in between."""
