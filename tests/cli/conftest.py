"""The command line as a process of its own, in a scratch folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import engines

MAGISTRATE = Path(sys.executable).with_name("magistrate")


class CommandLine:
    """Runs `magistrate` in `folder`, with settings from the environment as CI gives them."""

    def __init__(self, folder, **variables):
        self.folder = folder
        self.variables = {
            **{name: value for name, value in os.environ.items() if name.upper() == name},
            "DATABASE_URL": f"sqlite:///{folder / 'platform.db'}",
            "AUTH_TOKEN_SECRET": "test-secret-" + "x" * 32,
            "REQUEST_RETRY_COUNT": "1",
            "REQUEST_RETRY_DELAY_SECONDS": "0.01",
            "REQUEST_TIMEOUT_SECONDS": "5",
            "DEMO_ANSWER_SECONDS": "0",
            **variables,
        }

    def start(self, *arguments, **variables) -> subprocess.Popen:
        return subprocess.Popen(
            [str(MAGISTRATE), *map(str, arguments)],
            cwd=self.folder,
            env={**self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, *arguments, code=0, **variables) -> subprocess.CompletedProcess:
        """Runs to the end and checks the exit code."""
        with self.start(*arguments, **variables) as process:
            out, err = process.communicate(timeout=90)
        assert process.returncode == code, f"exit {process.returncode}, expected {code}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


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
