"""A real database file for every test, and short words for what tests put into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.store import Database, GroupCommit, Stores


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'platform.db'}")
    opened.migrate()
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
