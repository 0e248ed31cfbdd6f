"""The server is killed, started again, stopped, and runs out of space, as its clients see it."""

from __future__ import annotations

import resource
import signal

import httpx
import pytest

from engine.store.database import installed_driver
from tests.support import ledger
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer, Step
from tests.support.served import Server, fill_with_results

IN_FLIGHT = 8
RESULTS = 1000


@pytest.fixture
def command(small):
    """The real command; serving replaces the process."""
    return CommandLine(small.folder, BANK_FILE=small.variables["BANK_FILE"], REQUEST_TIMEOUT_SECONDS="60")


@pytest.fixture
def model():
    with ScriptedServer(capable=True) as server:
        yield server


def start_a_run(server: Server, model: ScriptedServer) -> int:
    """Answers come until eight calls hang."""
    model.script(*[Step()] * 20)
    model.always(Step(hang=True))
    draft = {"name": "scripted", "kind": "openai", "base_url": model.base_url, "default_model": "m"}
    provider = server.post("/providers", {**draft, "max_concurrency": IN_FLIGHT})
    body = {"profile": "full", "auto_judge": True, "provider_id": provider["id"]}
    run_id = int(server.post("/runs", body)["id"])
    until_calls_are_in_flight(server, model, run_id)
    return run_id


def until_calls_are_in_flight(server: Server, model: ScriptedServer, run_id: int) -> None:
    server.until(f"/runs/{run_id}", lambda run: run["status"] == "running" and model.in_flight == IN_FLIGHT)


def test_a4_a6_a7_a8_a10_a_server_that_is_killed_out_of_space_or_stopped_loses_nothing(small, command, model):
    """A4, A6, A7, A8, A10: one story, because each start of a server takes seconds."""
    reported = fill_with_results(command.database, RESULTS)
    with Server(command) as server:
        facts = "journal_mode wal, synchronous full, foreign_keys on"
        assert f"sqlite_version {installed_driver().sqlite_version}, {facts}" in server.said(), "A10"
        run_id = start_a_run(server, model)
        with (
            pytest.raises(httpx.TransportError),
            server.client.stream("GET", f"/runs/{reported}/export") as report,
        ):
            for _ in report.iter_bytes():
                server.process.kill()
                server.process.wait()
    killed = ledger.read(command.database, run_id)
    assert (killed.status, killed.succeeded + killed.pending) == ("running", killed.planned)

    model.always(Step(delay_s=1))
    with Server(command) as server:
        run = server.get(f"/runs/{run_id}")
        assert run["status"] == "interrupted" and "resume" in run["error"], "A6"
        report = server.client.get(f"/runs/{reported}/export").text
        assert f"## case-{RESULTS - 1:03}" in report and report.count("\n## ") >= RESULTS, "A4: whole"

        server.post(f"/runs/{run_id}/resume")
        until_calls_are_in_flight(server, model, run_id)
        # Nothing can be written any more, the log included.
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        run = server.until(f"/runs/{run_id}", lambda run: run["status"] != "running")
        assert run["status"] == "interrupted" and "storage is full" in run["error"], "A8"
        refused = server.client.post(f"/runs/{run_id}/resume")
        assert (refused.status_code, refused.json()["code"]) == (503, "storage_full"), "A8"
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        model.always(Step(hang=True))
        resumed = server.post(f"/runs/{run_id}/resume")
        assert resumed["status"] in ("pending", "running"), "its end is not stored over its new beginning"
        until_calls_are_in_flight(server, model, run_id)
        full = ledger.read(command.database, run_id)
        with server.client.stream("GET", f"/runs/{reported}/export"):  # and never read on
            server.stop(signal.SIGTERM)
        assert "Traceback" not in server.said(), "A7"
        assert server.process.returncode in (0, -signal.SIGTERM)
    stopped = ledger.read(command.database, run_id)
    assert (stopped.status, stopped.pending) == ("interrupted", full.pending), "A7: what was in flight is pending again"

    model.always(None)
    small("resume", run_id)
    done = ledger.read(command.database, run_id)
    assert (done.status, done.succeeded) == ("completed", done.planned), "A8"
    for earlier in (killed, full, stopped):
        assert {name: done.answers[name] for name in earlier.answers} == earlier.answers
    ledger.require_sound(command.database)
