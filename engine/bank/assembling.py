"""Banks that did not come from our three files: checked case by case, and put together for a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from engine.bank import checking
from engine.bank.loading import Bank, expand
from engine.bank.problems import Problem, error_for, from_validation
from engine.domain.cases import Case, Fixture, Instance, Profile


def checked(case: Case, fixtures: Mapping[str, Fixture], *, file: str) -> tuple[list[Instance], list[Problem]]:
    """A case and its variants as they would be executed, and what keeps them from it."""
    subject = f"case {case.case_id!r}"
    problems = [Problem(file, subject, *words, item=case.case_id) for words in checking.case_findings(case)]
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
