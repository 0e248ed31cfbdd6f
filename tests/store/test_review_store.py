"""Decisions of people."""

from __future__ import annotations

import threading

import pytest

from engine.domain.runs import ResultFilter
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import ConflictError, NotFoundError
from tests.store.samples import answer, failure, make_run, settle


def decide(stores, run, key, verdict=ReviewVerdict.PASS, *, attempt=1, if_version=None, reviewer="gly"):
    return stores.reviews.add(
        run.id,
        key,
        attempt=attempt,
        verdict=verdict,
        reason=f"{reviewer} says {verdict}",
        reviewer_id=1,
        reviewer=reviewer,
        if_version=if_version,
    )


def test_the_newest_review_decides_and_the_automatic_verdict_stays(stores, writer):
    run, (key, *_) = make_run(stores)
    settle(writer, key, answer(), Verdict.NEEDS_HUMAN_REVIEW)
    seen = []
    for verdict in (ReviewVerdict.PASS, ReviewVerdict.FAIL, ReviewVerdict.CLEAR):
        review = decide(stores, run, key, verdict)
        detail = stores.results.get(run.id, key)
        assert detail.review == review == detail.reviews[-1]
        assert stores.results.page(run.id, ResultFilter(), limit=1, offset=0).items[0].review == review
        seen.append((review.version, detail.verdict, detail.automatic_verdict))
    waiting = Verdict.NEEDS_HUMAN_REVIEW
    assert seen == [(1, Verdict.PASS, waiting), (2, Verdict.FAIL, waiting), (3, waiting, waiting)]


def test_a_decision_behind_the_newest_is_stale(stores, writer):
    run, (key, *_) = make_run(stores)
    settle(writer, key, answer())
    assert decide(stores, run, key, if_version=0).version == 1
    with pytest.raises(ConflictError) as behind:
        decide(stores, run, key, if_version=0)
    assert behind.value.code == "stale_review"
    assert decide(stores, run, key, if_version=1).version == 2
    assert decide(stores, run, key, if_version=None).version == 3


def test_of_two_simultaneous_decisions_one_is_stale(stores, writer):
    run, ids = make_run(stores, 5)
    for key in ids:
        settle(writer, key, answer())
        together = threading.Barrier(2)
        outcomes = []

        def act(reviewer, key=key, together=together, outcomes=outcomes):
            together.wait()
            try:
                outcomes.append(decide(stores, run, key, if_version=0, reviewer=reviewer).version)
            except ConflictError as error:
                outcomes.append(error.code)

        threads = [threading.Thread(target=act, args=(reviewer,)) for reviewer in ("ann", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes, key=str) == [1, "stale_review"]
        assert len(stores.results.get(run.id, key).reviews) == 1


def test_a_newer_answer_starts_without_a_review_and_the_old_one_stays_in_the_history(stores, writer):
    run, (key, *_) = make_run(stores)
    settle(writer, key, answer(), Verdict.FAIL)
    first = decide(stores, run, key)
    settle(writer, key, failure(2))
    assert stores.results.get(run.id, key).review == first
    settle(writer, key, answer(3), Verdict.FAIL)
    detail = stores.results.get(run.id, key)
    assert (detail.verdict, detail.review, detail.reviews) == (Verdict.FAIL, None, (first,))
    with pytest.raises(ConflictError) as old:
        decide(stores, run, key, attempt=1)
    assert old.value.code == "stale_review"
    second = decide(stores, run, key, attempt=3, if_version=0)
    assert (second.version, second.attempt) == (2, 3)
    assert stores.results.get(run.id, key).reviews == (first, second)


def test_only_answers_can_be_decided_about(stores, writer):
    run, (failed, untried, _) = make_run(stores)
    other, _ = make_run(stores)
    settle(writer, failed, failure())
    with pytest.raises(ConflictError) as error:
        decide(stores, run, failed)
    assert error.value.code == "not_reviewable"
    for run_of, key in ((run, untried), (other, failed), (run, 10**6)):
        with pytest.raises(NotFoundError) as missing:
            decide(stores, run_of, key)
        assert missing.value.code == "result_not_found"


def test_decisions_are_counted_run_by_run(stores, writer):
    run, ids = make_run(stores)
    other, others = make_run(stores)
    for key in (*ids, *others):
        settle(writer, key, answer())
    decide(stores, run, ids[0])
    decide(stores, run, ids[0], ReviewVerdict.CLEAR)
    decide(stores, run, ids[2], ReviewVerdict.FAIL)
    assert (stores.reviews.count(run.id), stores.reviews.count(other.id)) == (3, 0)
