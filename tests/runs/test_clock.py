"""A clock that somebody sets while a run is under way."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
import time_machine

from engine.domain.base import utc_now
from engine.domain.runs import RunStatus, WaitingReason
from engine.services import runs
from tests.support import engines, running
from tests.support.engines import ADMIN
from tests.support.running import rows
from tests.support.scripted_server import ScriptedServer, Step

HOUR_S = 3600.0


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["forward", "back"])
def test_a_clock_that_jumps_changes_no_duration_ends_no_wait_and_keeps_no_run_waiting(installation, jump):
    """J5."""
    with ScriptedServer(capable=True, latency_s=0.05) as server, installation(40) as engine:

        def go_down(place, _):
            if place == 20:
                server.always(Step(drop=True))

        running.questions_meet(server, go_down)
        run = running.start(engine, server.base_url, max_concurrency=2)
        while runs.get(engine, run.id, actor=ADMIN).completed_count < 4:
            time.sleep(0.01)
        with time_machine.travel(utc_now() + jump):
            now = runs.progress(engine, run.id, actor=ADMIN)
            while now.run.waiting is None:
                assert now.elapsed_s < HOUR_S / 2
                assert now.eta_s is None or 0 <= now.eta_s < HOUR_S / 2
                time.sleep(0.02)
                now = runs.progress(engine, run.id, actor=ADMIN)
                assert not now.run.status.is_over, now.run.error
            assert now.run.waiting.reason == WaitingReason.PROVIDER_DOWN
            with time_machine.travel(utc_now() - jump):  # and back again, while the run waits
                time.sleep(0.5)
                assert runs.get(engine, run.id, actor=ADMIN).status == RunStatus.RUNNING, "no outage has lasted an hour"
            server.always(None)
            run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count) == (RunStatus.COMPLETED, 40)
        assert all(0 <= each.latency_ms < HOUR_S / 2 * 1000 for each in rows(engine, run.id))
        ended = runs.progress(engine, run.id, actor=ADMIN)
        assert ended.elapsed_s >= 0


def test_a_pause_that_was_asked_for_ends_although_the_clock_is_set_back(installation, server):
    """J5."""
    with installation(6) as engine:
        pause = Step(status=429, headers={"Retry-After": "1"})
        running.questions_meet(server, lambda place, _: pause if place == 1 else None)
        run = running.start(engine, server.base_url, max_concurrency=1)
        while engine.worker.live(run.id) is not None and engine.worker.live(run.id).waiting is None:
            time.sleep(0.01)
        with time_machine.travel(utc_now() - timedelta(hours=1)):
            run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count, run.waiting) == (RunStatus.COMPLETED, 6, None)
