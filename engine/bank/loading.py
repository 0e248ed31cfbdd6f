"""From three JSON files to a checked bank with its cases expanded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from engine.bank import checking, files
from engine.bank.problems import Problem, error_for, from_validation, parse
from engine.domain.base import Model
from engine.domain.cases import Case, Fixture, Instance, Profile, Question, Variant

FIXTURES_FILE = "fixtures.json"
PROFILES_FILE = "profiles.json"

_Entry = TypeVar("_Entry", Case, Fixture, Profile)


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


class _Head(Model):
    bank: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    version: str = Field(pattern=r"\S")
    cases: None = None
    """Read apart, one by one; named here because a message about an unknown key lists the known ones."""


def load(dataset_file: Path) -> Bank:
    """Read and check a bank: the dataset file, and `fixtures.json` and `profiles.json` beside it.

    The fixtures' bytes are not read here; `read_fixtures` checks them before each run.

    Raises:
        BankError: names the file, the case (fixture, profile) and the key, for up to five problems.
    """
    folder = dataset_file.parent
    dataset = files.read_object(dataset_file)
    head, problems = parse(_Head, dataset | {"cases": None}, file=dataset_file.name, subject="")
    fixtures, found = _entries(Fixture, files.read_object(folder / FIXTURES_FILE), file=FIXTURES_FILE)
    problems += found
    profiles, found = _entries(Profile, files.read_object(folder / PROFILES_FILE), file=PROFILES_FILE)
    problems += found
    cases, found = _entries(Case, {"cases": dataset.get("cases")}, file=dataset_file.name)
    problems += found

    fixtures_by_id = {fixture.fixture_id: fixture for fixture in fixtures}
    # While fixtures are wrong, cases that use them are not blamed for it.
    usable = None if any(problem.file == FIXTURES_FILE for problem in problems) else fixtures_by_id
    instances: list[Instance] = []
    for case in cases:
        expanded, found = _checked(case, usable, file=dataset_file.name)
        instances += expanded
        problems += found
    if problems or head is None:
        raise error_for(problems)
    return Bank(
        name=head.bank,
        version=head.version,
        sha256=digest(cases, fixtures),
        folder=folder,
        cases=tuple(cases),
        fixtures=fixtures_by_id,
        profiles={profile.name: profile for profile in profiles},
        instances=tuple(instances),
    )


def digest(cases: Iterable[Case], fixtures: Iterable[Fixture]) -> str:
    """SHA-256 that names what a bank asks: equal exactly when cases and fixtures are.

    Over the UTF-8 bytes of `{"cases": [...], "fixtures": [...]}` as JSON with sorted keys, no spaces and no escapes
    beyond the necessary ones; both lists sorted by id, and keys that hold their default left out. So neither layout,
    a byte order mark, the order of cases, nor a default written out changes it. The bank's name, its version and its
    profiles are not part of it; a fixture's bytes are, through their own hash.
    """
    content = {
        "cases": _dumped(sorted(cases, key=lambda case: case.case_id)),
        "fixtures": _dumped(sorted(fixtures, key=lambda fixture: fixture.fixture_id)),
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def expand(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each instance of a case as (its id, its values): the case as written, then every variant laid over it."""
    shared = {name: getattr(case, name) for name in Question.model_fields}
    shared |= {"case_id": case.case_id, "seed_case": case.case_id}
    yield case.case_id, shared | {"instance_id": case.case_id}
    for variant in case.variants:
        own = {name: getattr(variant, name) for name in Variant.model_fields if name != "variant"}
        instance_id = f"{case.case_id}/{variant.variant}"
        yield instance_id, shared | {k: v for k, v in own.items() if v is not None} | {"instance_id": instance_id}


def _checked(case: Case, fixtures: Mapping[str, Fixture] | None, *, file: str) -> tuple[list[Instance], list[Problem]]:
    subject = f"case {case.case_id!r}"
    problems: list[Problem] = [Problem(file, subject, key, words) for key, words in checking.case_findings(case)]
    instances: list[Instance] = []
    for instance_id, values in expand(case):
        whose = subject if instance_id == case.case_id else f"{subject}, variant {instance_id.partition('/')[2]!r}"
        try:
            instance = Instance(**values)
        except ValidationError as error:
            problems += from_validation(error, Instance, file=file, subject=whose)
            continue
        instances.append(instance)
        found = checking.instance_findings(instance, fixtures) if fixtures is not None else ()
        problems += [Problem(file, whose, key, words) for key, words in found]
    return instances, problems


def _entries(model: type[_Entry], raw: dict[str, Any], *, file: str) -> tuple[list[_Entry], list[Problem]]:
    """The entries of the one list in a file; ids that differ only in case count as the same."""
    what = model.__name__.lower()
    key, id_key = f"{what}s", "name" if what == "profile" else f"{what}_id"
    problems: list[Problem] = [
        Problem(file, "", name, f"unknown key; the file holds {key!r} only, remove it") for name in raw if name != key
    ]
    listed = raw.get(key)
    if not isinstance(listed, list):
        words = "is missing; add the list" if listed is None else "must be a list in [ ]; correct the type"
        return [], [*problems, Problem(file, "", key, words)]
    entries: list[_Entry] = []
    owner: dict[str, str] = {}
    for number, item in enumerate(listed, start=1):
        named = item.get(id_key) if isinstance(item, dict) else None
        subject = f"{what} {named!r}" if isinstance(named, str) else f"{what} number {number}"
        entry, found = parse(model, item, file=file, subject=subject)
        problems += found
        if isinstance(named, str):
            earlier = owner.setdefault(named.casefold(), named)
            if earlier is not named:
                problems.append(Problem(file, subject, id_key, f"same id as {what} {earlier!r}; rename one"))
        if entry is not None:
            entries.append(entry)
            problems += [Problem(file, subject, where, words) for where, words in _findings(entry)]
    return entries, problems


def _findings(entry: Case | Fixture | Profile) -> Iterable[checking.Finding]:
    match entry:
        case Fixture():
            return checking.fixture_findings(entry)
        case Profile():
            return checking.profile_findings(entry)
        case _:
            return ()  # a case is checked when all fixtures are known


def _dumped(entries: Iterable[Case] | Iterable[Fixture]) -> list[dict[str, Any]]:
    return [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries]
