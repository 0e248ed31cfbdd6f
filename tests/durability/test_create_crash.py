"""The process dies between storing a run and answering. Fifty tries: `make bench`."""

from __future__ import annotations

from tests.support.creating import create_twice

TRIES = 5


def test_b6_a_retry_after_a_crash_between_insert_and_reply_gives_the_same_run(small):
    """B6."""
    for number in range(TRIES):
        create_twice(small, f"key-{number}")
    assert "completed" in small("resume", TRIES).stdout
