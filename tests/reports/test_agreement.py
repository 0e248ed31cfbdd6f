"""Agreement between a judge and people, and a pass rate put right for the judge's errors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.calibration import Confusion
from engine.reports.agreement import agreement, corrected_rate, kappa, of_confusion
from engine.reports.statistics import pass_rate_interval

COUNT = st.integers(0, 60)


def cells(tp: int, fp: int, fn: int, tn: int) -> Confusion:
    return Confusion(true_positive=tp, false_positive=fp, false_negative=fn, true_negative=tn)


def test_kappa_is_cohens():
    # The textbook table: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no gives 0.4.
    assert kappa(cells(20, 10, 5, 15)) == pytest.approx(0.4)


def test_a_skewed_set_has_high_accuracy_and_low_kappa():
    found = of_confusion(cells(2, 3, 8, 87))
    assert found.accuracy == pytest.approx(0.89)
    assert found.kappa == pytest.approx(0.2135, abs=0.001)


def test_the_figures_come_from_the_pairs_and_the_unreadable_stand_apart():
    found = agreement(
        [(True, True), (True, False), (False, False), (False, True), (False, False), (True, None)], empty=3
    )
    assert (found.n, found.unreadable, found.empty) == (5, 1, 3)
    assert found.confusion == cells(1, 1, 1, 2)
    assert found.false_positive_rate == pytest.approx(1 / 3)
    assert found.false_negative_rate == pytest.approx(1 / 2)


def test_nothing_judged_has_no_figures():
    found = agreement([(True, None)])
    assert (found.n, found.kappa, found.kappa_low, found.accuracy, found.false_negative_rate) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_one_class_alone_has_no_kappa():
    assert of_confusion(cells(9, 0, 0, 0)).kappa is None


def test_the_interval_narrows_as_answers_grow_and_repeats():
    small, large = of_confusion(cells(20, 10, 5, 15)), of_confusion(cells(2000, 1000, 500, 1500))
    assert small == of_confusion(cells(20, 10, 5, 15))
    assert None not in (small.kappa_low, small.kappa_high, large.kappa_low, large.kappa_high)
    assert small.kappa_high - small.kappa_low > 5 * (large.kappa_high - large.kappa_low)
    # The large-sample formula for this table (Fleiss, Cohen and Everitt) gives a standard error of 0.0129.
    assert large.kappa_high - large.kappa_low == pytest.approx(2 * 1.96 * 0.0129, rel=0.1)


@given(COUNT, COUNT, COUNT, COUNT)
def test_kappa_lies_within_its_interval_and_never_is_nan(tp, fp, fn, tn):
    found = of_confusion(cells(tp, fp, fn, tn))
    for value in (found.kappa, found.kappa_low, found.kappa_high):
        assert value is None or math.isfinite(value)
    if found.kappa is not None and found.kappa_low is not None and found.n >= 20:
        assert found.kappa_low - 0.15 <= found.kappa <= found.kappa_high + 0.15


def test_a_pass_rate_is_put_right_for_a_judge_that_passes_too_much():
    # Of 100 that people fail, the judge passes 20; of 100 that people pass, it passes 90.
    judge = cells(90, 20, 10, 80)
    found = corrected_rate(410, 500, judge)
    assert found is not None
    assert found.share == pytest.approx((0.82 + 0.8 - 1) / (0.9 + 0.8 - 1))
    low, high = pass_rate_interval(410, 500)
    assert found.ci_high - found.ci_low > high - low
    assert found.ci_low <= found.share <= found.ci_high


@pytest.mark.parametrize("judge", [cells(5, 0, 0, 0), cells(0, 0, 0, 5), cells(5, 5, 5, 5), cells(1, 9, 9, 1)])
def test_no_rate_is_recovered_from_a_judge_that_tells_nothing_apart(judge):
    assert corrected_rate(80, 100, judge) is None


@given(st.integers(0, 50), st.integers(1, 50), COUNT, COUNT, COUNT, COUNT)
def test_a_corrected_rate_stays_a_share(passed, more, tp, fp, fn, tn):
    found = corrected_rate(passed, passed + more, cells(tp, fp, fn, tn))
    if found is not None:
        assert 0 <= found.ci_low <= found.share <= found.ci_high <= 1
