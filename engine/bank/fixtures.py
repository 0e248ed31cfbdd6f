"""The pinned files a question leans on: checked before a run, shown only as far as their policy allows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from engine.bank.checking import CONTENT, FOLDER
from engine.bank.loading import FIXTURES_FILE, Bank
from engine.bank.problems import Problem, error_for
from engine.domain.cases import Fixture, Instance


def read_fixtures(bank: Bank, instances: Iterable[Instance]) -> dict[str, bytes]:
    """The bytes of every fixture that `instances` use, by SHA-256.

    All fixtures of the bank are checked, used or not: a bank with one altered file is not the bank its hash names.

    Raises:
        BankError: names the fixture, the file, and both hashes where one differs.
    """
    used = {fixture_id for instance in instances for fixture_id in instance.fixture_ids}
    problems = [
        Problem(FIXTURES_FILE, "", "fixtures", f"an instance uses {name!r}, which bank {bank.name!r} lacks", "add it")
        for name in sorted(used - bank.fixtures.keys())
    ]
    contents: dict[str, bytes] = {}
    for fixture in bank.fixtures.values():
        content, found = read_one(bank.folder, fixture)
        problems += found
        if not found and fixture.fixture_id in used:
            contents[fixture.sha256] = content
    if problems:
        raise error_for(problems)
    return contents


def visible(fixture: Fixture, content: bytes, *, to: Literal["model", "judge"]) -> str:
    """What of a document's text `to` may see; empty where its policy shows nothing.

    The judge sees what the model sees, and the fields meant for it alone. A JSON document keeps the order of its keys.

    Raises:
        ValueError: an image; it travels as bytes.
    """
    if fixture.is_image:
        raise ValueError(f"{fixture.fixture_id!r} is an image; it is sent as bytes, not as text")
    shown = fixture.access.model if to == "model" else (*fixture.access.model, *fixture.access.judge)
    text = content.decode("utf-8-sig")
    if fixture.media_type == "text/plain":
        return text if CONTENT in shown else ""
    fields = {key: value for key, value in json.loads(text).items() if key in shown}
    return json.dumps(fields, ensure_ascii=False, indent=2) if fields else ""


def read_one(folder: Path, fixture: Fixture) -> tuple[bytes, list[Problem]]:
    """The bytes of one fixture of the bank in `folder`, and what is wrong with them."""
    content, words = _read(folder, fixture)
    subject = f"fixture {fixture.fixture_id!r}, file {fixture.path!r}"
    if not words:
        return content, []
    problem, fix = words
    return content, [Problem(FIXTURES_FILE, subject, "", problem, fix, item=fixture.fixture_id)]


def _read(folder: Path, fixture: Fixture) -> tuple[bytes, tuple[str, str] | tuple[()]]:
    """The bytes; and where something is wrong, what, and what to do."""
    file = (folder / fixture.path).resolve()
    if not file.is_relative_to((folder / FOLDER).resolve()):
        return b"", (f"leads out of the folder {FOLDER}/ through a link", "put the file itself there")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return b"", (f"is missing (expected SHA-256 {fixture.sha256})", "restore the file or remove the fixture")
    except OSError as error:
        return b"", (f"cannot be read ({error.strerror})", "make it a readable file")
    found = hashlib.sha256(content).hexdigest()
    if found != fixture.sha256:
        words = f"has SHA-256 {found}, but {FIXTURES_FILE} says {fixture.sha256}"
        return content, (words, "restore the file, or put the new hash there if the change is meant")
    return content, _unusable(fixture, content)


def _unusable(fixture: Fixture, content: bytes) -> tuple[str, str] | tuple[()]:
    """Why the access policy cannot be applied to a document, and what to do."""
    if fixture.is_image:
        return ()
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text) if fixture.media_type == "application/json" else {CONTENT: text}
    except ValueError as error:
        return f"is not {fixture.media_type} in UTF-8 ({error})", "correct the file and its hash"
    if not isinstance(document, dict):
        return "must hold one JSON object, whose keys the access policy names", "wrap the content in one"
    unknown = [name for name in (*fixture.access.model, *fixture.access.judge) if name not in document]
    if unknown:
        return f"has no field {unknown[0]!r}, which its access policy names", "correct the policy"
    return ()
