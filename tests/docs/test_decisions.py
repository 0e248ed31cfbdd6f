"""The index of decisions is complete, and every dependency says what it earns."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from docs_reader import read_document


def test_the_index_lists_every_decision_once_under_its_own_title(root: Path) -> None:
    folder = root / "docs" / "adr"
    index = re.findall(r"^\| \[(\d{4})\]\(([\w.-]+)\) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    files = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [name for _, name, _ in index] == files
    assert [number for number, _, _ in index] == [name[:4] for name in files]
    for number, name, _ in index:
        level, title = read_document(folder / name).headings[0]
        assert level == 1
        assert title.startswith(f"{int(number)}. ")


def test_every_decision_tells_context_decision_and_consequences(root: Path) -> None:
    for path in sorted((root / "docs" / "adr").glob("[0-9]*.md")):
        parts = [text for level, text in read_document(path).headings if level == 2]
        assert parts == ["Context", "Decision", "Consequences"], path.name


def test_every_direct_dependency_says_what_it_earns_and_no_other_is_named(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = [re.match(r"[\w.-]+", requirement).group() for requirement in declared]  # type: ignore[union-attr]
    text = (root / "docs" / "adr" / "0013-dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([\w.-]+)` \| .{10,} \|$", text, re.MULTILINE)
    assert explained == names
