"""Runs whose provider fails: they wait, say why, burn nothing, and end by themselves."""

from __future__ import annotations

import time

import pytest

from engine.domain.runs import RunStatus, WaitingReason
from engine.services import results, runs
from tests.support import engines, ledger, running
from tests.support.engines import ADMIN
from tests.support.running import questions, rows
from tests.support.scripted_server import ScriptedServer, Step


def until(condition, *, patience_s=30.0):
    """What `condition` gives once it is true."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came to that")


def waiting_for(engine, run_id, reason):
    def look():
        waiting = runs.progress(engine, run_id, actor=ADMIN).run.waiting
        return waiting if waiting is not None and waiting.reason == reason else None

    return until(look)


@pytest.mark.parametrize("fault", [Step(drop=True), Step(status=503, body="down")], ids=["no connection", "5xx"])
def test_a_provider_that_goes_down_is_waited_for_and_nothing_is_burned(installation, tmp_path, fault):
    """C21, with an outage of seconds."""
    with ScriptedServer(capable=True) as server, installation(40, run_pause_max_seconds=600) as engine:

        def go_down(place, _):
            if place == 10:
                server.always(fault)

        running.questions_meet(server, go_down)
        run = running.start(engine, server.base_url, max_concurrency=4)
        waiting = waiting_for(engine, run.id, WaitingReason.PROVIDER_DOWN)
        assert waiting.until is not None and "scripted" in waiting.message
        until(lambda: engine.stores.runs.get(run.id).waiting is not None)  # other processes see it too
        until(lambda: runs.progress(engine, run.id, actor=ADMIN).in_flight == 0)
        asked = len(questions(server))
        calls = len(server.chats)
        until(lambda: len(server.chats) > calls)
        assert len(questions(server)) == asked, "while the circuit is open only trial calls are made"
        server.always(None)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 40, 0)
        assert run.waiting is None
        kept = ledger.read(tmp_path / "platform.db", run.id)
        assert (kept.planned, kept.succeeded, kept.answered) == (40, 40, 40)


def test_a_provider_that_stays_down_interrupts_the_run_and_its_items_stay_pending(installation, tmp_path):
    """C21."""
    with ScriptedServer(capable=True) as server, installation(30, run_pause_max_seconds=1) as engine:
        running.questions_meet(server, lambda place, _: server.always(Step(drop=True)) if place == 5 else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=4).id)
        assert run.status == RunStatus.INTERRUPTED and "resume to go on" in run.error
        assert (run.error_count, run.waiting) == (0, None)
        kept = ledger.read(tmp_path / "platform.db", run.id)
        assert kept.pending == 30 - kept.succeeded > 0
        server.always(None)
        runs.resume(engine, run.id, actor=ADMIN)
        assert engines.until_over(engine, run.id).completed_count == 30


def test_a_run_over_items_that_always_break_their_provider_ends_by_itself(installation, server):
    """The provider answers everything else, so the items are at fault, however many there are in a row."""
    with installation(6, request_retry_count=1) as engine:
        running.questions_meet(server, lambda place, _: Step(status=500, body="crash"))
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=3).id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 0, 6)
        assert [kind.code for kind in results.errors(engine, run.id, actor=ADMIN)] == ["server_error"]
        runs.retry_errors(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.error_count) == (RunStatus.COMPLETED, 6)


@pytest.mark.parametrize("status", [401, 403])
def test_three_refused_keys_in_a_row_interrupt_the_run_at_once(installation, server, status):
    """C6."""
    with installation(20) as engine:
        running.questions_meet(server, lambda place, _: Step(status=status) if place >= 5 else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.status == RunStatus.INTERRUPTED and "key_refused" in run.error
        assert (run.completed_count, run.error_count) == (5, 0)
        assert len(questions(server)) == 8


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_a_repetition_cannot_help_is_called_once(installation, server, status):
    """C6."""
    with installation(5) as engine:
        running.questions_meet(
            server, lambda place, asked: Step(status=status) if b"number 2:" in asked.content else None
        )
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 4, 1)
        assert len(questions(server)) == 5


def test_a_pause_that_is_too_long_fails_the_item_and_frees_its_place(installation, server):
    """C3."""
    with installation(6) as engine:
        day = Step(status=429, headers={"Retry-After": "86400"})
        running.questions_meet(server, lambda place, asked: day if b"number 2:" in asked.content else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 5, 1)
        (broken,) = rows(engine, run.id, execution_status="error")
        assert broken.error.code == "rate_limited" and "rate-limited until" in broken.error.message
        assert len(questions(server)) == 6


def test_a_run_that_is_asked_to_pause_says_until_when(installation, server):
    with installation(8) as engine:
        pause = Step(status=429, headers={"Retry-After": "2"})
        running.questions_meet(server, lambda place, _: pause if 2 <= place < 4 else None)
        run = running.start(engine, server.base_url, max_concurrency=2)
        waiting = waiting_for(engine, run.id, WaitingReason.RATE_LIMITED)
        assert waiting.until is not None and waiting.since < waiting.until
        run = engines.until_over(engine, run.id)
        assert (run.completed_count, run.error_count, run.waiting) == (8, 0, None)


def test_a_run_that_is_asked_to_pause_while_it_probes_says_until_when(installation, server):
    with installation(3) as engine:
        server.script(Step(status=429, headers={"Retry-After": "2"}))
        started = running.start(engine, server.base_url)
        waiting = waiting_for(engine, started.id, WaitingReason.RATE_LIMITED)
        assert waiting.until is not None and waiting.since < waiting.until
        stored = until(lambda: engine.stores.runs.get(started.id).waiting)
        assert stored == waiting, "other processes read it from the store"
        assert runs.get(engine, started.id, actor=ADMIN).status == RunStatus.PROBING
        run = engines.until_over(engine, started.id)
        assert (run.status, run.completed_count, run.error_count, run.waiting) == (RunStatus.COMPLETED, 3, 0, None)


def test_an_endpoint_that_is_asked_too_fast_gets_fewer_items_at_once(installation):
    """C4."""
    with ScriptedServer(capable=True, latency_s=0.02) as server, installation(60, request_retry_count=8) as engine:
        limits = set()
        running.questions_meet(server, lambda place, _: Step(status=429) if 8 <= place < 16 else None)
        run = running.start(engine, server.base_url, max_concurrency=8)
        while not runs.get(engine, run.id, actor=ADMIN).status.is_over:
            if (live := engine.worker.live(run.id)) is not None and live.limit is not None:
                limits.add(live.limit)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count) == (RunStatus.COMPLETED, 60)
        assert max(limits) == 8 and min(limits) <= 6


def test_a_fifth_of_all_calls_failing_in_passing_costs_no_answers(installation, tmp_path):
    """C20, with 100 instances."""
    with ScriptedServer(capable=True, fault_rate=0.2) as server, installation(100, request_retry_count=6) as engine:
        run = running.start(engine, server.base_url, max_concurrency=8, timeout_s=3.0)
        run = engines.until_over(engine, run.id)
        kept = ledger.read(tmp_path / "platform.db", run.id)
        assert run.status == RunStatus.COMPLETED
        assert kept.planned == kept.succeeded + kept.failed == 100 and kept.succeeded >= 99
        assert all(each.output is None and each.verdict is None for each in rows(engine, run.id) if each.error)
        assert len(questions(server)) > 100
        assert set(server.answered.values()) == {1}, "no whole answer is bought twice"
        assert kept.answered == kept.succeeded
