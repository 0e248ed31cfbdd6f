"""From the file of control cases to checked ones."""

from __future__ import annotations

from pathlib import Path

from engine.bank import files
from engine.bank.problems import Problem, error_for, parse
from engine.domain.controls import ControlCase


def load(file: Path) -> tuple[ControlCase, ...]:
    """Read and check the control cases; ids must differ.

    Raises:
        BankError: names the file, the control case and the key, for up to five problems.
    """
    raw = files.read_object(file)
    listed = raw.get("controls")
    if not isinstance(listed, list) or set(raw) != {"controls"}:
        raise error_for([Problem(file.name, "", "controls", "must be the only key, with a list in [ ]")])
    found: list[ControlCase] = []
    problems: list[Problem] = []
    for number, item in enumerate(listed, start=1):
        name = str(item.get("control_id", "")) if isinstance(item, dict) else ""
        subject = f"control case {name!r}" if name else f"control case number {number}"
        control, wrong = parse(ControlCase, item, file=file.name, subject=subject, item=name)
        problems += wrong
        if control is not None:
            if any(control.control_id == known.control_id for known in found):
                problems.append(Problem(file.name, subject, "control_id", "occurs twice", "give each its own"))
            found.append(control)
    if problems:
        raise error_for(problems)
    return tuple(found)
