"""How many calls are made at once, and when none are: limits that follow what the endpoint says."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from engine.errors import ProviderError
from engine.providers import NO_RETRY, RetryPolicy
from engine.providers.limiter import Limiter
from tests.providers.conftest import ask, endpoint, using
from tests.support.scripted_server import ScriptedServer, Step

MANY_TRIES = RetryPolicy(count=30, delay_s=0.01, max_delay_s=0.05)


def questions(count: int) -> list[Any]:
    return [ask(f"question {number}") for number in range(count)]


async def asked(model: Any, count: int) -> list[Any]:
    """Answers and errors, in order."""
    return await asyncio.gather(*(model.complete(each) for each in questions(count)), return_exceptions=True)


# -- with a server that has enough --------------------------------------------------------------------------------


def test_c4_a_run_settles_at_what_the_endpoint_bears_and_ends():
    """C4."""

    async def many(model: Any) -> tuple[list[Any], list[int]]:
        limits = [model.pace().limit]
        answers = []
        for _ in range(6):
            answers += await asked(model, 40)
            limits.append(model.pace().limit)
        return answers, limits

    with ScriptedServer(latency_s=0.01, most_at_once=6) as narrow:
        answers, limits = using(endpoint(narrow.base_url, max_concurrency=40), many, retry=MANY_TRIES)
        assert not [each for each in answers if isinstance(each, BaseException)]
        assert limits[0] == 40
        assert all(limit < 20 for limit in limits[1:])


def test_c4_an_endpoint_that_refuses_everything_is_asked_one_at_a_time_in_the_end(server):
    """C4."""

    async def all_refused(model: Any) -> tuple[list[Any], int]:
        return await asked(model, 20), model.pace().limit

    server.always(Step(status=429, delay_s=0.005))
    outcomes, limit = using(
        endpoint(server.base_url, max_concurrency=20), all_refused, retry=RetryPolicy(count=9, delay_s=0, max_delay_s=0)
    )
    assert {error.code for error in outcomes} == {"rate_limited"}
    assert {error.tries for error in outcomes} == {10}
    assert limit == 1


@pytest.mark.parametrize("step", [Step(status=503), Step(status=500), Step(drop=True), Step(hang=True)])
def test_faults_that_are_no_rate_limit_leave_the_concurrency_as_it_is(server, step):
    async def failing(model: Any) -> int:
        await asked(model, 8)
        return model.pace().limit

    server.always(step)
    assert using(endpoint(server.base_url, max_concurrency=8, timeout_s=0.2), failing, retry=NO_RETRY) == 8


def test_a_rate_limit_reported_inside_a_200_counts_as_one(server):
    async def once(model: Any) -> int:
        await asked(model, 1)
        return model.pace().limit

    server.script(Step(body={"error": {"code": 429, "message": "Slow down."}}))
    assert using(endpoint(server.base_url, max_concurrency=10), once, retry=NO_RETRY) == 7


def test_a_spent_quota_lowers_nothing(server):
    async def once(model: Any) -> int:
        await asked(model, 1)
        return model.pace().limit

    server.script(Step(status=429, body={"error": {"code": "insufficient_quota", "message": "No credit left."}}))
    assert using(endpoint(server.base_url, max_concurrency=10), once) == 10


# -- pauses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_c1_c2_a_retry_after_pauses_every_call_to_the_endpoint(server, form):
    """C1, C2."""

    async def paused(model: Any) -> tuple[Any, Any]:
        first = asyncio.create_task(model.complete(ask("the first")))
        while model.pace().paused_until is None:
            await asyncio.sleep(0.005)
        pace = model.pace()
        others = await asked(model, 3)
        await first
        return pace, others

    # A date has whole seconds, so one that is 2.5 s away when it is written is at least 1.5 s away when it is read.
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2.5), usegmt=True)
    server.script(Step(status=429, headers={"Retry-After": "1" if form == "seconds" else soon}))
    before = datetime.now(UTC)
    pace, others = using(endpoint(server.base_url, max_concurrency=8), paused)
    assert not [each for each in others if isinstance(each, BaseException)]
    assert before + timedelta(seconds=0.9) < pace.paused_until < before + timedelta(seconds=30)
    first, *rest = (request.at_s for request in server.chats)
    assert min(rest) - first >= 0.9
    assert len(rest) == 4


def test_c3_a_retry_after_beyond_patience_pauses_nobody(server):
    """C3."""

    async def two(model: Any) -> tuple[Any, Any, Any]:
        with pytest.raises(ProviderError) as caught:
            await model.complete(ask("the first"))
        return caught.value, model.pace(), await model.complete(ask("the second"))

    server.script(Step(status=429, headers={"Retry-After": "86400"}))
    error, pace, answer = using(endpoint(server.base_url), two)
    assert error.code == "rate_limited" and "rate-limited until" in error.message
    assert pace.paused_until is None and pace.in_flight == 0
    assert answer.text


def test_a_pause_holds_for_calls_that_wait_for_their_turn_a_minute(server):
    async def spread(model: Any) -> None:
        await asked(model, 3)

    server.script(Step(status=429, headers={"Retry-After": "1"}))
    using(endpoint(server.base_url, requests_per_minute=600), spread)
    first, *rest = (request.at_s for request in server.chats)
    assert min(rest) - first >= 0.9


def test_a_cancelled_call_gives_its_turn_to_the_next(server):
    async def cancelled(model: Any) -> str:
        holding = asyncio.create_task(model.complete(ask("holding")))
        while not server.chats:
            await asyncio.sleep(0.005)
        waiting = [asyncio.create_task(model.complete(ask(f"waiting {number}"))) for number in range(3)]
        await asyncio.sleep(0)
        for task in (*waiting[:2], holding):
            task.cancel()
        await asyncio.gather(*waiting[:2], holding, return_exceptions=True)
        answer = await waiting[2]
        assert model.pace().in_flight == 0
        return str(answer.text)

    server.script(Step(hang=True))
    assert using(endpoint(server.base_url, max_concurrency=1), cancelled)
    assert len(server.chats) == 2


# -- the limiter itself -------------------------------------------------------------------------------------------


def test_calls_of_one_round_trip_lower_the_limit_once():
    limiter = Limiter(64)
    called_at = time.monotonic()
    for _ in range(64):
        limiter.too_fast(called_at=called_at)
    assert limiter.pace().limit == 44


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8, 64, 512])
def test_each_episode_takes_a_fifth_at_least_and_leaves_one_at_least(most):
    limiter = Limiter(most)
    for _ in range(25):
        before = limiter.pace().limit
        limiter.too_fast(called_at=time.monotonic())
        assert limiter.pace().limit <= max(1, before * 0.8)
    assert limiter.pace().limit == 1


@pytest.mark.parametrize("most", [1, 2, 8, 64, 512])
def test_successes_give_places_back_slowly_and_never_more_than_configured(most):
    limiter = Limiter(most)
    limiter.too_fast(called_at=time.monotonic())
    for _ in range(limiter.pace().limit):  # one round trip
        before = limiter.pace().limit
        limiter.succeeded()
        assert limiter.pace().limit - before <= 1
    assert limiter.pace().limit < most or most <= 2
    for _ in range(most * 20):
        limiter.succeeded()
    assert limiter.pace().limit == most


def test_places_are_given_in_the_order_of_asking():
    async def order() -> list[int]:
        limiter, came = Limiter(2), []

        async def one(number: int) -> None:
            await limiter.enter()
            came.append(number)
            await asyncio.sleep(0)
            limiter.leave()

        await asyncio.gather(*(one(number) for number in range(12)))
        assert limiter.pace().in_flight == 0
        return came

    assert asyncio.run(order()) == list(range(12))


def test_a_lowered_limit_holds_for_those_who_wait():
    async def lowered() -> int:
        limiter, most = Limiter(10), 0

        async def one() -> None:
            nonlocal most
            await limiter.enter()
            most = max(most, limiter.pace().in_flight)
            await asyncio.sleep(0.001)
            limiter.leave()

        limiter.too_fast(called_at=time.monotonic())
        await asyncio.gather(*(one() for _ in range(40)))
        return most

    assert asyncio.run(lowered()) == 7


def test_a_shorter_pause_never_shortens_a_longer_one():
    async def paused() -> tuple[float, Any]:
        limiter = Limiter(4)
        limiter.pause(60)
        until = limiter.pace().paused_until
        limiter.pause(0.001)
        assert limiter.pace().paused_until == until
        task = asyncio.create_task(limiter.enter())
        await asyncio.sleep(0.02)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return limiter.pause_left_s(), limiter.pace()

    left_s, pace = asyncio.run(paused())
    assert 50 < left_s <= 60
    assert pace.in_flight == 0
