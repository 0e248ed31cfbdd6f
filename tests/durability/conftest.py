"""Scratch installations whose commands start quickly, because these tests start many."""

from __future__ import annotations

import shutil

import pytest

from tests.support import engines, forked


@pytest.fixture(scope="session")
def forker():
    with forked.forking() as process:
        yield process


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A database file as `init-db` leaves it."""
    folder = tmp_path_factory.mktemp("prepared")
    with engines.opened(folder, run_worker=False):
        pass
    return folder / "platform.db"


@pytest.fixture
def small(tmp_path, prepared, forker):
    """A command line on a prepared database and a bank of 60 plain cases, profile `full`."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(60)])
    shutil.copy(prepared, tmp_path / "platform.db")
    return forked.ForkedCommandLine(forker, tmp_path, BANK_FILE=str(bank))
