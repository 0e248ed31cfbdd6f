"""Results on their way to the disk."""

from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from engine.domain.runs import ResultFilter
from engine.domain.verdicts import JudgeKind, Verdict
from engine.errors import ConflictError, InputError, UnavailableError
from engine.store import Database, GroupCommit, Stores
from engine.store.group_commit import BATCH
from tests.store.samples import answer, failure, judgement, make_run, settle


def hand_in(database, act):
    """Fill a writer before it starts, so that all of it meets in one transaction."""
    group = GroupCommit(database)
    futures = act(group)
    group.start()
    wait(futures, timeout=20)
    group.stop()
    return group, futures


def test_what_arrives_together_shares_one_transaction(database, stores):
    run, ids = make_run(stores, 40)

    def act(group):
        answered = [group.answered(key, answer(text=f"answer {key}")) for key in ids]
        judged = [group.judged(key, 1, verdict=Verdict.PASS, judgements=[judgement()]) for key in ids]
        return answered + judged

    group, futures = hand_in(database, act)
    assert [future.exception() for future in futures] == [None] * 80
    assert group.commits == 1
    counts = stores.runs.get(run.id)
    assert (counts.completed_count, counts.verdict_counts.passed) == (40, 40)


def test_a_verdict_by_rules_shares_the_transaction_of_the_next_answer(database, stores):
    _, (first, second, *_) = make_run(stores)
    group = GroupCommit(database, linger_s=60)
    group.start()
    group.answered(first, answer()).result(10)
    judged = group.judged(first, 1, verdict=Verdict.PASS, judgements=[judgement(judge=JudgeKind.RULE)])
    group.answered(second, answer()).result(10)
    assert judged.done()
    assert group.commits == 2
    group.stop()


def test_two_answers_that_come_close_together_share_a_transaction(database, stores):
    _, (first, second, third, *_) = make_run(stores)
    group = GroupCommit(database, linger_s=60, company_s=60)
    group.start()
    stored = [group.answered(first, answer()), group.answered(second, answer())]
    assert [each.result(10) for each in stored] == [None, None]
    assert group.commits == 1
    alone = group.answered(third, answer())
    with pytest.raises(TimeoutError):
        alone.result(0.2)
    group.stop()
    alone.result(10)


def test_what_a_judge_model_was_paid_for_waits_for_no_answer(database, stores):
    _, (first, *_) = make_run(stores)
    group = GroupCommit(database, linger_s=60)
    group.start()
    group.answered(first, answer()).result(10)
    group.judged(first, 1, verdict=Verdict.PASS, judgements=[judgement(judge=JudgeKind.LLM)]).result(10)
    group.stop()


def test_a_stop_writes_the_verdicts_that_still_wait(database, stores):
    run, (first, *_) = make_run(stores)
    group = GroupCommit(database, linger_s=60)
    group.start()
    group.answered(first, answer()).result(10)
    group.judged(first, 1, verdict=Verdict.PASS, judgements=[judgement(judge=JudgeKind.RULE)])
    group.stop()
    assert stores.runs.get(run.id).verdict_counts.passed == 1


def test_a_batch_is_bounded(database, stores):
    run, ids = make_run(stores, BATCH + 10)
    group, futures = hand_in(database, lambda group: [group.answered(key, answer()) for key in ids])
    assert all(future.exception() is None for future in futures)
    assert group.commits == 2
    assert stores.runs.get(run.id).completed_count == BATCH + 10


def test_a_future_is_done_only_after_the_commit(database, stores):
    run, (first, *_) = make_run(stores)
    group = GroupCommit(database)
    group.start()
    with database.writing():
        future = group.answered(first, answer())
        with pytest.raises(TimeoutError):
            future.result(0.05)
        assert stores.results.pending(run.id)[0].execution_id == first
    future.result(10)
    assert stores.results.get(run.id, first).output == answer().output
    group.stop()


@pytest.mark.parametrize("bad_text", ["lone surrogate \ud800", "\udfff"])
def test_text_that_cannot_be_stored_fails_alone(database, stores, bad_text):
    run, ids = make_run(stores, 4)

    def act(group):
        good = answer()
        return [
            group.answered(ids[0], good),
            group.answered(
                ids[1], good.model_copy(update={"messages": (good.messages[0].model_copy(update={"text": bad_text}),)})
            ),
            group.answered(ids[2], good.model_copy(update={"reasoning": bad_text})),
            group.answered(ids[3], good),
        ]

    _, futures = hand_in(database, act)
    assert [future.exception() is None for future in futures] == [True, False, False, True]
    for future in futures[1:3]:
        error = future.exception()
        assert isinstance(error, InputError)
        assert error.code == "unstorable_value"
    assert [item.execution_id for item in stores.results.pending(run.id)] == ids[1:3]


def test_rows_that_do_not_fit_fail_alone(database, stores):
    run, ids = make_run(stores, 7)
    stores.results.skip(run.id, {ids[6]: "no vision"})
    group = GroupCommit(database)
    group.start()
    group.answered(ids[0], answer()).result(10)
    group.answered(ids[1], failure()).result(10)
    group.stop()

    def act(group):
        return [
            group.answered(ids[0], answer(1)),  # a number that is taken
            group.answered(ids[2], answer(2)),  # a number that leaves a gap
            group.answered(999_999, answer()),  # no such execution
            group.answered(ids[6], answer()),  # skipped
            group.judged(ids[3], 1, verdict=Verdict.PASS, judgements=[]),  # nothing answered
            group.judged(ids[1], 1, verdict=Verdict.PASS, judgements=[]),  # an execution error has no verdict
            group.answered(ids[4], answer().model_copy(update={"latency_ms": 2**70})),  # no such integer
            group.answered(ids[5], answer()),
            group.judged(ids[0], 1, verdict=Verdict.FAIL, judgements=[judgement(Verdict.FAIL)]),
        ]

    _, futures = hand_in(database, act)
    errors = [future.exception() for future in futures]
    assert [getattr(error, "code", None) for error in errors] == [
        *["attempt_conflict"] * 6,
        "unstorable_value",
        None,
        None,
    ]
    assert all(isinstance(error, ConflictError) for error in errors[:6])
    assert [item.execution_id for item in stores.results.pending(run.id)] == ids[2:5]
    assert stores.results.get(run.id, ids[0]).verdict is Verdict.FAIL
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_several_attempts_of_one_execution_may_share_a_batch(database, stores):
    run, (key, other, _) = make_run(stores)

    def act(group):
        return [
            group.answered(key, failure(1)),
            group.answered(key, answer(2, "second")),
            group.judged(key, 2, verdict=None, judgements=[judgement(None)]),
            group.judged(key, 2, verdict=Verdict.PASS, judgements=[judgement(), judgement(judge=JudgeKind.RULE)]),
            group.answered(key, failure(3)),
            group.answered(other, answer()),
        ]

    _, futures = hand_in(database, act)
    assert [future.exception() for future in futures] == [None] * 6
    detail = stores.results.get(run.id, key)
    assert [attempt.number for attempt in detail.attempts_history] == [1, 2, 3]
    assert detail.attempts == 3
    assert detail.output is not None
    assert detail.output.text == "second"
    assert detail.judgements == (judgement(), judgement(judge=JudgeKind.RULE))


def test_shown_is_the_newest_attempt_that_answered_else_the_newest(stores, writer):
    run, (key, *_) = make_run(stores)
    shown = []
    for attempt in (failure(1, "timeout"), failure(2, "server_error"), answer(3, "one"), failure(4), answer(5, "two")):
        settle(writer, key, attempt)
        result = stores.results.get(run.id, key)
        shown.append(result.output.text if result.output else result.error.code)
    assert shown == ["timeout", "server_error", "one", "one", "two"]


def test_an_attempt_may_bring_its_verdict_along(stores, writer):
    run, (key, *_) = make_run(stores)
    complete = answer().model_copy(update={"automatic_verdict": Verdict.FAIL, "judgements": (judgement(Verdict.FAIL),)})
    writer.answered(key, complete).result(10)
    assert stores.results.get(run.id, key).attempts_history == (complete,)


def test_judging_again_replaces_what_is_shown_and_keeps_what_was(database, stores, writer):
    run, (key, *_) = make_run(stores)
    settle(writer, key, answer(), None, Verdict.PASS)
    detail = stores.results.get(run.id, key)
    assert (detail.verdict, detail.judgements) == (Verdict.PASS, (judgement(),))
    with database.reading() as connection:
        rounds = connection.exec_driver_sql("SELECT round, verdict FROM judgements ORDER BY round").all()
    assert [tuple(row) for row in rounds] == [(1, None), (2, "pass")]


def test_a_waiter_that_gives_up_does_not_lose_the_answer(database, stores):
    run, (key, *_) = make_run(stores)
    group = GroupCommit(database)
    future = group.answered(key, answer())
    assert not future.cancel()
    group.start()
    group.stop()
    assert stores.results.get(run.id, key).output == answer().output


def test_stopping_writes_what_was_handed_in_and_refuses_the_rest(database, stores):
    run, ids = make_run(stores, 30)
    group = GroupCommit(database)
    futures = [group.answered(key, answer()) for key in ids[:20]]
    group.stop()
    group.stop()
    assert [future.exception(0) for future in futures] == [None] * 20
    late = group.answered(ids[20], answer()).exception(0)
    assert isinstance(late, UnavailableError)
    assert late.code == "engine_stopped"
    assert stores.runs.get(run.id).completed_count == 20


def test_a_full_disk_fails_the_batch_whole_and_the_writer_goes_on(database, stores):
    run, ids = make_run(stores, 12)
    with database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    limit_pages(database, pages + 8)
    big = answer(text="x" * 20_000)
    group, futures = hand_in(database, lambda group: [group.answered(key, big) for key in ids])
    errors = [future.exception() for future in futures]
    assert all(isinstance(error, UnavailableError) and error.code == "storage_full" for error in errors)
    assert group.commits == 0
    assert len(stores.results.pending(run.id)) == 12
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM transcripts").scalar() == 0

    limit_pages(database, 1_000_000)
    group, futures = hand_in(database, lambda group: [group.answered(key, big) for key in ids])
    assert [future.exception() for future in futures] == [None] * 12


def test_the_same_writer_works_again_once_there_is_space(database, stores, writer):
    run, ids = make_run(stores, 3)
    with database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    limit_pages(database, pages + 2)
    failed = writer.answered(ids[0], answer(text="x" * 100_000)).exception(10)
    assert isinstance(failed, UnavailableError)
    limit_pages(database, 1_000_000)
    settle(writer, ids[0], answer(text="x" * 100_000), Verdict.PASS)
    assert stores.runs.get(run.id).verdict_counts.passed == 1


def limit_pages(database: Database, pages: int) -> None:
    """On the one pooled connection that tests use one after another, the page limit is the disk."""
    database.close()
    with database.reading() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")


def test_a_vanished_database_fails_the_batch_in_words(database, stores):
    _, ids = make_run(stores)
    database.close()
    database.path.rename(database.path.with_name("elsewhere.db"))
    _, futures = hand_in(database, lambda group: [group.answered(key, answer()) for key in ids])
    errors = [future.exception() for future in futures]
    assert all(isinstance(error, UnavailableError) and error.code == "database_unavailable" for error in errors)


def test_sixteen_threads_read_and_write_at_once_and_nobody_is_turned_away(database, stores, writer):
    run, ids = make_run(stores, 160)
    together = threading.Barrier(16)
    failures: list[BaseException] = []

    def work(mine):
        try:
            together.wait()
            for key in mine:
                settle(writer, key, answer(), Verdict.NEEDS_HUMAN_REVIEW)
                stores.runs.add_warning(run.id, f"warning {key}")
                stores.audit.append(actor="t", action="a", object=str(key))
                stores.runs.get(run.id)
                stores.results.queue(run_id=run.id, clause=None, limit=5, offset=0)
                stores.results.facets(run.id, ResultFilter())
        except BaseException as error:  # noqa: BLE001 - reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(ids[number::16],)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stores.runs.get(run.id).verdict_counts.needs_human_review == 160
    assert len(stores.runs.get(run.id).warnings) == 161
    assert stores.audit.verify() is None


def test_the_rollback_journal_serves_threads_as_well(tmp_path):
    import sqlite3
    from types import SimpleNamespace

    faulty = SimpleNamespace(**{name: getattr(sqlite3, name) for name in dir(sqlite3) if not name.startswith("__")})
    faulty.__name__, faulty.sqlite_version_info = "sqlite3", (3, 40, 1)
    database = Database(f"sqlite:///{tmp_path / 'old.db'}", driver=faulty)
    database.migrate()
    stores = Stores.over(database)
    run, ids = make_run(stores, 24)
    group = GroupCommit(database)
    group.start()
    threads = [
        threading.Thread(target=lambda mine: [settle(group, key, answer(), Verdict.PASS) for key in mine], args=(part,))
        for part in (ids[:12], ids[12:])
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        stores.runs.get(run.id)
    for thread in threads:
        thread.join()
    group.stop()
    assert [detail.execution_id for detail in stores.results.stream(run.id, ResultFilter())] == ids
    database.close()
