"""Reading one JSON file of a bank, strictly: what two readers could understand differently is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from engine.errors import BankError

_NAMES = ("case_id", "fixture_id", "name", "variant", "check_id", "rule_key", "element")


def read_object(file: Path) -> dict[str, Any]:
    """The JSON object in `file`: UTF-8, with or without a byte order mark.

    Raises:
        BankError: missing, unreadable, not UTF-8, not JSON (with line and column), a key given twice, not an object.
    """
    text = _text(file)

    def strict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            owner = next((f", in {name} {found[name]!r}" for name in _NAMES if name in found and name != twice), "")
            raise BankError(f"{file.name}{owner}: key {twice!r} is given twice in one object; keep one of them")
        return found

    def no_number(word: str) -> NoReturn:
        raise BankError(f"{file.name}: {word} is not a JSON number; write a number or null")

    try:
        value = json.loads(text, object_pairs_hook=strict, parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise BankError(
            f"{file.name}, line {error.lineno}, column {error.colno}: not readable as JSON ({error.msg}); "
            "correct the file there"
        ) from error
    except (RecursionError, ValueError) as error:
        # Absurd nesting, or an integer of thousands of digits: Python refuses both to protect itself.
        raise BankError(f"{file.name}: nested too deeply or holds a number that is too long; simplify it") from error
    if not isinstance(value, dict):
        raise BankError(f"{file.name}: must hold one JSON object in {{ }} at its top; wrap the content in one")
    return value


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise BankError(
            f"{file.name}: no such file; dataset.json, fixtures.json and profiles.json must lie in one folder"
        ) from error
    except OSError as error:
        raise BankError(f"{file.name}: cannot be read ({error.strerror}); check that it is a readable file") from error
    except UnicodeDecodeError as error:
        raise BankError(
            f"{file.name}: not UTF-8 text (byte {error.object[error.start]:#04x} at position {error.start}); "
            "save the file as UTF-8"
        ) from error
