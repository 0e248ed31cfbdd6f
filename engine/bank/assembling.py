"""Banks that did not come from our three files: checked case by case, and put together for a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine.bank.loading import Bank, checked, expand
from engine.bank.problems import Problem, error_for
from engine.domain.cases import Case, Fixture, Instance, Profile


def require_executable(cases: Iterable[Case], fixtures: Mapping[str, Fixture], *, file: str) -> dict[str, Fixture]:
    """The fixtures the cases use.

    Raises:
        BankError: a case could not be executed or judged, or two have the same id; names file, case and key.
    """
    problems: list[Problem] = []
    owner: dict[str, str] = {}
    used: dict[str, Fixture] = {}
    for case in cases:
        instances, found = checked(case, fixtures, file=file)
        problems += found
        earlier = owner.setdefault(case.case_id.casefold(), case.case_id)
        if earlier is not case.case_id:
            subject = f"case {case.case_id!r}"
            problems.append(Problem(file, subject, "case_id", f"same id as case {earlier!r}", "rename one"))
        for instance in instances:
            used |= {name: fixtures[name] for name in instance.fixture_ids if name in fixtures}
    if problems:
        raise error_for(problems)
    return used


def assemble(
    *,
    name: str,
    version: str,
    sha256: str,
    folder: Path,
    cases: Iterable[Case],
    fixtures: Mapping[str, Fixture],
    profiles: Mapping[str, Profile],
) -> Bank:
    """A bank of stored cases, checked when they were stored, with the profiles and the fixture files of `folder`."""
    kept: list[Case] = []
    return Bank(
        name=name,
        version=version,
        sha256=sha256,
        folder=folder,
        instances=tuple(_expanded(cases, kept)),
        cases=tuple(kept),
        fixtures=dict(fixtures),
        profiles=dict(profiles),
    )


def _expanded(cases: Iterable[Case], kept: list[Case]) -> Iterator[Instance]:
    for case in cases:
        kept.append(case)
        for _, values in expand(case):
            yield Instance(**values)
