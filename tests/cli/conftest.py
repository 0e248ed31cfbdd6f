"""The command line as a process of its own, in a scratch folder."""

from __future__ import annotations

import shutil

import pytest

from tests.support import engines
from tests.support.command_line import CommandLine


@pytest.fixture
def magistrate(tmp_path):
    """A command line in a scratch folder; its bank is bundled unless `bank_of` gives a smaller one."""
    return CommandLine(tmp_path)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A database file as `init-db` leaves it, made once: each start of the command costs a second."""
    folder = tmp_path_factory.mktemp("prepared")
    with engines.opened(folder, run_worker=False):
        pass
    return folder / "platform.db"


@pytest.fixture
def small(tmp_path, prepared):
    """A prepared database and a bank of 60 plain cases, profile `full`."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(60)])
    shutil.copy(prepared, tmp_path / "platform.db")
    return CommandLine(tmp_path, BANK_FILE=str(bank))
