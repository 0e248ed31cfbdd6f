"""Runs: frozen, counted, steered, deleted."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import time_machine

from engine.domain.base import utc_now
from engine.domain.runs import RunStatus, Waiting, WaitingReason
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import ConflictError, InputError, NotFoundError
from engine.store import IdempotencyKey
from tests.store.samples import MOMENT, answer, draft, endpoint, failure, fixture, instance, make_run, settle


def test_a_run_is_stored_as_drafted(stores):
    wanted = draft()
    plan = [instance("b"), instance("a")]
    run = stores.runs.create(wanted, instances=plan, blobs={"a" * 64: b"letter"})
    assert run == stores.runs.get(run.id)
    shared = set(type(run).model_fields) & set(type(wanted).model_fields)
    assert {name: getattr(run, name) for name in shared} == {name: getattr(wanted, name) for name in shared}
    assert (run.status, run.total_count, run.started_at, run.error) == (RunStatus.PENDING, 2, None, None)
    assert stores.runs.config(run.id) == wanted.config
    assert stores.runs.fixtures(run.id) == {"letter": fixture()}
    assert [item.instance for item in stores.results.pending(run.id)] == plan


def test_an_unknown_run_is_not_found(stores):
    for ask in (
        stores.runs.get,
        stores.runs.config,
        stores.runs.fixtures,
        stores.runs.delete,
        stores.runs.request_cancel,
        stores.runs.require,
        stores.blobs.many,
        stores.results.by_clause,
        lambda run_id: stores.runs.add_warning(run_id, "x"),
        lambda run_id: stores.runs.set_status(run_id, RunStatus.RUNNING),
    ):
        with pytest.raises(NotFoundError) as caught:
            ask(77)
        assert caught.value.code == "run_not_found"


def test_counts_follow_results_reviews_and_skips(stores, writer):
    run, ids = make_run(stores, 9)
    for key, verdict in zip(ids, [*Verdict, None], strict=False):
        settle(writer, key, answer(), verdict)
    settle(writer, ids[5], failure())
    stores.results.skip(run.id, {ids[6]: "no vision", ids[7]: "no vision"})
    counted = stores.runs.get(run.id)
    assert (counted.completed_count, counted.error_count, counted.skipped_count, counted.total_count) == (5, 1, 2, 9)
    assert counted.verdict_counts.model_dump() == {
        "pass": 1,
        "fail": 1,
        "needs_human_review": 1,
        "judge_format_error": 1,
        "none": 1,
    }
    stores.reviews.add(
        run.id, ids[2], attempt=1, verdict=ReviewVerdict.FAIL, reason="bad", reviewer_id=1, reviewer="gly", if_version=0
    )
    assert stores.runs.get(run.id).verdict_counts.fail == 2
    assert stores.runs.page(limit=5, offset=0).items == (stores.runs.get(run.id),)


def test_pages_are_newest_first_and_filtered(stores, database):
    first, _ = make_run(stores)
    second, _ = make_run(stores, profile="full")
    third, _ = make_run(stores, provider_id=9)
    stores.runs.set_status(second.id, RunStatus.RUNNING)

    def ids(**wanted):
        page = stores.runs.page(**{"limit": 10, "offset": 0, **wanted})
        return [run.id for run in page.items], page.total

    assert ids() == ([third.id, second.id, first.id], 3)
    assert ids(limit=1, offset=1) == ([second.id], 3)
    assert ids(profile="full") == ([second.id], 1)
    assert ids(status=RunStatus.PENDING) == ([third.id, first.id], 2)
    assert ids(provider_id=9) == ([third.id], 1)
    assert ids(provider_id=9, status=RunStatus.FAILED) == ([], 0)


def test_runs_that_ended_unbeknown_to_the_store_are_filtered_by_how_they_ended(stores):
    ids = [make_run(stores)[0].id for _ in range(5)]
    for run_id, status in zip(ids, ("running", "running", "probing", "cancelled", "completed"), strict=True):
        stores.runs.set_status(run_id, RunStatus(status))

    def found(status, ends, **where):
        page = stores.runs.page(**{"limit": 10, "offset": 0, "status": RunStatus(status), "ends": ends, **where})
        return [ids.index(run.id) for run in page.items], page.total

    some = {ids[0]: RunStatus.CANCELLED, ids[4]: RunStatus.FAILED}
    assert found("cancelled", some) == ([3, 0], 2)
    assert found("cancelled", some, limit=1, offset=1) == ([0], 2)
    assert found("running", some) == ([1], 1)
    assert found("completed", some) == ([4], 1), "what is over stays what it is"
    everybody = {**some, None: RunStatus.INTERRUPTED}
    assert found("interrupted", everybody) == ([2, 1], 2)
    assert found("cancelled", everybody) == ([3, 0], 2)
    assert found("running", everybody) == ([], 0)


def test_a_page_takes_the_same_number_of_queries_however_long_it_is(stores, database):
    from sqlalchemy import event

    queries = []
    event.listen(database._engine, "before_cursor_execute", lambda *call: queries.append(call[2]))
    lengths = []
    for _ in range(2):
        make_run(stores)
        make_run(stores)
        queries.clear()
        stores.runs.page(limit=50, offset=0)
        lengths.append(len([query for query in queries if query.startswith("SELECT")]))
    assert lengths == [3, 3]


def test_status_keeps_the_times_and_the_reasons(stores):
    run, _ = make_run(stores)
    waiting = Waiting(reason=WaitingReason.RATE_LIMITED, since=MOMENT, until=None, message="slow down")
    with time_machine.travel(MOMENT, tick=False):
        stores.runs.set_status(run.id, RunStatus.PROBING, waiting=waiting)
    with time_machine.travel(MOMENT + timedelta(hours=1), tick=False):
        stores.runs.set_status(run.id, RunStatus.RUNNING)
        running = stores.runs.get(run.id)
    with time_machine.travel(MOMENT + timedelta(hours=2), tick=False):
        stores.runs.set_status(run.id, RunStatus.FAILED, error="no such model")
        failed = stores.runs.get(run.id)
    stores.runs.set_waiting(run.id, waiting)
    waits = stores.runs.get(run.id)
    stores.runs.set_status(run.id, RunStatus.RUNNING)
    again = stores.runs.get(run.id)
    assert (running.started_at, running.finished_at, running.waiting) == (MOMENT, None, None)
    assert (failed.started_at, failed.finished_at, failed.error) == (
        MOMENT,
        MOMENT + timedelta(hours=2),
        "no such model",
    )
    assert waits.waiting == waiting
    assert (again.started_at, again.finished_at, again.error) == (MOMENT, None, None)


def test_capabilities_and_warnings_are_kept(stores):
    run, _ = make_run(stores)
    stores.runs.set_capabilities(run.id, {"chat": True, "vision": False, "tools": None})
    for warning in ("judged by itself", "温度 dropped", "judged by itself"):
        stores.runs.add_warning(run.id, warning)
    stored = stores.runs.get(run.id)
    assert stored.capabilities == {"chat": True, "vision": False, "tools": None}
    assert stored.warnings == ("mind the gap", "judged by itself", "温度 dropped")


def test_unfinished_runs_are_called_interrupted_and_finished_ones_are_left(stores):
    made = [make_run(stores)[0].id for _ in range(4)]
    for run_id, status in zip(made, [RunStatus.PROBING, RunStatus.RUNNING, RunStatus.COMPLETED], strict=False):
        stores.runs.set_status(run_id, status)
    stores.runs.request_cancel(made[1])
    assert stores.runs.interrupt_unfinished("the process ended") == [made[0], made[1], made[3]]
    assert [stores.runs.get(run_id).status for run_id in made] == [
        RunStatus.INTERRUPTED,
        RunStatus.INTERRUPTED,
        RunStatus.COMPLETED,
        RunStatus.INTERRUPTED,
    ]
    assert stores.runs.get(made[0]).error == "the process ended"
    assert stores.runs.get(made[0]).finished_at is not None
    stores.runs.set_status(made[1], RunStatus.PENDING)
    assert stores.runs.cancel_requests() == set()


def test_cancel_requests_stand_until_cleared_or_over(stores):
    first, second = make_run(stores)[0].id, make_run(stores)[0].id
    for run_id in (first, second):
        stores.runs.request_cancel(run_id)
    assert stores.runs.cancel_requests() == {first, second}
    stores.runs.clear_cancel(first)
    assert stores.runs.cancel_requests() == {second}
    stores.runs.set_status(second, RunStatus.CANCELLED)
    assert stores.runs.cancel_requests() == set()


def test_a_provider_is_in_use_by_subject_or_judge_of_a_run_that_is_not_over(stores):
    run, _ = make_run(stores)
    assert [stores.runs.uses_provider(number) for number in (1, 2, 3)] == [True, True, False]
    stores.runs.set_status(run.id, RunStatus.COMPLETED)
    assert not stores.runs.uses_provider(1)
    alone = draft().config.model_copy(update={"judge": None, "subject": endpoint(3)})
    make_run(stores, provider_id=3, config=alone)
    assert [stores.runs.uses_provider(number) for number in (1, 2, 3)] == [False, False, True]


def test_deleting_takes_everything_of_the_run_and_nothing_of_others(database, stores, writer):
    shared, own = "a" * 64, "b" * 64
    kept = stores.runs.create(draft(), instances=[instance("x")], blobs={shared: b"shared"})
    gone = stores.runs.create(draft(), instances=[instance("x"), instance("y")], blobs={shared: b"shared", own: b"own"})
    for run in (kept, gone):
        for item in stores.results.pending(run.id):
            settle(writer, item.execution_id, answer(), Verdict.FAIL)
            stores.reviews.add(
                run.id,
                item.execution_id,
                attempt=1,
                verdict=ReviewVerdict.PASS,
                reason="fine",
                reviewer_id=None,
                reviewer="gly",
                if_version=None,
            )
    with pytest.raises(ConflictError) as refused:
        stores.runs.delete(gone.id)
    assert refused.value.code == "run_not_terminal"
    stores.runs.set_status(gone.id, RunStatus.CANCELLED)
    stores.runs.delete(gone.id)

    with database.reading() as connection:
        left = {
            name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar()
            for name in ("runs", "executions", "instances", "attempts", "transcripts", "judgements", "reviews", "blobs")
        }
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    assert set(left.values()) == {1}
    assert stores.blobs.many(kept.id) == {shared: b"shared"}
    with pytest.raises(NotFoundError):
        stores.blobs.get(own)
    stores.runs.set_status(kept.id, RunStatus.COMPLETED)
    stores.runs.delete(kept.id)
    assert stores.runs.create(draft(), instances=[], blobs={}).id > gone.id


def test_blobs_are_found_by_run_and_hash(stores):
    run = stores.runs.create(draft(), instances=[], blobs={"a" * 64: b"letter"})
    assert stores.blobs.get("a" * 64) == stores.blobs.of_run(run.id, "a" * 64) == b"letter"
    with pytest.raises(NotFoundError) as caught:
        stores.blobs.of_run(run.id + 1, "a" * 64)
    assert caught.value.code == "fixture_not_found"


def key(user_id=1, name="k", body="b"):
    return IdempotencyKey(user_id=user_id, key=name, body_hash=body)


def test_the_same_key_and_body_answer_the_same_run(stores):
    plan = [instance("x")]
    assert stores.runs.created_by_key(key()) is None
    run = stores.runs.create(draft(), instances=plan, blobs={}, idempotency=key())
    assert stores.runs.create(draft(), instances=plan, blobs={}, idempotency=key()) == run
    assert stores.runs.created_by_key(key()) == run
    with pytest.raises(InputError) as conflict:
        stores.runs.create(draft(), instances=plan, blobs={}, idempotency=key(body="other"))
    assert conflict.value.code == "idempotency_key_conflict"
    with pytest.raises(InputError):
        stores.runs.created_by_key(key(body="other"))
    others = {
        stores.runs.create(draft(), instances=plan, blobs={}, idempotency=other).id
        for other in (key(user_id=2), key(name="l"))
    }
    assert len(others | {run.id}) == 3
    assert stores.runs.page(limit=9, offset=0).total == 3


def test_a_key_lives_for_a_day(stores):
    with time_machine.travel(MOMENT, tick=False):
        run = stores.runs.create(draft(), instances=[], blobs={}, idempotency=key())
    with time_machine.travel(MOMENT + timedelta(hours=23, minutes=59), tick=False):
        assert stores.runs.create(draft(), instances=[], blobs={}, idempotency=key()).id == run.id
    with time_machine.travel(MOMENT + timedelta(hours=24), tick=False):
        assert stores.runs.created_by_key(key()) is None
        assert stores.runs.create(draft(), instances=[], blobs={}, idempotency=key(body="other")).id != run.id


def test_twenty_simultaneous_creates_with_one_key_make_one_run(stores):
    together = threading.Barrier(20)
    made, failures = [], []

    def create():
        together.wait()
        try:
            made.append(stores.runs.create(draft(), instances=[instance("x")], blobs={}, idempotency=key()).id)
        except Exception as error:  # noqa: BLE001 - reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=create) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(made) == 20
    assert len(set(made)) == stores.runs.page(limit=9, offset=0).total == 1


def test_a_failed_create_leaves_no_run_and_no_key(stores):
    broken = draft().model_copy(update={"note": "lone surrogate \ud800"})
    with pytest.raises(InputError) as caught:
        stores.runs.create(broken, instances=[instance("x")], blobs={}, idempotency=key())
    assert caught.value.code == "unstorable_value"
    assert stores.runs.created_by_key(key()) is None
    assert stores.runs.page(limit=9, offset=0).total == 0
    before = utc_now()
    assert stores.runs.create(draft(), instances=[], blobs={}, idempotency=key()).created_at >= before


def test_a_run_that_ended_early_is_reopened_once(stores):
    run, _ = make_run(stores)
    assert stores.runs.reopen(run.id, resuming=True) is None
    stores.runs.set_status(run.id, RunStatus.INTERRUPTED, error="the process ended")
    stores.runs.request_cancel(run.id)
    together = threading.Barrier(2)
    won = []

    def reopen():
        together.wait()
        won.append(stores.runs.reopen(run.id, resuming=True))

    threads = [threading.Thread(target=reopen) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won, key=str) == [None, (RunStatus.INTERRUPTED, "the process ended")]
    again = stores.runs.get(run.id)
    assert (again.status, again.error, again.finished_at) == (RunStatus.PENDING, None, None)
    assert stores.runs.cancel_requests() == set()
    stores.runs.set_status(run.id, RunStatus.COMPLETED)
    assert stores.runs.reopen(run.id, resuming=True) is None
    assert stores.runs.reopen(run.id) == (RunStatus.COMPLETED, None), "more work may be done on any run that is over"
    assert stores.runs.reopen(run.id) is None


@pytest.mark.parametrize("number", [2**63, -(2**70)])
def test_a_number_beyond_the_database_is_refused_in_words(stores, number):
    with pytest.raises(InputError, match="too large"):
        stores.runs.get(number)
    with pytest.raises(InputError, match="too large"):
        stores.runs.request_cancel(number)
