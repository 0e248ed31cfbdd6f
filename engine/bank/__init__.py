"""The question bank: files in, models out.

`load` reads `dataset.json` with `fixtures.json` and `profiles.json` beside it, `select` picks the instances of a
profile, `shortages` says what the bank lacks for it, `read_fixtures` checks and reads the pinned files before a run,
and `visible` says what of a document may be shown to whom. Nothing here writes.
"""

from __future__ import annotations

from engine.bank.fixtures import read_fixtures, visible
from engine.bank.loading import Bank, load
from engine.bank.minima import Shortage, shortages
from engine.bank.selection import select

__all__ = ["Bank", "Shortage", "load", "read_fixtures", "select", "shortages", "visible"]
