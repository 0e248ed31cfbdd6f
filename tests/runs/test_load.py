"""A run of many instances. Ten times as many, and how long they take: `make bench`."""

from __future__ import annotations

from tests.support import engines, ledger, running
from tests.support.memory import growth_mb
from tests.support.scripted_server import ScriptedServer

ITEMS, IN_FLIGHT = 1000, 16


def test_a_thousand_instances_are_asked_once_each_within_little_memory(installation, tmp_path):
    """J1."""
    with ScriptedServer(capable=True, latency_s=0.05) as server, installation(ITEMS) as engine:
        growth = growth_mb()
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=IN_FLIGHT).id)
        assert growth() < 150
    asked = running.questions(server)
    assert len(asked) == len(set(asked)) == ITEMS
    assert 1 < server.most_in_flight <= IN_FLIGHT
    now = ledger.read(tmp_path / "platform.db", run.id)
    assert (now.status, now.planned, now.succeeded) == ("completed", ITEMS, ITEMS)
