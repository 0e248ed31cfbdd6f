"""Kill -9 at each named moment of a run. Ten times each: `make bench`."""

from __future__ import annotations

from engine.runs import milestones
from tests.support.killing import POINTS, KilledRun
from tests.support.scripted_server import ScriptedServer

IN_FLIGHT = 4


def test_a3_a_kill_at_any_named_moment_loses_nothing_and_pays_nothing_twice(small):
    """A3."""
    assert {point.partition(":")[0] for point in POINTS} == set(milestones.NAMES)
    with ScriptedServer(capable=True, judging=True, latency_s=0.01) as server:
        run = KilledRun(small, server, in_flight=IN_FLIGHT)
        for point in POINTS:
            run.kill_at(point)
        run.finish()
    assert run.kills == len(POINTS)
