"""What a case, fixture or profile must satisfy beyond its schema. Pure: models in, (key, problem, fix) out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from engine import rules
from engine.bank.problems import one_of
from engine.domain.cases import Case, EmptyCells, Fixture, Instance, Mode, Profile, ToolCallPolicy
from engine.domain.clauses import BY_ID, GROUPS
from engine.errors import InputError

Finding = tuple[str, str, str]
"""The key, what is wrong with it, and what to do."""

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
                compiled = rules.compiled(pattern)  # kept: judging finds it ready
            except InputError as error:
                words = f"check {check.check_id!r}: not a regular expression ({error.__cause__})"
                yield where, words, "correct the pattern"
                continue
            if unicodedata.normalize("NFKC", pattern) != pattern:
                # The text is folded before it is searched, so a full-width character in a pattern never fits.
                folded = unicodedata.normalize("NFKC", pattern)
                words = f"check {check.check_id!r}: answers are NFKC-folded"
                yield where, words, f"write the pattern so too: {folded!r}"
            if compiled.search(""):
                words = f"check {check.check_id!r}: {pattern!r} fits every text, even an empty one"
                yield where, words, "narrow it"
    for number, tool in enumerate(case.tools):
        yield from _schema_findings(f"tools[{number}].parameters", tool.parameters)
    if case.tool_call_policy is not None:
        yield from _policy_findings(case.tool_call_policy, [tool.name for tool in case.tools])


def instance_findings(instance: Instance, fixtures: Mapping[str, Fixture | None]) -> Iterator[Finding]:
    """Whether the fixtures an instance names exist and fit how it is executed; None: it exists but is wrong itself."""
    for turn_number, turn in enumerate(instance.turns):
        for position, name in enumerate(turn.fixtures):
            where = f"turns[{turn_number}].fixtures[{position}]"
            if name not in fixtures:
                hint = one_of(fixtures, instead_of=name) if fixtures else "it has none"
                yield where, f"no fixture {name!r} in fixtures.json", f"add it there or correct the name ({hint})"
            elif (fixture := fixtures[name]) and fixture.is_image and CONTENT not in fixture.access.model:
                yield where, f"the model may not see the image {name!r}", f"let its access.model hold {CONTENT!r}"
    if instance.mode is Mode.MULTIMODAL:
        known = [fixtures[name] for name in instance.fixture_ids if name in fixtures]
        if known and not any(fixture is None or fixture.is_image for fixture in known):
            yield "turns", "a multimodal case needs an image", "documents go with the other modes"


def fixture_findings(fixture: Fixture) -> Iterator[Finding]:
    """Whether a fixture's path stays in its folder and its access policy can be applied."""
    path = PurePosixPath(fixture.path)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in fixture.path or ":" in fixture.path
    if unsafe or len(path.parts) < 2 or path.parts[0] != FOLDER:
        yield "path", f"{fixture.path!r} leaves the folder {FOLDER}/", f"name a file in it, as {FOLDER}/name.png"
    for reader in ("model", "judge"):
        fields: tuple[str, ...] = getattr(fixture.access, reader)
        yield from _repeated(f"access.{reader}", "field", fields)
        if fixture.media_type != "application/json":
            for name in fields:
                if name != CONTENT:
                    words = f"{fixture.media_type} has the one field {CONTENT!r}, not {name!r}"
                    yield f"access.{reader}", words, "correct the policy"
    for name in fixture.access.judge:
        if name in fixture.access.model:
            yield "access.judge", f"{name!r} is visible to the model already, and so to the judge", "list it once"


def profile_findings(profile: Profile) -> Iterator[Finding]:
    """Whether a profile's conditions can be met at all."""
    for clause in profile.select.clauses:
        if clause not in BY_ID:
            yield "select.clauses", f"no clause {clause!r}", "known: A.1.a to A.5.b"
    for kind, count in profile.sample_per_kind.items():
        if count < 1:
            yield f"sample_per_kind.{kind}", f"{count} questions are none", "name how many, or leave the kind out"
    if profile.sample is not None and profile.sample_per_kind:
        yield "sample_per_kind", "a profile draws by sample or by sample_per_kind", "remove one of the two"
    for group in profile.minima.content_per_clause:
        if group not in GROUPS:
            yield f"minima.content_per_clause.{group}", f"no group {group!r}", "known: A.1 to A.5"
    for tag in profile.select.tags:
        if not all(tag.partition(":")):
            yield "select.tags", f"{tag!r} is not of the form scheme:code", "write it as profile:smoke"


def empty_cells_findings(cells: EmptyCells) -> Iterator[Finding]:
    """Whether the clauses of deliberately empty cells exist, and a reason is given in both languages."""
    for number, clause in enumerate(cells.clauses):
        if clause not in BY_ID and clause not in GROUPS:
            yield f"clauses[{number}]", f"no clause and no group {clause!r}", "known: A.1 to A.5, A.1.a to A.5.b"
    for language in ("zh", "en"):
        if not getattr(cells.reason, language).strip():
            yield f"reason.{language}", "is empty", "say why no question is asked there"


def _policy_findings(policy: ToolCallPolicy, offered: list[str]) -> Iterator[Finding]:
    named = {
        "allowed": policy.allowed or (),
        "forbidden": policy.forbidden,
        "required": policy.required,
        "order": policy.order,
        "confirm_before": policy.confirm_before,
        "arguments": tuple(policy.arguments),
    }
    for part, names in named.items():
        for name in names:
            if name not in offered:
                words = f"names the tool {name!r}, which the case does not offer"
                yield f"tool_call_policy.{part}", words, f"correct the name ({one_of(offered, instead_of=name)})"
    for name in policy.required:
        if name in policy.forbidden:
            yield "tool_call_policy.required", f"{name!r} is required and forbidden", "choose one"
        elif policy.allowed is not None and name not in policy.allowed:
            yield "tool_call_policy.required", f"{name!r} is required and not allowed", "add it to allowed"
    yield from _repeated("tool_call_policy.order", "tool", policy.order)
    if len(policy.order) == 1:
        yield "tool_call_policy.order", "one tool alone has no order", "name what comes before or after it"
    for part in ("order", "confirm_before"):
        for name in getattr(policy, part):
            if name in policy.forbidden:
                yield f"tool_call_policy.{part}", f"{name!r} is forbidden, so this is never reached", "choose one"
    if policy.max_calls is not None and policy.max_calls < len(policy.required):
        yield "tool_call_policy.max_calls", f"{policy.max_calls} calls cannot hold all required tools", "raise it"
    for name, schema in policy.arguments.items():
        yield from _schema_findings(f"tool_call_policy.arguments.{name}", schema)


def _schema_findings(where: str, schema: dict[str, Any]) -> Iterator[Finding]:
    from jsonschema.exceptions import SchemaError  # slow to import, and only tools need it
    from jsonschema.validators import Draft202012Validator

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "its top"
        yield where, f"not a valid JSON Schema (at {place}: {error.message})", "correct it"
    if any(not reference.startswith("#") for reference in _references(schema)):
        # A judge must never fetch a schema from an address that a case file names.
        yield where, "refers to another document by $ref", "write that schema out here"


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
            yield where, f"{what} {name!r} is given twice", "rename or remove one"
        seen.add(name)
