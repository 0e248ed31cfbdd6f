"""RELIABILITY A1, A2 at a tenth of the count: kill -9 in the middle, resume, compare."""

from __future__ import annotations

import json
import random
import time

import pysqlite3
import pytest

from engine.domain.runs import ResultFilter
from tests.support import engines
from tests.support.scripted_server import ScriptedServer

IN_FLIGHT = 4
KILLS = 10


def stored(folder) -> dict[int, str]:
    """Every finished result as it stands in the store, by execution id."""
    with engines.opened(folder, run_worker=False) as engine:
        return {r.execution_id: r.model_dump_json() for r in engine.stores.results.stream(1, ResultFilter())}


def test_a1_a2_no_finished_result_is_lost_or_asked_again_after_kill_9(small):
    """Ten kills at random moments of one run of 60, the last resume runs to the end."""
    chance = random.Random(20261130)
    calls_before: dict[int, int] = {}
    with ScriptedServer(capable=True, latency_s=0.1) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m")
        command = (*arguments, "--concurrency", str(IN_FLIGHT))
        finished: dict[int, str] = {}
        for kill in range(KILLS):
            with small.start(*command) as process:
                _wait_for_calls(server, 8 if kill == 0 else 1, process)
                time.sleep(chance.uniform(0, 0.08))
                process.kill()
                process.communicate(timeout=20)
            if not (small.folder / "platform.db").exists():
                continue
            after = stored(small.folder)
            lost = {key for key in finished if after.get(key) is None}
            assert not lost
            assert all(_answer(after[key]) == _answer(text) for key, text in finished.items())
            finished = after
            command = ("resume", "1")
            calls_before[kill] = len(_items(server))
        done = json.loads(small("runs", "--json").stdout)["items"][0]
        if done["status"] != "completed":  # on a busy machine the last kill may come after the last answer
            done = json.loads(small("resume", "1", "--json").stdout.splitlines()[-1])
        assert done["status"] == "completed" and done["completed_count"] == 60
        calls = len(_items(server))
    final = stored(small.folder)
    assert len(final) == 60
    assert all(_answer(final[key]) == _answer(text) for key, text in finished.items()), "byte for byte"
    assert calls <= 60 + KILLS * IN_FLIGHT, "only what was in flight may be asked again"
    with pysqlite3.connect(small.folder / "platform.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_what_was_finished_before_the_kill_is_not_asked_again(small):
    with ScriptedServer(capable=True, latency_s=0.3) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m")
        with small.start(*arguments, "--concurrency", str(IN_FLIGHT)) as process:
            _wait_for_calls(server, 30, process)
            process.kill()
            process.communicate(timeout=20)
        before = stored(small.folder)
        assert 20 <= len(before) < 60
        asked = len(_items(server))
        assert asked - len(before) <= IN_FLIGHT
        small("resume", "1")
        again = _items(server)[asked:]
    assert len(again) == 60 - len(before)
    numbers = {json.loads(text)["instance_id"] for text in before.values()}
    assert not any(
        f"number {int(name.removeprefix('case-'))}:".encode() in each.content for name in numbers for each in again
    )
    after = stored(small.folder)
    assert {key: _answer(after[key]) for key in before} == {key: _answer(text) for key, text in before.items()}


def _answer(text: str) -> str:
    """A result without its verdict, which may be concluded after the kill; the answer may not change by a byte."""
    result = json.loads(text)
    kept = ("execution_id", "instance_id", "messages", "output", "error", "latency_ms", "attempts", "created_at")
    return json.dumps({name: result[name] for name in kept}, sort_keys=True)


def _items(server):
    return [each for each in server.chats if b"uestion number" in each.content]


def _wait_for_calls(server, more, process, patience_s=30.0):
    wanted, deadline = len(_items(server)) + more, time.monotonic() + patience_s
    while len(_items(server)) < wanted and process.poll() is None:
        if time.monotonic() > deadline:
            pytest.fail("the run makes no calls")
        time.sleep(0.005)
