"""Lists, filters, facets, counts and the queue."""

from __future__ import annotations

import pytest

from engine.domain.cases import Mode
from engine.domain.runs import ClauseCounts, ExecutionStatus, ResultFilter, RunStatus
from engine.domain.verdicts import QueueReason, ReviewVerdict, Verdict
from engine.errors import InputError, NotFoundError
from engine.store.result_store import BATCH
from tests.store.samples import answer, failure, instance, make_run, settle


def review(stores, run, key, verdict, **more):
    return stores.reviews.add(
        run.id,
        key,
        **{"attempt": 1, "reason": "because", "reviewer_id": 1, "reviewer": "gly", "if_version": None, **more},
        verdict=verdict,
    )


@pytest.fixture
def mixed(stores, writer):
    """A run of nine: six answered, one error, one skipped, one still waiting."""
    plan = [
        instance("p1", clause="A.1.a"),
        instance("p2", clause="A.1.a", text="How much is 100% of_it?"),
        instance("f1", clause="A.1.b"),
        instance("h1", clause="A.1.b", mode=Mode.RF),
        instance("j1", clause="A.2.a", mode=Mode.RF),
        instance("n1", clause="A.2.a"),
        instance("e1", clause="A.1.a"),
        instance("s1", clause="A.1.b"),
        instance("w1", clause="A.2.a"),
    ]
    run, ids = make_run(stores, plan)
    verdicts = [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.NEEDS_HUMAN_REVIEW, Verdict.JUDGE_FORMAT_ERROR]
    for number, verdict in enumerate(verdicts):
        settle(writer, ids[number], answer(text=f"Answer NUMBER {number} 巴黎"), verdict)
    settle(writer, ids[5], answer())
    settle(writer, ids[6], failure(message="no answer within 60 s"))
    stores.results.skip(run.id, {ids[7]: "no vision"})
    return run, dict(zip([item.instance_id for item in plan], ids, strict=True))


def names(stores, run, **where):
    page = stores.results.page(run.id, ResultFilter(**where), limit=50, offset=0)
    assert page.total == len(page.items)
    streamed = [detail.instance_id for detail in stores.results.stream(run.id, ResultFilter(**where))]
    assert streamed == [item.instance_id for item in page.items]
    return streamed


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "p1 p2 f1 h1 j1 n1 e1"),
        ({"execution_status": "completed"}, "p1 p2 f1 h1 j1 n1"),
        ({"execution_status": "error"}, "e1"),
        ({"verdict": "pass"}, "p1 p2"),
        ({"verdict": Verdict.FAIL}, "f1"),
        ({"verdict": "none"}, "n1 e1"),
        ({"verdict": "none", "execution_status": "completed"}, "n1"),
        ({"clause": "A.1.b"}, "f1 h1"),
        ({"mode": "rf"}, "h1 j1"),
        ({"mode": "rf", "clause": "A.2.a"}, "j1"),
        ({"clause": "A.5.b"}, ""),
        ({"q": "answer number 3"}, "h1"),
        ({"q": "巴黎"}, "p1 p2 f1 h1 j1"),
        ({"q": "100%"}, "p2"),
        ({"q": "of_it"}, "p2"),
        ({"q": "ofxit"}, ""),
        ({"q": "\\"}, ""),
        ({"q": "within 60"}, "e1"),
        ({"q": "Title of j1"}, "j1"),
        ({"q": "n1"}, "n1"),
        ({"q": ""}, "p1 p2 f1 h1 j1 n1 e1"),
    ],
)
def test_filters_combine_and_keep_plan_order(stores, mixed, where, expected):
    assert names(stores, mixed[0], **where) == expected.split()


def test_a_verdict_nobody_knows_is_refused(stores, mixed):
    for ask in (
        lambda where: stores.results.page(mixed[0].id, where, limit=1, offset=0),
        lambda where: stores.results.stream(mixed[0].id, where),
        lambda where: stores.results.facets(mixed[0].id, where),
    ):
        with pytest.raises(InputError, match="known: pass, fail"):
            ask(ResultFilter(verdict="maybe"))


def test_a_search_text_has_bounds(stores, mixed):
    assert names(stores, mixed[0], q="x" * 1000) == []
    for too_much, words in (("x" * 1001, "at most 1000"), ("\ud800", "no valid Unicode")):
        with pytest.raises(InputError, match=words):
            stores.results.page(mixed[0].id, ResultFilter.model_construct(q=too_much), limit=1, offset=0)


def test_pages_are_slices_of_one_list(stores, mixed):
    run, _ = mixed
    pages = [stores.results.page(run.id, ResultFilter(), limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page.items) for page in pages] == [3, 3, 1, 0]
    assert {page.total for page in pages} == {7}
    assert [item.instance_id for page in pages for item in page.items] == names(stores, run)


def test_runs_and_results_that_do_not_exist_are_not_found(stores, mixed):
    run, ids = mixed
    other, (foreign, *_) = make_run(stores)
    for execution_id in (ids["w1"], ids["s1"], foreign, 10**6):
        with pytest.raises(NotFoundError) as caught:
            stores.results.get(run.id, execution_id)
        assert caught.value.code == "result_not_found"
    for ask in (
        lambda: stores.results.page(99, ResultFilter(), limit=1, offset=0),
        lambda: stores.results.stream(99, ResultFilter()),
        lambda: stores.results.facets(99, ResultFilter()),
        lambda: stores.results.by_mode(99),
    ):
        with pytest.raises(NotFoundError) as missing:
            ask()
        assert missing.value.code == "run_not_found"
    assert names(stores, other) == []


def test_facets_count_what_each_choice_would_leave(stores, mixed):
    run, _ = mixed
    assert stores.results.facets(run.id, ResultFilter()) == {
        "verdict": {"fail": 1, "judge_format_error": 1, "needs_human_review": 1, "none": 2, "pass": 2},
        "execution_status": {"completed": 6, "error": 1},
        "clause": {"A.1.a": 3, "A.1.b": 2, "A.2.a": 2},
        "mode": {"rf": 2, "single": 5},
    }
    for where in (
        {"clause": "A.2.a", "mode": "rf"},
        {"verdict": "pass"},
        {"q": "巴黎", "execution_status": "completed"},
    ):
        facets = stores.results.facets(run.id, ResultFilter(**where))
        for name, counts in facets.items():
            for value, count in counts.items():
                assert len(names(stores, run, **{**where, name: value})) == count
    assert stores.results.facets(run.id, ResultFilter(clause="A.2.a", mode="rf"))["clause"] == {"A.1.b": 1, "A.2.a": 1}


def test_counts_by_clause_and_mode_add_up(stores, mixed):
    run, ids = mixed
    review(stores, run, ids["h1"], ReviewVerdict.PASS)

    def counts(key, *numbers, **open_of):
        words = ("planned", "executed", "passed", "fail", "pending", "errors", "skipped")
        return ClauseCounts(key=key, **dict(zip(words, numbers, strict=True)), **open_of)

    assert stores.results.by_clause(run.id) == [
        counts("A.1.a", 3, 2, 2, 0, 0, 1, 0),
        counts("A.1.b", 3, 2, 1, 1, 0, 0, 1),
        counts("A.2.a", 3, 2, 0, 0, 2, 0, 0, judge_format_error=1, undecided=1),
    ]
    assert stores.results.by_mode(run.id) == [
        counts("rf", 2, 2, 1, 0, 1, 0, 0, judge_format_error=1),
        counts("single", 7, 4, 2, 1, 1, 1, 1, undecided=1),
    ]


def test_open_answers_are_counted_by_what_they_wait_for(stores, writer, mixed):
    run, ids = mixed
    review(stores, run, ids["p1"], ReviewVerdict.FAIL)
    review(stores, run, ids["h1"], ReviewVerdict.PASS)
    review(stores, run, ids["h1"], ReviewVerdict.CLEAR)
    settle(writer, ids["w1"], answer(), Verdict.NEEDS_HUMAN_REVIEW)
    rows = {row.key: row for row in stores.results.by_clause(run.id)}
    assert {key: (row.needs_human_review, row.judge_format_error, row.undecided) for key, row in rows.items()} == {
        "A.1.a": (0, 0, 0),
        "A.1.b": (1, 0, 0),
        "A.2.a": (1, 1, 1),
    }
    for row in rows.values():
        assert row.pending == row.needs_human_review + row.judge_format_error + row.undecided
        assert row.executed == row.passed + row.fail + row.pending


@pytest.mark.parametrize(("latencies", "median_s"), [((40,), 0.04), ((900, 10, 40), 0.04), ((900, 10, 40, 60), 0.05)])
def test_the_median_latency_is_that_of_the_newest_completed_run_of_the_provider(stores, writer, latencies, median_s):
    def done(values, *, provider_id, status=RunStatus.COMPLETED):
        run, ids = make_run(stores, len(values) + 1, provider_id=provider_id)
        for key, latency_ms in zip(ids, values, strict=False):
            settle(writer, key, answer().model_copy(update={"latency_ms": latency_ms}))
        settle(writer, ids[-1], failure())
        stores.runs.set_status(run.id, status)

    assert stores.results.median_latency_s(7) is None
    done([5000], provider_id=7)
    done(latencies, provider_id=7)
    done([7000], provider_id=8)
    done([8000], provider_id=7, status=RunStatus.CANCELLED)
    assert stores.results.median_latency_s(7) == pytest.approx(median_s)


def test_skipping_says_why_and_spares_what_was_tried(stores, mixed):
    run, ids = mixed
    stores.results.skip(run.id, {})
    stores.results.skip(run.id, {ids["w1"]: "no tools", ids["p1"]: "no tools"})
    assert stores.results.skipped(run.id) == {"no tools": 1, "no vision": 1}
    assert stores.results.pending(run.id) == []
    assert "p1" in names(stores, run)


def test_errors_are_counted_by_kind_with_their_first_message(stores, writer):
    run, ids = make_run(stores, 5)
    messages = [("auth", "key refused"), ("timeout", "first"), ("timeout", "second"), ("timeout", "third")]
    for key, (code, message) in zip(ids[::-1], messages[::-1], strict=False):
        settle(writer, key, failure(code=code, message=message))
    assert stores.results.errors(run.id) == [("timeout", 3, "first"), ("auth", 1, "key refused")]
    settle(writer, ids[1], answer(2))
    assert ("auth", 1, "key refused") not in stores.results.errors(run.id)


def test_what_lacks_a_verdict_is_found_with_its_newest_answer(stores, writer, mixed):
    run, ids = mixed
    settle(writer, ids["n1"], answer(2, "newer"), None)
    (lacking,) = stores.results.answered(stores.results.to_judge(run.id, only_missing=True))
    assert (lacking.execution.execution_id, lacking.execution.attempts) == (ids["n1"], 2)
    assert lacking.attempt.output is not None
    assert lacking.attempt.output.text == "newer"
    assert [judgement.verdict for judgement in lacking.attempt.judgements] == [None]


def test_the_queue_holds_what_waits_for_a_person_oldest_run_first(stores, writer, mixed):
    run, ids = mixed
    later, others = make_run(stores, [instance("x"), instance("y", clause="A.1.b")])
    settle(writer, others[1], answer(), Verdict.NEEDS_HUMAN_REVIEW)
    settle(writer, others[0], answer(), Verdict.JUDGE_FORMAT_ERROR)

    def queue(**where):
        page = stores.results.queue(**{"run_id": None, "clause": None, "limit": 10, "offset": 0, **where})
        return [item.instance_id for item in page.items], page.total

    assert queue() == (["h1", "j1", "x", "y"], 4)
    assert queue(limit=2, offset=1) == (["j1", "x"], 4)
    assert queue(run_id=later.id) == (["x", "y"], 2)
    assert queue(clause="A.1.b") == (["h1", "y"], 2)
    assert queue(run_id=run.id, clause="A.1.b") == (["h1"], 1)
    assert queue(run_id=99) == ([], 0)
    page = stores.results.queue(run_id=run.id, clause=None, limit=10, offset=0)
    assert [item.why for item in page.items] == [QueueReason.NEEDS_HUMAN_REVIEW, QueueReason.JUDGE_FORMAT_ERROR]

    review(stores, run, ids["h1"], ReviewVerdict.PASS)
    assert queue(run_id=run.id) == (["j1"], 1)
    review(stores, run, ids["h1"], ReviewVerdict.CLEAR)
    assert queue(run_id=run.id) == (["h1", "j1"], 2)
    settle(writer, ids["j1"], answer(2), Verdict.PASS)
    assert queue(run_id=run.id) == (["h1"], 1)


def test_the_queue_of_a_run_is_read_from_its_own_index(database, stores):
    from sqlalchemy import event

    seen = []
    event.listen(database._engine, "before_cursor_execute", lambda *call: seen.append((call[2], call[3])))
    make_run(stores)
    seen.clear()
    stores.results.queue(run_id=1, clause=None, limit=5, offset=0)
    query, parameters = next(call for call in seen if "UNION ALL" in call[0] and "ORDER BY" in call[0])
    with database.reading() as connection:
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", parameters))
    assert "ix_attempts_queue (execution_id>? AND execution_id<?)" in plan
    assert "ix_executions_audit (run_id=?)" in plan


def test_a_stream_is_one_snapshot_of_any_length(stores, writer):
    run, ids = make_run(stores, BATCH * 2 + 1)
    for key in ids:
        writer.answered(key, answer())
    writer.judged(ids[-1], 1, verdict=Verdict.PASS, judgements=[]).result(10)
    stream = stores.results.stream(run.id, ResultFilter())
    first = next(stream)
    review(stores, run, ids[-1], ReviewVerdict.FAIL)
    settle(writer, ids[-1], answer(2, "newer"), Verdict.FAIL)
    rest = list(stream)
    assert [first.execution_id, *(item.execution_id for item in rest)] == ids
    assert (rest[-1].verdict, rest[-1].reviews, rest[-1].attempts) == (Verdict.PASS, (), 1)
    assert list(stores.results.stream(run.id, ResultFilter()))[-1].attempts == 2


def test_a_stream_that_is_not_read_to_its_end_frees_its_connection(stores, writer, database):
    run, ids = make_run(stores, 3)
    settle(writer, ids[0], answer())
    for _ in range(80):
        stream = stores.results.stream(run.id, ResultFilter(execution_status=ExecutionStatus.COMPLETED))
        next(stream)
        stream.close()
    database.ping()
