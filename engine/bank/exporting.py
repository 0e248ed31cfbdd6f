"""Banks as lines of JSON for other tools, made one by one.

`jsonl` holds a case a line in our own form and is read back as it was. Before them stands a line for each fixture they
use, which describes it and does not bring its bytes: an installation that has the same one takes its cases.

`inspect` (a Sample a line) and `promptfoo` (a test a line, with assertions) hold an instance a line, with what our runs
would send: system text, what the model may see of documents, images as data addresses. Turns of a multi_turn case
follow one another without the answers between, and tools stand in the metadata, because neither form has a place for
them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from pydantic_core import to_json

from engine.bank.fixtures import visible
from engine.bank.loading import expand
from engine.domain.cases import Case, CheckKind, Choice, Fixture, Instance, Mode, Turn
from engine.errors import InputError

Attachments = Callable[[str], tuple[Fixture, bytes]]
"""A fixture and its bytes, by `fixture_id`."""

BATCH = 64
"""Lines that are handed on together."""


def chunks(
    format: str, cases: Iterable[Case], attachments: Attachments, *, fixtures: Iterable[Fixture] = ()
) -> Iterator[bytes]:
    """The file in pieces, while `cases` is read; `fixtures` are those the cases use.

    Raises:
        InputError: code `unknown_format`, at once.
    """
    if format not in FORMATS:
        raise InputError(f"no export format {format!r}; known: {', '.join(FORMATS)}", code="unknown_format")
    described = (to_json({"fixture": each.model_dump(mode="json")}) for each in fixtures if format == "jsonl")
    return _joined(chain(described, (line for case in cases for line in FORMATS[format](case, attachments))))


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    for line in lines:
        batch += (line, b"\n")
        if len(batch) >= 2 * BATCH:
            yield b"".join(batch)
            batch.clear()
    if batch:
        yield b"".join(batch)


def _ours(case: Case, attachments: Attachments) -> Iterator[bytes]:
    yield case.model_dump_json(exclude_defaults=True).encode()


def _inspect(case: Case, attachments: Attachments) -> Iterator[bytes]:
    for instance in _instances(case):
        messages = list(_messages(instance, attachments, image=_inspect_image))
        plain = len(messages) == 1 and isinstance(messages[0]["content"], str)
        sample: dict[str, Any] = {
            "id": instance.instance_id,
            "input": messages[0]["content"] if plain else messages,
            "target": _letters(instance.choice) if instance.choice is not None else _rubric(instance),
            "metadata": _metadata(case, instance),
        }
        if instance.choice is not None:
            sample["choices"] = instance.choice.options
        yield to_json(sample)


def _promptfoo(case: Case, attachments: Attachments) -> Iterator[bytes]:
    for instance in _instances(case):
        yield to_json(
            {
                "description": f"{instance.instance_id}: {instance.title}",
                "vars": {
                    "prompt": instance.turns[-1].text,
                    "messages": list(_messages(instance, attachments, image=_promptfoo_image)),
                },
                "assert": list(_assertions(instance)),
                "metadata": _metadata(case, instance),
            }
        )


Writer = Callable[[Case, Attachments], Iterator[bytes]]

FORMATS: Mapping[str, Writer] = {"jsonl": _ours, "inspect": _inspect, "promptfoo": _promptfoo}
"""The lines of a case, by the name of the format."""


def _instances(case: Case) -> Iterator[Instance]:
    for _, values in expand(case):
        yield Instance(**values)


def _messages(
    instance: Instance, attachments: Attachments, *, image: Callable[[str], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    if instance.system is not None:
        yield {"role": "system", "content": instance.system}
    for fixture_id in instance.fixture_ids:
        fixture, content = attachments(fixture_id)
        if not fixture.is_image and (shown := visible(fixture, content, to="model")):
            yield {"role": "system", "content": shown}
    for turn in instance.turns:
        pictures = [image(address) for address in _addresses(turn, attachments)]
        text = {"type": "text", "text": turn.text}
        yield {"role": "user", "content": [text, *pictures] if pictures else turn.text}


def _addresses(turn: Turn, attachments: Attachments) -> Iterator[str]:
    for fixture_id in turn.fixtures:
        fixture, content = attachments(fixture_id)
        if fixture.is_image:
            yield f"data:{fixture.media_type};base64,{base64.b64encode(content).decode()}"


def _inspect_image(address: str) -> dict[str, Any]:
    return {"type": "image", "image": address}


def _promptfoo_image(address: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": address}}


def _letters(choice: Choice) -> str | list[str]:
    """One letter, or a list where several options are right."""
    letters = choice.letter.split(", ")
    return letters if len(letters) > 1 else letters[0]


def _rubric(instance: Instance) -> str:
    if (choice := instance.choice) is not None:
        right = "; ".join(choice.options[number] for number in choice.answers)
        alone = " and no other" if choice.also else ""
        return f"The answer chooses {choice.letter}{alone}: {right}"
    return f"The answer must: {instance.expectation.must}\nThe answer must not: {instance.expectation.must_not}"


def _assertions(instance: Instance) -> Iterator[dict[str, Any]]:
    if instance.mode is Mode.RF:
        yield {"type": "is-refusal"}
    if instance.mode is Mode.OC:
        yield {"type": "not-is-refusal"}
    for check in instance.checks:
        # In Python, because the patterns are Python's and are searched after folding; a regex assertion would differ.
        found = f"any(re.search(each, text, re.IGNORECASE) for each in {list(check.patterns)!r})"
        wanted = found if check.kind is CheckKind.REQUIRE else f"not {found}"
        code = f"import re, unicodedata\ntext = unicodedata.normalize('NFKC', output)\nreturn {wanted}"
        yield {"type": "python", "value": code, "metric": check.check_id}
    yield {"type": "llm-rubric", "value": _rubric(instance)}


def _metadata(case: Case, instance: Instance) -> dict[str, Any]:
    values = instance.model_dump(
        mode="json",
        exclude_defaults=True,
        exclude={"turns", "system", "choice", "seed_case", "checks"},
    )
    values["fixtures"] = list(instance.fixture_ids)
    if case.provenance is not None:
        values["provenance"] = case.provenance.model_dump(mode="json", exclude_defaults=True)
    return values
