"""Banks as they are kept, imported and checked."""

from __future__ import annotations

from typing import NamedTuple

from engine.domain.base import Model, Timestamp
from engine.domain.cases import Mode, Severity, Technique
from engine.domain.clauses import Aspect


class BankInfo(Model):
    """One version of a bank in the store."""

    id: int
    name: str
    version: str
    sha256: str
    cases: int
    instances: int
    created_at: Timestamp
    created_by: str
    source: str
    """The format it was imported from, or `bundled`."""
    licence: str | None


class CaseRow(Model):
    """A case in a list."""

    case_id: str
    clause: str
    mode: Mode
    language: str
    severity: Severity
    technique: Technique
    title: str
    instances: int


class CaseFilter(Model):
    """Conditions on a case; None asks nothing. `q` is looked for in title and turns."""

    clause: str | None = None
    mode: Mode | None = None
    language: str | None = None
    severity: Severity | None = None
    q: str | None = None


class TagSketch(NamedTuple):
    """A tag without its year."""

    scheme: str
    code: str


class InstanceSketch(NamedTuple):
    """What choosing and counting need of an instance: a large bank can be looked through without reading it whole."""

    instance_id: str
    seed_case: str
    clause: str
    mode: Mode
    language: str
    severity: Severity
    technique: Technique
    aspect: Aspect | None
    tags: tuple[TagSketch, ...]


class ProfileShortage(Model):
    """A minimum of a profile that a bank does not reach.

    `key` is the minimum's name in the profile, such as `per_mode`. `of` is what it counts there: a clause, a mode, an
    aspect, one of `content`, `rf` and `oc` (`sample_per_kind`); empty where the minimum is about the whole bank.
    """

    key: str
    of: str
    have: int
    need: int


class Finding(Model):
    """Something wrong with a bank's files: where, what, and what to do."""

    file: str
    case: str | None
    key: str | None
    problem: str
    fix: str


class Unmapped(Model):
    """A row that became no case, and why."""

    file: str
    line: int
    label: str
    reason: str


class ImportReport(Model):
    """What an import did, or would do."""

    bank: str
    version: str
    sha256: str
    licence: str | None = None
    """Of the questions, where their set is known to have one; several with commas between."""
    read: int
    imported: int
    unmapped: tuple[Unmapped, ...]
    mapping_counts: dict[str, int]
    """How many cases each mapping rule made."""


class CoverageCell(Model):
    """One clause in one mode. `reason` says why a cell is deliberately empty."""

    clause: str
    mode: Mode
    instances: int
    minimum: int
    reason: str | None = None


class CaseChange(Model):
    """A case that differs between two versions of a bank: `added`, `removed` or `changed` (then with the keys)."""

    case_id: str
    change: str
    keys: tuple[str, ...] = ()
