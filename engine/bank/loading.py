"""From three JSON files to a checked bank with its cases expanded."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from engine.bank import checking, files
from engine.bank.problems import Problem, error_for, from_validation, parse
from engine.domain.base import Localized, Model
from engine.domain.cases import Case, EmptyCells, Fixture, Instance, Mode, Profile, Question, Variant
from engine.rules import fold

DATASET_FILE = "dataset.json"
FIXTURES_FILE = "fixtures.json"
PROFILES_FILE = "profiles.json"
EMPTY_CELLS_FILE = "empty_cells.json"
"""May be absent: then the bank does not promise to fill every cell."""

_Entry = TypeVar("_Entry", Case, Fixture, Profile, EmptyCells)


class Bank(Model):
    """A checked question bank. Instances stand in the order of their cases, a case before its variants."""

    name: str
    version: str
    sha256: str
    """Of the questions and fixtures alone: see `digest`."""
    folder: Path = Field(repr=False)
    """Where the files lie; fixture paths are relative to it."""
    cases: tuple[Case, ...]
    fixtures: dict[str, Fixture]
    profiles: dict[str, Profile]
    instances: tuple[Instance, ...]
    empty_cells: tuple[EmptyCells, ...] | None = None
    """Which cells of clause and mode are deliberately empty; None where the bank does not say."""
    file: str = DATASET_FILE
    """What the file of the cases is called."""

    def why_empty(self, clause: str, mode: Mode) -> Localized | None:
        """Why a cell of clause and mode deliberately holds no question; None where no reason is given."""
        return next((cells.reason for cells in self.empty_cells or () if cells.holds(clause, mode)), None)


class _Head(Model):
    bank: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    version: str = Field(pattern=r"\S")
    cases: None = None
    """Read apart, one by one; named here because a message about an unknown key lists the known ones."""


class Reading(NamedTuple):
    """What could be read of a bank, and everything that is wrong with it."""

    bank: Bank
    """Of the entries that could be read: complete only where nothing is wrong."""
    problems: list[Problem]
    unread: list[str]
    """The JSON of the cases that could not be read."""


def load(dataset_file: Path) -> Bank:
    """Read and check a bank: the dataset file, and `fixtures.json` and `profiles.json` beside it.

    The fixtures' bytes are not read here; `read_fixtures` checks them before each run.

    Raises:
        BankError: names the file, the case (fixture, profile) and the key, for up to five problems.
    """
    reading = read(dataset_file)
    if reading.problems:
        raise error_for(reading.problems)
    return reading.bank


def read(dataset_file: Path) -> Reading:
    """What can be read of a bank, and every problem of its files; see `load`.

    Raises:
        BankError: a file is missing or not JSON.
    """
    with uncollected():
        return _read(dataset_file)


@contextmanager
def uncollected() -> Iterator[None]:
    """While a large bank is made or looked through: millions of objects, all of which stay.

    Going over them again and again in search of garbage takes as long as the work itself.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _read(dataset_file: Path) -> Reading:
    folder = dataset_file.parent
    dataset = files.read_object(dataset_file)
    head, problems = parse(_Head, dataset | {"cases": None}, file=dataset_file.name, subject="")
    raw_fixtures = files.read_object(folder / FIXTURES_FILE)
    # A case that uses a fixture which is there but wrong is not blamed for it.
    fixtures_by_id: dict[str, Fixture | None] = dict.fromkeys(_named(raw_fixtures.get("fixtures"), "fixture_id"))
    fixtures, found = _entries(Fixture, raw_fixtures, file=FIXTURES_FILE)
    problems += found
    profiles, found = _entries(Profile, files.read_object(folder / PROFILES_FILE), file=PROFILES_FILE)
    problems += found
    empty_cells, found = _empty_cells(folder / EMPTY_CELLS_FILE)
    problems += found

    fixtures_by_id |= {fixture.fixture_id: fixture for fixture in fixtures}
    unread: list[str] = []
    cases, found = _entries(Case, {"cases": dataset.pop("cases", None)}, file=dataset_file.name, unread=unread)
    problems += found
    instances: list[Instance] = []
    for case in cases:
        expanded, found = checked(case, fixtures_by_id, file=dataset_file.name)
        instances += expanded
        problems += found
    bank = Bank(
        name=head.bank if head is not None else "",
        version=head.version if head is not None else "",
        sha256=digest(cases, fixtures),
        folder=folder,
        cases=tuple(cases),
        fixtures={fixture.fixture_id: fixture for fixture in fixtures},
        profiles={profile.name: profile for profile in profiles},
        instances=tuple(instances),
        empty_cells=empty_cells,
        file=dataset_file.name,
    )
    return Reading(bank, problems, unread)


def digest(cases: Iterable[Case], fixtures: Iterable[Fixture]) -> str:
    """SHA-256 that names what a bank asks: equal exactly when cases and fixtures are.

    Over the UTF-8 bytes of `{"cases": [...], "fixtures": [...]}` as JSON with sorted keys, no spaces and no escapes
    beyond the necessary ones; both lists sorted by id, and keys that hold their default left out. So neither layout,
    a byte order mark, the order of cases, nor a default written out changes it. The bank's name, its version and its
    profiles are not part of it; a fixture's bytes are, through their own hash.
    """
    content = hashlib.sha256()
    # Piece by piece: a large bank as one text costs as much memory again as its cases.
    lists: dict[str, list[Case] | list[Fixture]] = {
        "cases": sorted(cases, key=lambda case: case.case_id),
        "fixtures": sorted(fixtures, key=lambda fixture: fixture.fixture_id),
    }
    opening = "{"
    for name, entries in lists.items():
        content.update(f'{opening}"{name}":['.encode())
        for number, entry in enumerate(entries):
            dumped = entry.model_dump(mode="json", exclude_defaults=True)
            text = json.dumps(dumped, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            content.update(f",{text}".encode() if number else text.encode())
        content.update(b"]")
        opening = ","
    content.update(b"}")
    return content.hexdigest()


def expand(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each instance of a case as (its id, its values): the case as written, then every variant laid over it."""
    shared = {name: getattr(case, name) for name in Question.model_fields}
    shared |= {"case_id": case.case_id, "seed_case": case.case_id}
    yield case.case_id, shared | {"instance_id": case.case_id}
    for variant in case.variants:
        own = {name: getattr(variant, name) for name in Variant.model_fields if name != "variant"}
        instance_id = f"{case.case_id}/{variant.variant}"
        yield instance_id, shared | {k: v for k, v in own.items() if v is not None} | {"instance_id": instance_id}


def checked(case: Case, fixtures: Mapping[str, Fixture | None], *, file: str) -> tuple[list[Instance], list[Problem]]:
    """A case and its variants as they would be executed, and what keeps them from it."""
    subject = f"case {case.case_id!r}"
    problems = [Problem(file, subject, *found, item=case.case_id) for found in checking.case_findings(case)]
    instances: list[Instance] = []
    for instance_id, values in expand(case):
        whose = subject if instance_id == case.case_id else f"{subject}, variant {instance_id.partition('/')[2]!r}"
        try:
            instance = Instance(**values)
        except ValidationError as error:
            problems += from_validation(error, Instance, file=file, subject=whose, item=instance_id)
            continue
        instances.append(instance)
        found = checking.instance_findings(instance, fixtures)
        problems += [Problem(file, whose, *words, item=instance_id) for words in found]
    return instances, problems


def _empty_cells(file: Path) -> tuple[tuple[EmptyCells, ...] | None, list[Problem]]:
    if not file.exists():
        return None, []
    entries, problems = _entries(EmptyCells, files.read_object(file), file=file.name)
    return tuple(entries), problems


_KEYS: dict[type[Model], tuple[str, str, str]] = {
    Case: ("case", "cases", "case_id"),
    Fixture: ("fixture", "fixtures", "fixture_id"),
    Profile: ("profile", "profiles", "name"),
    EmptyCells: ("entry", "empty_cells", ""),
}
"""What an entry is called, the key of the list, the key of an entry's id."""


def _entries(
    model: type[_Entry], raw: dict[str, Any], *, file: str, unread: list[str] | None = None
) -> tuple[list[_Entry], list[Problem]]:
    """The entries of the one list in a file; ids that differ only in case or Unicode form count as the same.

    The list is emptied while it is read: a large one need not be held twice.
    """
    what, key, id_key = _KEYS[model]
    problems: list[Problem] = [
        Problem(file, "", name, "unknown key", f"the file holds {key!r} only, remove it") for name in raw if name != key
    ]
    listed = raw.get(key)
    if not isinstance(listed, list):
        words = ("is missing", "add the list") if listed is None else ("must be a list in [ ]", "correct the type")
        return [], [*problems, Problem(file, "", key, *words)]
    entries: list[_Entry] = []
    owner: dict[str, str] = {}
    for number, item in enumerate(listed, start=1):
        listed[number - 1] = None
        named = item.get(id_key) if isinstance(item, dict) else None
        name = named if isinstance(named, str) else ""
        subject = f"{what} {named!r}" if name else f"{what} number {number}"
        entry, found = parse(model, item, file=file, subject=subject, item=name)
        problems += found
        if isinstance(named, str):
            earlier = owner.setdefault(fold(named), named)
            if earlier is not named:
                problems.append(
                    Problem(file, subject, id_key, f"same id as {what} {earlier!r}", "rename one", item=name)
                )
        if entry is not None:
            entries.append(entry)
            problems += [Problem(file, subject, *words, item=name) for words in _findings(entry)]
        elif unread is not None:
            unread.append(json.dumps(item, ensure_ascii=False))
    return entries, problems


def _named(listed: object, key: str) -> Iterator[str]:
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get(key), str):
            yield item[key]


def _findings(entry: Case | Fixture | Profile | EmptyCells) -> Iterable[checking.Finding]:
    match entry:
        case Fixture():
            return checking.fixture_findings(entry)
        case Profile():
            return checking.profile_findings(entry)
        case EmptyCells():
            return checking.empty_cells_findings(entry)
        case _:
            return ()  # a case is checked when all fixtures are known
