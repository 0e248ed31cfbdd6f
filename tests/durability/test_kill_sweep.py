"""Kill -9 in the middle, resume in a new process, compare what the file and the provider say. Whole: `make bench`."""

from __future__ import annotations

import random

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
