"""The page about judging says what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from engine.judging import arbitration, refusal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "judging.md"


def test_the_page_shows_the_arbitration_line_by_line_as_the_code_documents_it():
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    documented: list[list[str]] = []
    for line in (inspect.getdoc(arbitration.conclude) or "").splitlines():
        state, verdict = line[4:84].strip(), line[84:].strip()
        if re.match(r"\d+ ", line):
            documented.append([line[:4].strip(), state, verdict])
        elif documented and line.startswith("    "):
            documented[-1][1] = f"{documented[-1][1]} {state}".strip()
            documented[-1][2] = f"{documented[-1][2]} {verdict}".strip()
    assert len(documented) > 10
    assert [[number, state.replace("`", ""), verdict] for number, state, verdict in shown] == [
        [number, state.replace("`", ""), verdict] for number, state, verdict in documented
    ]


def test_the_page_shows_every_state_of_an_answer_with_its_refusal_type():
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## Refusal")[2].partition("## The LLM judge")[0]
    rows = re.findall(r"^\| (?!What|-)(.+?) \| (.+?) \|", section, re.MULTILINE)
    assert len(rows) == len(refusal.State)
    types = [kind.strip("`") for _, kind in rows]
    assert sorted(types) == sorted(
        row.refusal_type.value if row.refusal_type else "none" for row in refusal.TABLE.values()
    )
