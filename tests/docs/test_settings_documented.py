"""Every setting is described, with the default it really has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs_reader import Document
from pydantic import SecretStr

from engine.settings import ROOT, Settings

FIELDS = Settings.model_fields
SPECIAL_DEFAULTS = {
    "cors_allow_origins": "(empty)",
    "provider_allowed_hosts": "(empty)",
    "magistrate_kill_at": "(empty)",
    "auth_token_secret": "(written by the first start)",
    "secrets_key_file": "(beside the database)",
}
"""Defaults that are not a value one could type."""


def as_typed(value: object) -> str:
    """A default as a person would write it in `.env`."""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Path):
        return value.relative_to(ROOT).as_posix()
    return str(value)


def test_every_setting_is_described_in_the_operations_manual_with_its_default(operations: Document) -> None:
    described = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \| .{15,} \|$", operations.prose, re.MULTILINE))
    expected = {
        name.upper(): SPECIAL_DEFAULTS.get(name, f"`{as_typed(field.default)}`") for name, field in FIELDS.items()
    }
    assert described == expected


def test_every_setting_stands_in_the_example_with_a_line_that_explains_it(root: Path) -> None:
    lines = (root / ".env.example").read_text(encoding="utf-8").splitlines()
    listed = [
        (found.group(1), lines[number - 1])
        for number, line in enumerate(lines)
        if (found := re.match(r"#?([A-Z_]+)=", line))
    ]
    assert sorted(name for name, _ in listed) == sorted(name.upper() for name in FIELDS)
    assert [name for name, above in listed if not re.match(r"# \S.{9,}", above)] == []


def test_the_example_changes_nothing_when_it_is_used_as_it_is(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FIELDS:
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.delenv(name, raising=False)
    empty = tmp_path / "empty.env"
    empty.touch()
    as_shipped = Settings(_env_file=root / ".env.example")
    assert as_shipped == Settings(_env_file=empty)
    assert as_shipped.auth_token_secret == SecretStr("")


def test_the_commented_lines_of_the_example_are_values_that_can_be_used(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FIELDS:
        monkeypatch.delenv(name.upper(), raising=False)
    text = (root / ".env.example").read_text(encoding="utf-8")
    uncommented = tmp_path / "uncommented.env"
    uncommented.write_text(re.sub(r"^#([A-Z_]+=\S)", r"\1", text, flags=re.MULTILINE), encoding="utf-8")
    assert root / Settings(_env_file=uncommented).bank_file == ROOT / "data" / "dataset.json"
