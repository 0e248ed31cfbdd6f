"""A disk that is full in the middle of a run. The limit on file sizes is the disk: a write beyond it is refused."""

from __future__ import annotations

import resource
import time

import pytest

from tests.support import ledger
from tests.support.killing import JUDGE, MODEL
from tests.support.scripted_server import ScriptedServer

IN_FLIGHT = 4
PAGE = 4096 + 24
"""A page in the write-ahead log."""


def fill_the_disk(pid: int, bytes_left: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (bytes_left, resource.RLIM_INFINITY))


@pytest.mark.parametrize("pages_left", [0, 3, 9, 20])
def test_a8_a_full_disk_ends_the_run_in_words_and_the_run_goes_on_when_there_is_space(small, pages_left):
    """A8."""
    with ScriptedServer(capable=True, judging=True, latency_s=0.03) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", MODEL)
        with small.start(*arguments, "--judge-model", JUDGE, "--concurrency", IN_FLIGHT) as process:
            while len(server.chats) < 25:
                assert process.poll() is None
                time.sleep(0.005)
            log = small.database.with_name("platform.db-wal")
            # Without any space at all not even the run's end can be stored; people are told all the same.
            fill_the_disk(process.pid, log.stat().st_size + pages_left * PAGE if pages_left else PAGE)
            out, err = process.communicate()
        assert process.returncode == 3
        assert "the storage is full" in err and "make space" in err and "interrupted" in out
        assert "Traceback" not in err
        ledger.require_sound(small.database)
        full = ledger.read(small.database, 1)
        asked = sum(call.json["model"] == MODEL and b"uestion number" in call.content for call in server.chats)
        assert 0 <= asked - full.succeeded <= IN_FLIGHT, "what was answered is stored, but for what was in flight"
        assert full.pending == 60 - full.succeeded > 0
        small("resume", "1")
    now = ledger.read(small.database, 1)
    assert (now.status, now.succeeded, len(now.conclusions)) == ("completed", 60, 60)
    assert {name: now.answers[name] for name in full.answers} == full.answers
