"""Kill -9 in the middle, resume in a new process, compare what the file and the provider say. Whole: `make bench`."""

from __future__ import annotations

import json
import random
from unittest.mock import ANY

from tests.support import engines
from tests.support.killing import KilledRun
from tests.support.scripted_server import ScriptedServer

IN_FLIGHT = 4
KILLS = 10


def test_a1_a2_a5_no_finished_answer_or_verdict_is_lost_or_paid_twice_after_kill_9(small):
    """A1, A2, A5. Every third kill comes within a second of the start, be it that of a resume."""
    chance = random.Random(20261130)
    with ScriptedServer(capable=True, judging=True, latency_s=0.04) as server:
        run = KilledRun(small, server, in_flight=IN_FLIGHT)
        for kill in range(KILLS):
            if kill % 3 == 2:
                run.kill_soon(chance, within_s=1.0, from_start=True)
            else:
                run.kill_soon(chance, within_s=0.25, from_start=False)
        run.finish()
    assert run.kills == KILLS


def test_a6_a_run_whose_process_was_killed_is_interrupted_for_whoever_looks_next(small):
    """A6. Whether or not an engine has been started since."""
    with ScriptedServer(capable=True, latency_s=0.04) as server:
        run = KilledRun(small, server, in_flight=IN_FLIGHT)
        run.kill_at("committed:3")
        (seen,) = json.loads(small("runs", "--json").stdout)["items"]
        assert seen["status"] == "interrupted" and "resume" in seen["error"]
        with engines.opened(small.folder):
            assert json.loads(small("runs", "--json").stdout)["items"] == [seen | {"finished_at": ANY}]
        run.finish()
