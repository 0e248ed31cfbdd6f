"""Telling a provider that is down from items that fail by themselves, on a clock that the test sets."""

from __future__ import annotations

import pytest

from engine.domain.base import utc_now
from engine.domain.runs import Attempt, Execution, ExecutionError, ExecutionStatus, Output, WaitingReason
from engine.errors import ProviderError
from engine.runs.breaker import LONGEST_PAUSE_S, PATIENCE_AFTER_ANSWER_S, Breaker
from tests.store.samples import instance


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return Breaker(at_once=8, pause_max_s=600, clock=clock)


def item(number: int) -> Execution:
    return Execution(execution_id=number, instance=instance(f"case-{number}"), attempts=0)


def failed(code: str) -> Attempt:
    return Attempt(
        number=1,
        execution_status=ExecutionStatus.ERROR,
        error=ExecutionError(code=code, message=f"it is {code}"),
        latency_ms=1,
        created_at=utc_now(),
    )


ANSWERED = Attempt(
    number=1,
    execution_status=ExecutionStatus.COMPLETED,
    output=Output(text="Yes.", finish_reason="stop"),
    latency_ms=1,
    created_at=utc_now(),
)


def numbers(settled):
    return [execution.execution_id for execution, _ in settled.store], [each.execution_id for each in settled.ask_again]


def down(code: str = "connection") -> ProviderError:
    return ProviderError(f"nobody there: {code}", code=code, retryable=True)


def test_an_item_that_fails_among_others_that_are_answered_fails_by_itself(breaker, clock):
    assert numbers(breaker.item(item(1), failed("server_error"), out_s=0.001)) == ([], [])
    assert breaker.holds == 1 and not breaker.tick(1, idle=False)
    clock.now += 1
    assert numbers(breaker.item(item(2), ANSWERED, out_s=0.001)) == ([1, 2], [])
    assert numbers(breaker.item(item(3), failed("bad_request"), out_s=0.001)) == ([3], []), "the provider has spoken"


def test_an_answer_to_what_was_asked_before_a_failure_says_nothing_of_the_failure(breaker, clock):
    breaker.item(item(1), failed("connection"), out_s=0.001)
    clock.now += 1
    assert numbers(breaker.item(item(2), ANSWERED, out_s=2)) == ([2], [])
    assert breaker.holds == 1
    breaker.trial(down())
    assert numbers(breaker.item(item(3), ANSWERED, out_s=2)) == ([3], [])
    assert breaker.is_open, "it was asked while the provider was still there"
    assert numbers(breaker.trial(None)) == ([], [1])


def test_several_in_a_row_ask_for_a_trial_and_its_answer_gives_them_one_more_chance(breaker, clock):
    for number in (1, 2, 3):
        breaker.item(item(number), failed("timeout"), out_s=0.001)
    assert breaker.tick(0, idle=False)
    assert numbers(breaker.trial(None)) == ([], [1, 2, 3])
    for number in (1, 2, 3):
        breaker.item(item(number), failed("timeout"), out_s=0.001)
    assert not breaker.tick(0, idle=False), "the provider has just answered"
    clock.now += PATIENCE_AFTER_ANSWER_S
    assert breaker.tick(0, idle=False)
    assert numbers(breaker.trial(None)) == ([1, 2, 3], []), "twice, while the provider answers, is their own fault"
    assert breaker.waiting() is None and breaker.reason_to_stop is None


@pytest.mark.parametrize("code", ["connection", "tls", "timeout", "server_error"])
def test_an_unanswered_trial_opens_the_circuit_and_pauses_grow(breaker, clock, code):
    assert breaker.tick(5, idle=False), "five calls in a row, before any item has given up"
    breaker.trial(down(code))
    waiting = breaker.waiting()
    assert breaker.is_open and waiting is not None and waiting.reason == WaitingReason.PROVIDER_DOWN
    assert (waiting.until - waiting.since).total_seconds() == 600
    pauses, last = [], clock.now
    while len(pauses) < 8:
        clock.now += 0.5
        if breaker.tick(5, idle=False):
            pauses.append(clock.now - last)
            last = clock.now
            breaker.trial(down(code))
    assert pauses == [1, 2, 4, 8, 16, 30, 30, LONGEST_PAUSE_S]
    assert breaker.waiting().since == waiting.since
    breaker.item(item(1), failed(code), out_s=0.001)
    assert numbers(breaker.trial(None)) == ([], [1]), "nobody was there: it is asked anew, as often as it takes"
    assert not breaker.is_open and breaker.waiting() is None


def test_an_answer_to_an_item_closes_the_circuit_too(breaker, clock):
    breaker.item(item(1), failed("connection"), out_s=0.001)
    breaker.trial(down())
    clock.now += 1
    assert numbers(breaker.item(item(2), ANSWERED, out_s=0.001)) == ([2], [1])
    assert not breaker.is_open


def test_an_outage_that_lasts_too_long_is_a_reason_to_stop_and_its_items_stay_unstored(breaker, clock):
    breaker.item(item(1), failed("connection"), out_s=0.001)
    breaker.trial(down())
    clock.now += 599
    breaker.tick(9, idle=False)
    assert breaker.reason_to_stop is None
    clock.now += 1
    breaker.tick(9, idle=False)
    assert "nobody there" in breaker.reason_to_stop and "600 s" in breaker.reason_to_stop
    assert breaker.holds == 1


def test_where_one_call_is_made_at_a_time_fewer_failures_are_suspicious(clock):
    alone = Breaker(at_once=1, pause_max_s=600, clock=clock)
    assert not alone.tick(2, idle=False) and alone.tick(3, idle=False)


def test_the_last_items_of_a_bank_are_settled_by_a_trial(breaker):
    breaker.item(item(1), failed("connection"), out_s=0.001)
    assert breaker.tick(1, idle=True)
    assert numbers(breaker.trial(None)) == ([1], [])
    breaker.item(item(2), failed("connection"), out_s=0.001)
    breaker.trial(down())
    assert breaker.is_open and breaker.holds == 1


@pytest.mark.parametrize("between", [None, "bad_request"])
def test_three_refused_keys_in_a_row_are_a_reason_to_stop(breaker, clock, between):
    """C6."""
    breaker.item(item(1), failed("auth"), out_s=0.001)
    breaker.item(item(2), failed("auth"), out_s=0.001)
    if between is not None:
        clock.now += 1
        settled = breaker.item(item(3), failed(between), out_s=0.001)
        assert numbers(settled) == ([1, 2, 3], []), "the key was good after all"
        assert breaker.reason_to_stop is None
        breaker.item(item(4), failed("auth"), out_s=0.001)
        breaker.item(item(5), failed("auth"), out_s=0.001)
    assert breaker.reason_to_stop is None
    breaker.item(item(6), failed("auth"), out_s=0.001)
    assert "key_refused" in breaker.reason_to_stop and "it is auth" in breaker.reason_to_stop


def test_a_key_refused_at_the_end_of_the_bank_is_tried_until_it_is_certain(breaker):
    breaker.item(item(1), failed("auth"), out_s=0.001)
    for expected in (None, "refused 3 times"):
        assert breaker.tick(0, idle=True)
        breaker.trial(ProviderError("no", code="auth", retryable=False))
        assert (breaker.reason_to_stop is None) is (expected is None)
    assert breaker.holds == 1


def test_a_trial_that_meets_another_refusal_shows_that_somebody_is_there(breaker):
    for number in (1, 2, 3):
        breaker.item(item(number), failed("server_error"), out_s=0.001)
    settled = breaker.trial(ProviderError("slow down", code="rate_limited", retryable=True))
    assert numbers(settled) == ([], [1, 2, 3])
