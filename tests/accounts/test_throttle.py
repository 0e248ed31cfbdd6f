"""The waits after failed sign-ins (RELIABILITY E3, E16)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engine.accounts.throttle import remaining_s, wait_s

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_first_failures_are_free_then_the_wait_doubles_up_to_a_quarter_of_an_hour() -> None:
    assert [wait_s(failures) for failures in range(13)] == [0, 0, 0, 0, 0, 15, 30, 60, 120, 240, 480, 900, 900]
    assert wait_s(10**9) == 900


def test_what_is_left_of_a_wait_shrinks_with_the_clock_and_is_never_negative() -> None:
    for passed_s, left_s in ((0, 30), (10, 20), (30, 0), (31, 0), (10**6, 0)):
        assert remaining_s(6, last_at=NOW - timedelta(seconds=passed_s), now=NOW) == left_s


def test_a_clock_set_back_neither_lengthens_nor_ends_the_wait() -> None:
    assert remaining_s(6, last_at=NOW + timedelta(hours=2), now=NOW) == 30
