"""What a terminal, a log and a program see of a run, and the commands that go over a run again."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import threading
import time

import pytest

from tests.support import running
from tests.support.scripted_server import ScriptedServer, Step


@pytest.fixture
def server():
    with ScriptedServer(capable=True) as scripted:
        yield scripted


def _run(server, *more):
    return ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", *more)


def _lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def _pieces(terminal):
    """What is written to a terminal, until whoever writes has ended."""
    with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):  # Linux: EIO at the end
        while piece := screen.read(65536):
            yield piece


def _until(condition, patience_s=60.0):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def test_retry_errors_asks_again_what_failed_and_says_when_nothing_did(small, server):
    running.questions_meet(server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 4 else None)
    assert _lines(small(*_run(server, "--json")))[-1]["error_count"] == 4
    asked = len(running.questions(server))
    *progress, last = _lines(small("retry-errors", "1", "--json"))
    assert last["event"] == "finished" and last["status"] == "completed"
    assert (last["error_count"], last["completed_count"]) == (0, 60)
    assert {line["event"] for line in progress} == {"progress"}
    assert len(running.questions(server)) == asked + 4
    assert "no execution errors" in small("retry-errors", "1", code=3).stderr
    refused = small("retry-errors", "1", "--json", code=3)
    assert json.loads(refused.stdout)["code"] == "nothing_to_retry"
    assert "no run 7" in small("retry-errors", "7", code=2).stderr


def test_judge_goes_over_the_stored_answers_and_asks_the_model_nothing(small, server):
    finished = _lines(small(*_run(server, "--no-auto-judge", "--json")))[-1]
    assert finished["verdict_counts"]["none"] == 60
    asked = len(server.chats)
    last = _lines(small("judge", "1", "--only-missing", "--json"))[-1]
    assert last["event"] == "finished" and last["verdict_counts"]["none"] == 0
    assert len(server.chats) == asked
    assert "completed" in small("judge", "1").stdout
    assert "known: demo" in small("judge", "1", "--judge-provider", "nobody", code=2).stderr
    assert "no run 7" in small("judge", "7", code=2).stderr


@pytest.mark.parametrize("command", ["resume", "retry-errors", "judge", "run"])
def test_who_holds_the_engine_is_said(small, server, command):
    server.always(Step(hang=True))
    with small.start(*_run(server)) as process:
        _until(lambda: server.chats)
        arguments = _run(server) if command == "run" else (command, "1")
        refused = small(*arguments, code=3)
        assert re.search(r"process \d+ \(run\)|\(run\)", refused.stderr), refused.stderr
        process.kill()
        process.communicate(timeout=20)


def test_a_program_reads_one_object_a_line_and_the_run_at_the_end(small, server):
    server.latency_s = 0.1
    lines = _lines(small(*_run(server, "--concurrency", "2", "--json")))
    *progress, last = lines
    fields = {"event", "run_id", "status", "done", "total", "errors", "in_flight", "rate", "eta_s", "waiting"}
    assert all(set(line) == fields | {"verdict_counts"} for line in progress)
    done = [line["done"] for line in progress]
    assert done == sorted(done) and len(set(done)) > 2
    assert last["event"] == "finished" and last["completed_count"] == 60 and last["id"] == 1


def test_a_log_gets_plain_lines(small, server):
    server.latency_s = 0.1
    done = small(*_run(server, "--concurrency", "2"))
    assert re.search(r"^run 1 running: \d+ of 60, 0 errors", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr + done.stdout
    assert done.stdout.startswith("run 1  completed  m on full: 60 answered")


def test_a_log_says_why_the_probing_waits(small, server):
    server.script(Step(status=429, headers={"Retry-After": "2"}))
    done = small(*_run(server))
    assert re.search(r"^run 1 probing: .*\nrun 1 waits: rate-limited until \d\d:\d\d:\d\d", done.stderr, re.MULTILINE)


def test_a_terminal_gets_a_bar_with_the_pace_and_the_reason_of_a_wait(small, server):
    server.latency_s = 0.05

    def pause(number, _request):
        return Step(status=429, headers={"Retry-After": "2"}) if 8 <= number < 10 else None

    running.questions_meet(server, pause)
    ours, theirs = pty.openpty()
    with small.start(*_run(server, "--concurrency", "2"), stderr=theirs, COLUMNS="120", TERM="xterm") as process:
        os.close(theirs)
        shown = b"".join(_pieces(ours))
        out, _ = process.communicate(timeout=60)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert process.returncode == 0, text
    assert "run 1 running" in text and "60/60" in text
    assert re.search(r"\d+\.\d per s", text) and re.search(r"\d+ s left", text)
    assert re.search(r"waits: rate-limited until \d\d:\d\d:\d\d", text)
    assert "completed" in out


@pytest.mark.parametrize("as_json", [True, False])
def test_ctrl_c_once_ends_in_time_although_the_provider_hangs(small, server, as_json):
    stuck = threading.Event()
    stuck.set()
    running.questions_meet(server, lambda n, _: Step(hang=True) if n >= 20 and stuck.is_set() else None)
    with small.start(*_run(server, "--concurrency", "4", *(["--json"] if as_json else []))) as process:
        _until(lambda: len(running.questions(server)) > 22)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    if as_json:
        last = json.loads(out.splitlines()[-1])
        assert last["event"] == "finished" and last["status"] == "interrupted"
    else:
        assert "`magistrate resume 1` goes on" in err
    stuck.clear()
    assert _lines(small("resume", "1", "--json"))[-1]["completed_count"] == 60


def test_a_run_imports_no_screen_and_no_data_frames(small, server):
    done = small(*_run(server, "--json"), PYTHONPROFILEIMPORTTIME="1")
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "engine.cli.running" in modules
    packages = {name.partition(".")[0] for name in modules}
    assert not packages & {"streamlit", "pandas", "numpy", "altair", "fastapi", "uvicorn", "openpyxl"}
    assert "engine.cli.bar" not in modules, "only a terminal needs it"
