"""What a case, fixture or profile must satisfy beyond its schema. Pure: models in, (key, words) out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator

from engine.bank.problems import one_of
from engine.domain.cases import Case, Fixture, Instance, Mode, Profile, ToolCallPolicy
from engine.domain.clauses import BY_ID

Finding = tuple[str, str]

FOLDER = "fixtures"
"""The folder beside fixtures.json that every fixture lies in."""

CONTENT = "content"
"""The one field of an image or a text."""


def case_findings(case: Case) -> Iterator[Finding]:
    """Checks, tools and the tool policy of one case."""
    yield from _repeated("variants", "variant", [variant.variant for variant in case.variants])
    yield from _repeated("checks", "check_id", [check.check_id for check in case.checks])
    yield from _repeated("tools", "name", [tool.name for tool in case.tools])
    for number, check in enumerate(case.checks):
        for position, pattern in enumerate(check.patterns):
            where = f"checks[{number}].patterns[{position}]"
            try:
                compiled = re.compile(pattern, re.IGNORECASE)
            except re.error as error:
                yield where, f"check {check.check_id!r}: not a regular expression ({error}); correct the pattern"
                continue
            if unicodedata.normalize("NFKC", pattern) != pattern:
                # The text is folded before it is searched, so a full-width character in a pattern never fits.
                folded = unicodedata.normalize("NFKC", pattern)
                yield where, f"check {check.check_id!r}: answers are NFKC-folded; write the pattern so too: {folded!r}"
            if compiled.search(""):
                yield where, f"check {check.check_id!r}: {pattern!r} fits every text, even an empty one; narrow it"
    for number, tool in enumerate(case.tools):
        yield from _schema_findings(f"tools[{number}].parameters", tool.parameters)
    if case.tool_call_policy is not None:
        yield from _policy_findings(case.tool_call_policy, [tool.name for tool in case.tools])


def instance_findings(instance: Instance, fixtures: Mapping[str, Fixture]) -> Iterator[Finding]:
    """Whether the fixtures an instance names exist and fit how it is executed."""
    for turn_number, turn in enumerate(instance.turns):
        for position, name in enumerate(turn.fixtures):
            where = f"turns[{turn_number}].fixtures[{position}]"
            if name not in fixtures:
                hint = one_of(fixtures, instead_of=name) if fixtures else "it has none"
                yield where, f"no fixture {name!r} in fixtures.json; add it there or correct the name ({hint})"
            elif fixtures[name].is_image and CONTENT not in fixtures[name].access.model:
                yield where, f"the model may not see the image {name!r}; let its access.model hold {CONTENT!r}"
    if instance.mode is Mode.MULTIMODAL:
        known = [fixtures[name] for name in instance.fixture_ids if name in fixtures]
        if known and not any(fixture.is_image for fixture in known):
            yield "turns", "a multimodal case needs an image; documents go with the other modes"


def fixture_findings(fixture: Fixture) -> Iterator[Finding]:
    """Whether a fixture's path stays in its folder and its access policy can be applied."""
    path = PurePosixPath(fixture.path)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in fixture.path or ":" in fixture.path
    if unsafe or len(path.parts) < 2 or path.parts[0] != FOLDER:
        yield "path", f"{fixture.path!r} leaves the folder {FOLDER}/; name a file in it, as {FOLDER}/name.png"
    for reader in ("model", "judge"):
        fields: tuple[str, ...] = getattr(fixture.access, reader)
        yield from _repeated(f"access.{reader}", "field", fields)
        if fixture.media_type != "application/json":
            for name in fields:
                if name != CONTENT:
                    yield f"access.{reader}", f"{fixture.media_type} has the one field {CONTENT!r}, not {name!r}"
    for name in fixture.access.judge:
        if name in fixture.access.model:
            yield "access.judge", f"{name!r} is visible to the model already, and so to the judge; list it once"


def profile_findings(profile: Profile) -> Iterator[Finding]:
    """Whether a profile's conditions can be met at all."""
    for clause in profile.select.clauses:
        if clause not in BY_ID:
            yield "select.clauses", f"no clause {clause!r}; known: A.1.a to A.5.b"
    for tag in profile.select.tags:
        if not all(tag.partition(":")):
            yield "select.tags", f"{tag!r} is not of the form scheme:code, as profile:smoke"


def _policy_findings(policy: ToolCallPolicy, offered: list[str]) -> Iterator[Finding]:
    named = {
        "allowed": policy.allowed or (),
        "forbidden": policy.forbidden,
        "required": policy.required,
        "arguments": tuple(policy.arguments),
    }
    for part, names in named.items():
        for name in names:
            if name not in offered:
                words = f"names the tool {name!r}, which the case does not offer ({one_of(offered, instead_of=name)})"
                yield f"tool_call_policy.{part}", words
    for name in policy.required:
        if name in policy.forbidden:
            yield "tool_call_policy.required", f"{name!r} is required and forbidden; choose one"
        elif policy.allowed is not None and name not in policy.allowed:
            yield "tool_call_policy.required", f"{name!r} is required and not allowed; add it to allowed"
    if policy.max_calls is not None and policy.max_calls < len(policy.required):
        yield "tool_call_policy.max_calls", f"{policy.max_calls} calls cannot hold all required tools; raise it"
    for name, schema in policy.arguments.items():
        yield from _schema_findings(f"tool_call_policy.arguments.{name}", schema)


def _schema_findings(where: str, schema: dict[str, Any]) -> Iterator[Finding]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "its top"
        yield where, f"not a valid JSON Schema (at {place}: {error.message}); correct it"
    if any(not reference.startswith("#") for reference in _references(schema)):
        # A judge must never fetch a schema from an address that a case file names.
        yield where, "refers to another document by $ref; write that schema out here"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
                yield inner
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _repeated(where: str, what: str, names: Iterable[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield where, f"{what} {name!r} is given twice; rename or remove one"
        seen.add(name)
