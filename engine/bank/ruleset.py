"""From the rules file to a checked rule set; what is wrong names file, rule (or detector) and key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from engine.bank import files
from engine.bank.problems import Problem, error_for, parse
from engine.domain.base import Model
from engine.errors import BankError, InputError
from engine.rules import compiled
from engine.rules.dsl import Rule, check
from engine.rules.rubric import SAFETY, Detector, RuleSet

RULES_FILE = "rules.json"

_Entry = TypeVar("_Entry", Rule, Detector)


class Reading(NamedTuple):
    """The rule set, or everything that keeps the file from being one."""

    rules: RuleSet | None
    problems: list[Problem]


class _Head(Model):
    version: str = Field(pattern=r"\S")
    detectors: None = None
    """Read apart, one by one, as the rules are."""
    rules: None = None


def load(file: Path) -> RuleSet:
    """Read and check the rules.

    Raises:
        BankError: names the file, the rule or detector and the key, for up to five problems.
    """
    reading = read(file)
    if reading.rules is None:
        raise error_for(reading.problems)
    return reading.rules


def read(file: Path) -> Reading:
    """The rules, or all that is wrong with them. A file that is missing or not JSON is a problem too."""
    if not file.exists():
        return Reading(
            None, [Problem(file.name, "", "", "no such file", "put it there, or name another in RULES_FILE")]
        )
    try:
        raw = files.read_object(file)
    except BankError as error:
        return Reading(None, [Problem(file.name, "", "", error.message.removeprefix(file.name).lstrip(",: "))])
    _, problems = parse(_Head, raw | {"detectors": None, "rules": None}, file=file.name, subject="")
    detectors, found = _entries(Detector, raw, "detectors", "element", "detector", file=file.name)
    problems += found
    rules, found = _entries(Rule, raw, "rules", "rule_key", "rule", file=file.name)
    problems += found
    problems += (each for detector in detectors for each in _of_detector(detector, file.name))
    problems += (each for rule in rules for each in _of_rule(rule, file.name))
    if problems:
        return Reading(None, problems)
    try:
        return Reading(RuleSet.model_validate(raw), [])
    except ValidationError as error:
        # What only the set as a whole can break: a name given twice, an element nobody finds.
        whole = [
            Problem(file.name, "", "rules", str(each["msg"]).removeprefix("Value error, ")) for each in error.errors()
        ]
        return Reading(None, whole)


def _entries(
    model: type[_Entry], raw: dict[str, Any], key: str, id_key: str, what: str, *, file: str
) -> tuple[list[_Entry], list[Problem]]:
    listed = raw.get(key, [])
    if not isinstance(listed, list):
        return [], [Problem(file, "", key, "must be a list in [ ]", "correct the type")]
    entries: list[_Entry] = []
    problems: list[Problem] = []
    for number, item in enumerate(listed, start=1):
        named = item.get(id_key) if isinstance(item, dict) else None
        name = named if isinstance(named, str) else ""
        subject = f"{what} {name!r}" if name else f"{what} number {number}"
        entry, found = parse(model, item, file=file, subject=subject, item=name)
        problems += found
        if entry is not None:
            entries.append(entry)
    return entries, problems


def _of_detector(detector: Detector, file: str) -> Iterator[Problem]:
    for key in ("patterns", "unless"):
        for number, pattern in enumerate(getattr(detector, key)):
            try:
                compiled(pattern)
            except InputError as error:
                subject = f"detector {detector.element!r}"
                yield Problem(
                    file, subject, f"{key}[{number}]", error.message, "correct the pattern", item=detector.element
                )


def _of_rule(rule: Rule, file: str) -> Iterator[Problem]:
    try:
        check(rule, SAFETY)
    except InputError as error:
        said = error.message.removeprefix(f"rule {rule.rule_key}: ")
        key = "effects" if "slot" in said or "attr" in said else "category" if "category" in said else "conditions"
        yield Problem(file, f"rule {rule.rule_key!r}", key, said, "correct it", item=rule.rule_key)


def frozen(rules: RuleSet) -> dict[str, Any]:
    """The rules as a run keeps them: plain JSON, from which `RuleSet.model_validate` makes the same set again."""
    kept: dict[str, Any] = json.loads(rules.model_dump_json(exclude_defaults=True))
    return kept
