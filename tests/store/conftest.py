"""A real database file for every test, and short words for what tests put into it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.store import Database, GroupCommit, Stores


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of this release; tests work on copies."""
    path = tmp_path_factory.mktemp("template") / "platform.db"
    made = Database(f"sqlite:///{path}")
    made.migrate()
    made.close()
    return path


@pytest.fixture
def database(migrated_file: Path, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "platform.db"
    shutil.copy(migrated_file, path)
    opened = Database(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture
def stores(database: Database) -> Stores:
    return Stores.over(database)


@pytest.fixture
def writer(database: Database) -> Iterator[GroupCommit]:
    group = GroupCommit(database)
    group.start()
    yield group
    group.stop()
