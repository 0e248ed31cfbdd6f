"""The time a result shows is that of the calls that were answered, whatever went before them."""

from __future__ import annotations

import pytest

from tests.support import engines, running
from tests.support.running import rows
from tests.support.scripted_server import ScriptedServer, Step

ANSWER_S = 0.2
LONG_MS = 1000
"""Far above what an answer takes here, far below what comes before it."""


@pytest.fixture
def server():
    with ScriptedServer(capable=True, latency_s=ANSWER_S) as running_server:
        yield running_server


def times(engine, run_id) -> list[int]:
    return [result.latency_ms for result in rows(engine, run_id)]


@pytest.mark.parametrize(
    "before",
    [
        Step(status=429, headers={"Retry-After": "2"}),
        Step(status=503, headers={"Retry-After": "2"}),
        Step(status=500, delay_s=1.5),
    ],
    ids=["a pause that was asked for", "the same of a server that is busy", "an earlier try that took long"],
)
def test_neither_a_pause_nor_an_earlier_try_counts_as_time_of_the_answer(installation, server, before):
    with installation(2) as engine:
        running.questions_meet(server, lambda place, _: before if place == 0 else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.completed_count == 2
        assert len(running.questions(server)) == 3
        assert all(ANSWER_S * 1000 <= took < LONG_MS for took in times(engine, run.id))


def test_the_turn_that_a_limit_on_requests_a_minute_makes_a_call_wait_for_does_not_count(installation, server):
    with installation(4) as engine:
        started = running.start(engine, server.base_url, max_concurrency=4, requests_per_minute=90)
        run = engines.until_over(engine, started.id)
        first, *_, last = [asked.at_s for asked in server.chats if b"uestion number" in asked.content]
        assert run.completed_count == 4 and last - first > 1.5
        assert max(times(engine, run.id)) < LONG_MS


def test_the_turns_of_a_conversation_add_up(installation, server):
    turns = [{"text": f"Question number {number}: and then?"} for number in range(3)]
    with installation([engines.case(0, mode="multi_turn", turns=turns)]) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
        (took,) = times(engine, run.id)
        assert 3 * ANSWER_S * 1000 <= took < 3 * LONG_MS


def test_an_error_shows_the_time_of_the_call_it_came_from(installation, server):
    with installation(1) as engine:
        busy = Step(status=429, headers={"Retry-After": "2"})
        wrong = Step(status=400, delay_s=0.3, body={"error": {"message": "That is wrong."}})
        running.questions_meet(server, lambda place, _: (busy, wrong)[place])
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.error_count == 1
        (took,) = times(engine, run.id)
        assert 300 <= took < LONG_MS
