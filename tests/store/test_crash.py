"""A process that is killed loses nothing it had promised."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from engine.domain.runs import ResultFilter
from engine.domain.verdicts import Verdict
from engine.store import EngineLock, GroupCommit
from engine.store.database import installed_driver
from tests.store.samples import answer, make_run, settle

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from engine.domain.verdicts import Verdict
from engine.store import Database, GroupCommit, Stores
from tests.store.samples import answer, judgement

database = Database(sys.argv[1])
stores = Stores.over(database)
group = GroupCommit(database)
group.start()
waiting = [item.execution_id for item in stores.results.pending(int(sys.argv[2]))]
for start in range(0, len(waiting), 8):
    part = waiting[start:start + 8]
    for future in [group.answered(key, answer(text=f"answer {key}")) for key in part]:
        future.result()
    for key in part:
        print("answered", key, flush=True)
    for future in [group.judged(key, 1, verdict=Verdict.PASS, judgements=[judgement()]) for key in part]:
        future.result()
    for key in part:
        print("judged", key, flush=True)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("lines_before_the_kill", [1, 20, 75])
def test_acknowledged_results_survive_kill_9(database, stores, lines_before_the_kill):
    run, ids = make_run(stores, 400)
    child = start(WRITER, database.url, str(run.id))
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(lines_before_the_kill)]
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.readlines()
    child.wait()
    child.stdout.close()
    promised = {
        (word, int(key)) for word, _, key in (line.strip().partition(" ") for line in lines if line.endswith("\n"))
    }

    with contextlib.closing(installed_driver().connect(str(database.path))) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    stored = {result.execution_id: result for result in stores.results.stream(run.id, ResultFilter())}
    for word, key in promised:
        assert stored[key].output == answer(text=f"answer {key}").output
        if word == "judged":
            assert stored[key].verdict is Verdict.PASS
    assert len(stored) < len(ids)

    left = stores.results.pending(run.id)
    assert sorted([*stored, *(item.execution_id for item in left)]) == ids
    group = GroupCommit(database)
    group.start()
    for item in left:
        group.answered(item.execution_id, answer(text=f"answer {item.execution_id}"))
    group.stop()
    assert stores.runs.get(run.id).completed_count == 400


LOCK_HOLDER = """
import sys, time
from engine.store import Database, EngineLock

lock = EngineLock(Database(sys.argv[1]), name="serve")
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def test_the_engine_lock_is_free_again_when_its_holder_is_killed(database):
    child = subprocess.Popen(
        [sys.executable, "-c", LOCK_HOLDER, database.url],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    mine = EngineLock(database, name="run")
    assert mine.acquire() is False
    assert mine.holder().startswith(f"process {child.pid} (serve) since 2")
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert mine.acquire() is True
    assert mine.holder().startswith(f"process {os.getpid()} (run) since 2")
    mine.release()
    assert mine.holder() == ""


def test_the_engine_lock_belongs_to_one_and_can_be_given_back_from_another_thread(database):
    import threading

    first, second = EngineLock(database), EngineLock(database)
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire()
    second.release()
    thread = threading.Thread(target=first.release)
    thread.start()
    thread.join()
    assert second.acquire()
    second.release()


def test_a_lock_that_cannot_be_taken_is_said_so(database):
    from engine.errors import UnavailableError

    database.path.with_name("platform.db.engine-lock").mkdir()
    with pytest.raises(UnavailableError, match="engine-lock cannot be taken"):
        EngineLock(database).acquire()


def test_interrupted_work_is_found_after_a_crash(stores, writer):
    run, (key, *_) = make_run(stores)
    settle(writer, key, answer())
    (lacking,) = stores.results.answered(stores.results.to_judge(run.id, only_missing=True))
    assert lacking.execution.execution_id == key
    assert lacking.execution.attempts == 1
    assert lacking.attempt == answer()
