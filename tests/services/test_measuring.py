"""A judge model measured in the background: how far it is, and how it ends."""

from __future__ import annotations

import threading
import time

import pytest

from engine.errors import UnavailableError
from engine.services import measuring
from engine.services.calibration import Columns, SourceFile
from tests.support import judge_bench
from tests.support.engines import ADMIN
from tests.support.scripted_server import Step

ROWS = 20
SHEET = SourceFile(
    "labels.csv",
    ("answer,human\n" + "".join(f"Number {n},{'bad' if n % 2 else 'good'}\n" for n in range(ROWS))).encode(),
)


@pytest.fixture
def bench(tmp_path):
    with judge_bench.opened(tmp_path, request_retry_count=0) as made:
        yield made


def started(made):
    return measuring.Measuring(
        made.engine,
        [SHEET],
        Columns("answer", "human"),
        positive=["bad"],
        provider_id=made.provider,
        model="judge",
        actor=ADMIN,
    )


def until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def held_back(made):
    allowed, answer = threading.Semaphore(0), made.answer

    def slowly(request):
        allowed.acquire(timeout=20)
        return answer(request)

    made.answer = slowly
    return allowed


def test_it_says_how_far_it_is_and_gives_the_figures_at_the_end(bench):
    allowed = held_back(bench)
    measured = started(bench)
    allowed.release(5)
    until(lambda: (measured.done, measured.total) == (5, ROWS))
    assert not measured.is_over
    allowed.release(ROWS)
    until(lambda: measured.is_over)
    found = measured.result()
    assert (found.n, found.accuracy, measured.is_called_off) == (ROWS, 0.5, False)


def test_called_off_it_makes_no_call_any_more_and_has_no_figures(bench):
    allowed = held_back(bench)
    measured = started(bench)
    allowed.release(3)
    until(lambda: measured.done == 3)
    measured.call_off()
    assert measured.is_over and measured.is_called_off and measured.result() is None
    sent = len(bench.server.chats)
    allowed.release(ROWS)
    assert len(bench.server.chats) == sent < ROWS


def test_it_ends_when_nobody_looks_any_more(bench, monkeypatch):
    monkeypatch.setattr(measuring, "UNWATCHED_S", 0.3)
    allowed = held_back(bench)
    measured = started(bench)
    allowed.release(1)
    until(lambda: not any(thread.name == "measuring" for thread in threading.enumerate()))
    assert measured.is_called_off and measured.result() is None
    allowed.release(ROWS)


def test_a_judge_that_is_away_is_an_error_and_not_a_figure(bench):
    bench.server.always(Step(status=503))
    measured = started(bench)
    until(lambda: measured.is_over)
    with pytest.raises(UnavailableError, match="nothing was measured"):
        measured.result()
