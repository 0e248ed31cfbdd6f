"""Two processes on one database: one runs the engine. Fifty tries: `make bench`."""

from __future__ import annotations

import pytest

from tests.support import engines, forked
from tests.support.contending import contend
from tests.support.scripted_server import ScriptedServer

TRIES = 3


@pytest.fixture(scope="session")
def another_forker():
    with forked.forking() as process:
        yield process


def test_a11_two_that_resume_the_same_run_at_once_ask_no_item_twice(small, another_forker):
    """A11."""
    other = forked.ForkedCommandLine(another_forker, small.folder, BANK_FILE=small.variables["BANK_FILE"])
    with ScriptedServer(capable=True) as server:
        for _ in range(TRIES):
            contend(small, other, server)


def test_a11_beside_a_running_engine_runs_are_refused_in_words_and_reading_works(small):
    """A11. That a second server serves without an engine is tested with the command line."""
    with engines.opened(small.folder):
        for command in (("run", "--profile", "full", "--provider", "demo"), ("resume", "1")):
            said = small(*command, code=3).stderr
            assert "(test)" in said and "lock" in said
        assert "0 of 0 runs" in small("runs").stdout
        small("backup", "copy.db")
    assert "completed" in small("run", "--profile", "full", "--provider", "demo").stdout
