"""The documents the tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_reader import ROOT, Document, read_document, tracked_files


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def repository(root: Path) -> list[Path]:
    """Every file of the repository; skips where the sources were unpacked without their history."""
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    return sorted(tracked_files(root))


@pytest.fixture(scope="session")
def documents(root: Path) -> list[Document]:
    """Every Markdown file in the root folder and below docs/."""
    return [read_document(path) for path in (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")))]


@pytest.fixture(scope="session")
def readme(root: Path) -> Document:
    return read_document(root / "README.md")


@pytest.fixture(scope="session")
def chinese_readme(root: Path) -> Document:
    return read_document(root / "README.zh-CN.md")


@pytest.fixture(scope="session")
def operations(root: Path) -> Document:
    return read_document(root / "docs" / "tutorial" / "operations.md")


@pytest.fixture(scope="session")
def anatomy(root: Path) -> Document:
    return read_document(root / "docs" / "tutorial" / "dataset-case-anatomy.md")
