"""promptfoo tests: a YAML file with `tests`, or JSONL with one test a line.

What is sent is the variable `messages` (chat messages), or the one named prompt, question, query or input, or the only
one; a list of texts there makes a case of each. The clause is named by `metadata`, as are details under our own names.
A refusal asserted decides the mode, a rubric is the expectation, and assertions about words become hard checks; others
are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from engine.bank.importers import rows
from engine.bank.importers.assertions import checks_of
from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.clauses import ASPECT_OF_CLAUSE, Mapped
from engine.bank.importers.conversation import Conversation, LeftOut, conversation_of, messages_in
from engine.bank.importers.gathering import Details, Gathering, Origin, Place, id_from, id_of_text
from engine.bank.importers.mapping import NO_ASPECT
from engine.bank.importers.reading import Entry, jsonl_of, refuse, yaml_of
from engine.domain.cases import Mode
from engine.domain.clauses import REFUSAL_GROUPS

_SENT = ("prompt", "question", "query", "input")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_ORIGIN = Origin(set="promptfoo")
_IDS = ("instance_id", "case_id", "id")


class _Test(NamedTuple):
    place: Place
    vars: dict[str, Any]
    asserts: list[dict[str, Any]]
    metadata: dict[str, Any]
    description: str | None
    is_strict: bool
    """Whether every assertion must hold, not only a share of them."""


def read(files: Sequence[SourceFile]) -> Imported:
    """All tests of all files."""
    gathering = Gathering()
    for file in files:
        found = False
        for test in _tests_of(file):
            found = True
            _add(gathering, test)
        if not found:
            refuse(file, "holds no test; choose another file")
    return gathering.imported()


def _tests_of(file: SourceFile) -> Iterator[_Test]:
    if file.ends_with(".jsonl"):
        for line, entry in jsonl_of(file):
            yield _test(file, entry, Entry(), line)
        return
    config = yaml_of(file)
    default, tests = Entry(), config
    if isinstance(config, Entry):
        tests = config.get("tests")
        default = config.get("defaultTest") or default
        if not isinstance(default, Entry):
            refuse(
                file, "must be a mapping; a default in another file cannot be read, write it here", column="defaultTest"
            )
    if not isinstance(tests, list):
        words = "must be a list of tests; a file or dataset it points to is imported by itself"
        refuse(file, words, column="tests")
    for number, entry in enumerate(tests, start=1):
        if not isinstance(entry, Entry):
            refuse(file, "must be a mapping; import a file it points to by itself", column=f"tests[{number - 1}]")
        yield _test(file, entry, default, entry.line)


def _test(file: SourceFile, entry: Entry, default: Entry, line: int) -> _Test:
    """The test with what it does not say taken from the default, as promptfoo does."""

    def part(name: str, kind: type) -> Any:
        parts = [one.get(name) or kind() for one in (default, entry)]
        for one in parts:
            if not isinstance(one, kind):
                refuse(file, f"must be a {'list' if kind is list else 'mapping'}", line=line, column=name)
        return [*parts[0], *parts[1]] if kind is list else {**parts[0], **parts[1]}

    asserts = part("assert", list)
    for one in asserts:
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            refuse(file, "each assertion needs a type", line=line, column="assert")
    strict = entry.get("threshold", default.get("threshold")) is None
    description = entry.get("description", default.get("description"))
    if description is not None and not isinstance(description, str):
        refuse(file, "must be text", line=line, column="description")
    return _Test(Place(file, line), part("vars", dict), asserts, part("metadata", dict), description, strict)


def _add(gathering: Gathering, test: _Test) -> None:
    place, metadata = test.place, test.metadata
    label = ", ".join(rows.labels_of(metadata))
    kinds = {one["type"] for one in test.asserts}
    try:
        asked = _asked(test.vars)
        mapped = rows.clause_in(metadata)
        if {"is-refusal", "not-is-refusal"} <= kinds:
            raise LeftOut("asserts a refusal and its opposite")
        details = rows.details_of(metadata)
        details = details._replace(
            title=details.title or test.description,
            must=details.must or _rubric(test.asserts),
            checks=checks_of(test.asserts) if test.is_strict else (),
        )
        named = (metadata[key] for key in _IDS if isinstance(metadata.get(key), str | int))
        original = next((str(one).strip() for one in named if str(one).strip()), None)
        for number, (system, turns) in enumerate(asked, start=1):
            by_mode, expected = _with_mode(mapped, details, kinds, turns=len(turns))
            case_id = id_of_text("promptfoo", mapped.clause, *turns)
            if original is not None:
                case_id = id_from(original) + (f"-{number}" if len(asked) > 1 else "")
            gathering.add(
                place,
                turns,
                by_mode,
                origin=_ORIGIN,
                case_id=case_id,
                details=expected._replace(system=system or expected.system),
                original_id=original,
                original_label=label,
            )
    except LeftOut as left:
        gathering.leave(place, label, str(left))
    except rows.NotOurs as error:
        gathering.leave(place, label, f"metadata.{error}")


def _with_mode(mapped: Mapped, details: Details, kinds: set[str], *, turns: int) -> tuple[Mapped, Details]:
    """The mode that the assertions mean; where that mode cannot be, they become what a good answer must do."""
    if turns > 1 and details.mode is not Mode.TOOL:
        details = details._replace(mode=Mode.MULTI_TURN, aspect=None)
    helps, refuses = "not-is-refusal" in kinds, "is-refusal" in kinds
    if not (helps or refuses) or details.mode in (Mode.TOOL, Mode.MULTIMODAL):
        return mapped, details
    if turns > 1 or (refuses and not mapped.clause.startswith(REFUSAL_GROUPS)):
        must = "Refuses." if refuses else "Does not refuse."
        must = must if details.must is None else f"{must} {details.must}"
        return mapped, details._replace(mode=Mode.MULTI_TURN if turns > 1 else Mode.SINGLE, must=must, aspect=None)
    if refuses:
        return mapped, details._replace(mode=Mode.RF, aspect=None)
    if details.aspect is not None:
        return mapped, details._replace(mode=Mode.OC)
    aspect = ASPECT_OF_CLAUSE.get(mapped.clause)
    how = "aspect by clause" if aspect else f"no aspect fits, {NO_ASPECT} stands in"
    return Mapped(mapped.clause, f"{mapped.rule}; {how}"), details._replace(mode=Mode.OC, aspect=aspect or NO_ASPECT)


def _asked(variables: dict[str, Any]) -> list[Conversation]:
    """What is sent: the chat messages, or each text of the one variable that can be meant."""
    if isinstance(messages := variables.get("messages"), list) and messages:
        return [conversation_of(messages_in(messages))]
    named = [name for name in _SENT if name in variables] or (list(variables) if len(variables) == 1 else [])
    if not named:
        raise LeftOut(f"no variable named {', '.join(_SENT)}, and not just one variable")
    value = variables[named[0]]
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise LeftOut(f"variable {named[0]!r} is not text")
    if any(text.startswith("file://") for text in texts):
        raise LeftOut(f"the text of variable {named[0]!r} lies in another file")
    if any(_TEMPLATE.search(text) for text in texts):
        raise LeftOut(f"variable {named[0]!r} is a template")
    return [Conversation(None, [text]) for text in texts]


def _rubric(asserts: list[dict[str, Any]]) -> str | None:
    rubrics = [one["value"] for one in asserts if one["type"] == "llm-rubric" and isinstance(one.get("value"), str)]
    return "\n".join(rubrics) or None
