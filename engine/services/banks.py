"""Look at banks, bring in new ones, and take them out as files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import structlog

from engine.assembly import BUNDLED_BANK, BUNDLED_SOURCE, Engine
from engine.bank import Bank, assembling, exporting, importers, loading, minima, validation
from engine.bank.fixtures import read_one
from engine.bank.importers import ColumnMapping, Imported, SourceFile, check_total
from engine.bank.problems import error_for
from engine.bank.selection import known
from engine.domain.accounts import Permission, User
from engine.domain.banks import (
    BankInfo,
    CaseChange,
    CaseFilter,
    CaseRow,
    CoverageCell,
    Finding,
    ImportReport,
    ProfileShortage,
)
from engine.domain.base import Localized, Model, Page
from engine.domain.cases import Case, Fixture, Minima, Mode, Profile
from engine.domain.clauses import CLAUSES, REFUSAL_GROUPS
from engine.errors import BankError, ConflictError, EngineError, InputError, NotFoundError
from engine.services.questions import assembled
from engine.services.reports import Export

__all__ = [
    "ColumnMapping",
    "Export",
    "SourceFile",
    "Validation",
    "case",
    "cases",
    "changes",
    "check_total",
    "columns",
    "coverage",
    "export",
    "facets",
    "fixture",
    "get",
    "import_files",
    "names",
    "page",
    "preview",
    "shortages",
    "validate",
    "validate_file",
]

log = structlog.get_logger(__name__)

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

LONGEST_VERSION = 64

NO_RF = Localized(
    zh="应拒答题只属于 A.1 和 A.2 的条款", en="What should be refused belongs to the clauses of A.1 and A.2 only"
)


class Validation(Model):
    """What a bank holds (`clauses` and `modes` count those that have a question) and everything wrong with it."""

    instances: int
    cases: int
    clauses: int
    modes: int
    findings: tuple[Finding, ...]


def page(engine: Engine, *, actor: User, name: str | None = None, limit: int = 50, offset: int = 0) -> Page[BankInfo]:
    """Versions of all banks, or of one, newest first."""
    actor.require(Permission.READ)
    _bundled(engine)
    return engine.stores.banks.page(name=name, limit=limit, offset=offset)


def names(engine: Engine, *, actor: User) -> list[str]:
    """Of all banks, the installed one first."""
    actor.require(Permission.READ)
    bundled = _bundled(engine)
    first = bundled.name if bundled is not None else BUNDLED_BANK
    return sorted(engine.stores.banks.names(), key=lambda name: (name != first, name))


def get(engine: Engine, name: str, *, actor: User, version: str | None = None) -> BankInfo:
    """A version of a bank: the newest, or the one called `version` (its name or its SHA-256).

    For the bundled bank, None means what its files hold now.

    Raises:
        NotFoundError: `unknown_bank`, `unknown_version`; names what there is.
    """
    actor.require(Permission.READ)
    bundled = _bundled(engine)
    if version is None and bundled is not None and name in (BUNDLED_BANK, bundled.name):
        return bundled
    return engine.stores.banks.by_name(name, version)


def cases(
    engine: Engine,
    name: str,
    where: CaseFilter,
    *,
    actor: User,
    version: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Page[CaseRow]:
    """In the order of the bank. Raises NotFoundError, or InputError `bad_filter`."""
    info = get(engine, name, actor=actor, version=version)
    return engine.stores.banks.cases(info.id, where, limit, offset)


def case(engine: Engine, name: str, case_id: str, *, actor: User, version: str | None = None) -> Case:
    """Raises NotFoundError: `unknown_bank`, `unknown_version`, `case_not_found`."""
    info = get(engine, name, actor=actor, version=version)
    return engine.stores.banks.case(info.id, case_id)


def facets(
    engine: Engine, name: str, where: CaseFilter, *, actor: User, version: str | None = None
) -> dict[str, dict[str, int]]:
    """For `clause`, `mode`, `language` and `severity`: how many cases each value would leave."""
    info = get(engine, name, actor=actor, version=version)
    return engine.stores.banks.facets(info.id, where)


def coverage(
    engine: Engine,
    name: str,
    *,
    actor: User,
    profile: str | None = None,
    version: str | None = None,
    language: str = "en",
) -> list[CoverageCell]:
    """Instances of every clause in every mode, clause by clause, against the minima of a profile.

    Minima that span cells (per clause, per mode, in all) are the profile's; a cell alone has one for `rf`, and one
    question where the installed bank promises to fill every cell. `reason` is in the language asked for.

    Raises:
        NotFoundError: `unknown_bank`, `unknown_version`, `unknown_profile`.
    """
    info = get(engine, name, actor=actor, version=version)
    asked = Minima() if profile is None else _profile(engine, profile).minima
    promises = _installed(engine) if info.source == BUNDLED_SOURCE else None
    counts = engine.stores.banks.coverage(info.id)

    def cell(clause: str, mode: Mode) -> CoverageCell:
        reason = promises.why_empty(clause, mode) if promises is not None else None
        impossible = mode is Mode.RF and not clause.startswith(REFUSAL_GROUPS)
        words = NO_RF if reason is None and impossible else reason
        least = 1 if promises is not None and promises.empty_cells is not None else 0
        if mode is Mode.RF:
            least = max(least, asked.rf_per_clause)
        return CoverageCell(
            clause=clause,
            mode=mode,
            instances=counts.get((clause, mode), 0),
            minimum=0 if words is not None else least,
            reason=words.in_language(language) if words is not None else None,
        )

    return [cell(clause.id, mode) for clause in CLAUSES for mode in Mode]


def shortages(
    engine: Engine, name: str, *, profile: str, actor: User, version: str | None = None
) -> list[ProfileShortage]:
    """Every minimum of a profile that a bank does not reach, in the order of the standard; also where its samples
    have too little to be drawn from.

    Raises:
        NotFoundError: `unknown_bank`, `unknown_version`, `unknown_profile`.
    """
    info = get(engine, name, actor=actor, version=version)
    chosen = _profile(engine, profile)
    found = minima.short_for(chosen, engine.stores.banks.tallies(info.id, chosen.select))
    return [ProfileShortage(key=each.key, of=each.of, have=each.have, need=each.need) for each in found]


def fixture(
    engine: Engine, name: str, fixture_id: str, *, actor: User, version: str | None = None
) -> tuple[Fixture, bytes]:
    """A fixture that cases of this bank use, and its bytes.

    Raises:
        NotFoundError: `fixture_not_found`.
        BankError: its file is missing, or no longer the one that was pinned.
    """
    info = get(engine, name, actor=actor, version=version)
    found = engine.stores.banks.fixtures(info.id).get(fixture_id)
    if found is None:
        raise NotFoundError(f"bank {info.name!r} uses no fixture {fixture_id!r}", code="fixture_not_found")
    return found, _bytes(engine, found)


def columns(engine: Engine, format: str, file: SourceFile, *, actor: User) -> list[str]:
    """The column names of a table, for a mapping. Raises BankError, or InputError `unknown_format`."""
    actor.require(Permission.MANAGE_BANKS)
    return importers.columns(format, file)


def preview(
    engine: Engine,
    format: str,
    files: Sequence[SourceFile],
    mapping: ColumnMapping | None = None,
    *,
    actor: User,
    name: str = "",
) -> ImportReport:
    """What an import would do; stores nothing.

    Raises:
        BankError: a file cannot be read or a case could not be executed; names file, line and column.
        InputError: `unknown_format`.
    """
    actor.require(Permission.MANAGE_BANKS)
    imported, used = _read(engine, format, files, mapping)
    return _report(imported, bank=name, version="", sha256=loading.digest(imported.cases, used.values()))


def import_files(
    engine: Engine,
    format: str,
    files: Sequence[SourceFile],
    *,
    name: str,
    version: str | None = None,
    mapping: ColumnMapping | None = None,
    actor: User,
) -> ImportReport:
    """Make a new bank of these files, or a new version of one: all of it or nothing.

    Raises:
        BankError: a file cannot be read or a case could not be executed; names file, line and column.
        InputError: `bad_bank_name`, `bad_version`, `unknown_format`, `nothing_to_import`.
        ConflictError: `bank_exists`: the bank holds exactly these questions; `version_taken`; `bank_reserved`.
    """
    actor.require(Permission.MANAGE_BANKS)
    _require_name(engine, name, version)
    imported, used = _read(engine, format, files, mapping)
    sha256 = loading.digest(imported.cases, used.values())
    stored = engine.stores.banks.add(
        name,
        version,
        sha256,
        imported.cases,
        created_by=actor.username,
        source=format,
        licence=_licence(imported),
        fixtures=tuple(used.values()),
    )
    try:
        engine.record(
            actor, "bank.import", f"bank:{stored.id}", name=name, version=stored.version, format=format,
            cases=stored.cases, unmapped=len(imported.unmapped), sha256=sha256,
        )  # fmt: skip
    except EngineError:
        engine.stores.banks.delete(stored.id)  # an import that nobody can account for does not stay
        raise
    return _report(imported, bank=name, version=stored.version, sha256=sha256)


def changes(engine: Engine, name: str, old_version: str, new_version: str, *, actor: User) -> list[CaseChange]:
    """Which cases were added, removed or changed between two versions (named, or by SHA-256), by id."""
    old = get(engine, name, actor=actor, version=old_version)
    new = get(engine, name, actor=actor, version=new_version)
    return engine.stores.banks.changes(old.id, new.id)


def export(engine: Engine, name: str, format: str, *, actor: User, version: str | None = None) -> Export:
    """A bank as a file of one line a case or instance: `jsonl`, `inspect` or `promptfoo`.

    Raises:
        NotFoundError: `unknown_bank`, `unknown_version`.
        InputError: `unknown_format`.
    """
    info = get(engine, name, actor=actor, version=version)
    pinned = engine.stores.banks.fixtures(info.id)

    def attachment(fixture_id: str) -> tuple[Fixture, bytes]:
        found = pinned[fixture_id]
        return found, _bytes(engine, found)

    ending = "jsonl" if format == "jsonl" else f"{format}.jsonl"
    chunks = exporting.chunks(format, engine.stores.banks.stream(info.id), attachment, fixtures=pinned.values())
    return Export(
        file_name=f"{info.name}-{re.sub(r'[^A-Za-z0-9._-]', '_', info.version)}.{ending}",
        media_type="application/x-ndjson; charset=utf-8",
        chunks=chunks,
    )


def validate(engine: Engine, name: str, *, actor: User, version: str | None = None) -> Validation:
    """Everything that is wrong with a bank, and what to do about it. The bundled bank is read from its files.

    Raises:
        NotFoundError: `unknown_bank`, `unknown_version`.
    """
    actor.require(Permission.READ)
    bundled = _bundled(engine)
    if version is None and (name == BUNDLED_BANK or (bundled is not None and bundled.name == name)):
        return validate_file(engine.settings.bank_file, rules_file=engine.settings.rules_file)
    info = get(engine, name, actor=actor, version=version)
    # The profiles are the bundled bank's; what they want of a bank's size says nothing about an imported one.
    bank = assembled(engine, info).model_copy(update={"profiles": {}})
    return _validation(validation.counts(bank), validation.validate(bank))


def validate_file(dataset_file: Path, *, rules_file: Path | None = None) -> Validation:
    """The same for a bank in files, and for the rules that judge its answers; needs no engine."""
    return _validation(*validation.validate_file(dataset_file, rules_file=rules_file))


def _validation(counts: validation.Counts, findings: list[Finding]) -> Validation:
    return Validation(
        instances=counts.instances,
        cases=counts.cases,
        clauses=counts.clauses,
        modes=counts.modes,
        findings=tuple(findings),
    )


def _bundled(engine: Engine) -> BankInfo | None:
    """The bundled bank as it is stored; stored anew when its files changed. None while they cannot be read."""
    bank = _installed(engine)
    return engine.store_bundled(bank) if bank is not None else None


def _installed(engine: Engine) -> Bank | None:
    """The bundled bank as its files say. None while they cannot be read: looking at what is stored needs them not."""
    try:
        return engine.bank()
    except BankError as error:
        log.warning("bundled_bank_unreadable", problem=error.message)
        return None


def _bytes(engine: Engine, pinned: Fixture) -> bytes:
    content, problems = read_one(engine.settings.bank_file.parent, pinned)
    if problems:
        raise error_for(problems)
    return content


def _profile(engine: Engine, name: str) -> Profile:
    return known(engine.bank().profiles, name)


def _require_name(engine: Engine, name: str, version: str | None) -> None:
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a bank: use 1 to 64 small letters, digits, '-' and '_', a letter or digit first",
            code="bad_bank_name",
        )
    if version is not None and not (version.strip() == version and 0 < len(version) <= LONGEST_VERSION):
        raise InputError(f"a version has 1 to {LONGEST_VERSION} characters, no blanks around", code="bad_version")
    bundled = _bundled(engine)
    if name == BUNDLED_BANK or (bundled is not None and bundled.name == name):
        raise ConflictError(f"{name!r} is the bank of the installed files; choose another name", code="bank_reserved")


def _read(
    engine: Engine, format: str, files: Sequence[SourceFile], mapping: ColumnMapping | None
) -> tuple[Imported, dict[str, Fixture]]:
    """What the files hold, checked, and the installed fixtures it uses."""
    bundled = _installed(engine)
    installed = bundled.fixtures if bundled is not None else {}
    imported = importers.read(format, files, mapping=mapping, installed=installed)
    if not imported.cases:
        reasons = "; ".join(f"{each.file}, line {each.line}: {each.reason}" for each in imported.unmapped[:3])
        raise InputError(f"no case could be made of {_names(files)}. {reasons}".strip(), code="nothing_to_import")
    return imported, assembling.require_executable(imported.cases, installed, file=_names(files))


def _names(files: Sequence[SourceFile]) -> str:
    return ", ".join(file.name for file in files)


def _licence(imported: Imported) -> str | None:
    licences = {each.provenance.licence for each in imported.cases if each.provenance is not None}
    return ", ".join(sorted(licence for licence in licences if licence)) or None


def _report(imported: Imported, *, bank: str, version: str, sha256: str) -> ImportReport:
    return ImportReport(
        bank=bank,
        version=version,
        sha256=sha256,
        licence=_licence(imported),
        read=imported.read,
        imported=len(imported.cases),
        unmapped=imported.unmapped,
        mapping_counts=imported.mapping_counts,
    )
