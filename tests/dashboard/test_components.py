"""Pieces that a page shows only in states a demo run does not reach."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import structlog
import time_machine
from streamlit.testing.v1 import AppTest

from dashboard import session
from engine.assembly import Engine
from engine.domain.runs import RunSpec
from engine.services import runs
from tests.dashboard.conftest import App
from tests.dashboard.test_pages import texts
from tests.support import engines


def drawn(script: Callable[[], None]) -> AppTest:
    test = AppTest.from_function(script, default_timeout=30)
    test.context = {"locale": "en", "timezone": "Europe/Berlin"}
    return test.run()


def test_a_very_long_answer_is_cut_with_a_note_and_can_be_downloaded_whole() -> None:
    def script() -> None:
        from dashboard.components import untrusted

        untrusted.draw("x" * 2_000_000, key="long")
        untrusted.say("y" * 30_000)

    test = drawn(script)
    assert len(test.code[0].value) == 20_000
    assert test.caption[0].value == "Shown: the first 20,000 of 2,000,000 characters."
    assert test.get("download_button")[0].proto.label == "Download the whole text"
    assert len(test.text[0].value) == 20_000


def test_an_empty_answer_says_so() -> None:
    def script() -> None:
        from dashboard.components import untrusted

        untrusted.draw("", key="empty")

    assert drawn(script).caption[0].value == "(empty)"


def test_why_nothing_moves_is_said_with_the_next_try() -> None:
    def script() -> None:
        from datetime import timedelta

        from dashboard.components import run_progress
        from engine.domain.base import utc_now
        from engine.domain.runs import Run, RunStatus, VerdictCounts, Waiting, WaitingReason

        for reason in WaitingReason:
            for until in (None, utc_now() + timedelta(seconds=30)):
                waiting = Waiting(
                    reason=reason, since=utc_now(), until=until, message="429 ![x](http://outside.invalid)"
                )
                run = Run.model_construct(status=RunStatus.RUNNING, waiting=waiting, verdict_counts=VerdictCounts())
                run_progress.draw_waiting(run)
        run_progress.draw_waiting(Run.model_construct(waiting=None))

    test = drawn(script)
    assert len(test.warning) == 6
    assert test.warning[0].value.startswith("The provider limits the rate.")
    assert "Next try at" in test.warning[1].value
    assert "![x](" not in test.caption[0].value, "what a provider says is no Markdown"
    assert "outside" in test.caption[0].value


def test_numbers_times_and_spans_read_as_people_write_them() -> None:
    def script() -> None:
        from datetime import UTC, datetime

        import streamlit as st

        from dashboard import words

        st.text(words.share(389, 428))
        st.text(words.share(0, 0))
        st.text(words.count(1234567))
        for seconds in (None, 0.42, 38, 125, 3780):
            st.text(words.duration(seconds))
        for when in (
            None,
            datetime(2026, 11, 30, 13, 2, tzinfo=UTC),
            datetime(2026, 3, 1, 13, 2, tzinfo=UTC),
            datetime(2025, 12, 31, 23, 30, tzinfo=UTC),
        ):
            st.text(words.moment(when))
        st.text(words.utc(datetime(2026, 11, 30, 13, 2, tzinfo=UTC)))
        st.text(words.utc(None))
        st.text(words.interval(None, None))
        st.text(words.offset())
        st.text(words.skipped("no vision, system_message"))
        st.text(words.skipped("switched off"))

    with time_machine.travel(datetime(2026, 11, 30, 20, tzinfo=UTC), tick=True):
        values = [each.value for each in drawn(script).text]
    assert values == [
        "90.9 % (389 of 428)",
        "n/a (0 of 0)",
        "1,234,567",
        "–",
        "0.4 s",
        "38 s",
        "2 min 05 s",
        "1 h 03 min",
        "–",
        "14:02",
        "1 Mar 14:02",
        "1 Jan 00:30",
        "2026-11-30 13:02:00 UTC",
        "",
        "",
        "+01:00",
        "the model lacks: images, system message",
        "switched off",
    ]


def test_an_unknown_time_zone_reads_utc_and_chinese_dates_are_chinese() -> None:
    def script() -> None:
        from datetime import UTC, datetime

        import streamlit as st

        from dashboard import words

        st.text(words.moment(datetime(2026, 3, 1, 13, 2, tzinfo=UTC)))
        st.text(words.moment(datetime(2024, 3, 1, 13, 2, tzinfo=UTC)))

    test = AppTest.from_function(script)
    test.context = {"locale": "zh-CN", "timezone": "Nowhere/Else"}
    with time_machine.travel(datetime(2026, 11, 30, 20, tzinfo=UTC), tick=True):
        assert [each.value for each in test.run().text] == ["3月1日 13:02", "2024-03-01"]


def test_every_state_has_a_word_in_both_languages() -> None:
    def script() -> None:
        import streamlit as st

        from dashboard import words
        from dashboard.components import verdict
        from engine.domain.accounts import Role
        from engine.domain.cases import Mode, Severity
        from engine.domain.runs import ExecutionStatus, RunStatus
        from engine.domain.verdicts import JudgeKind, QueueReason, ReviewVerdict

        for word, kind in (
            (words.run_status, RunStatus),
            (words.execution_status, ExecutionStatus),
            (words.mode, Mode),
            (words.severity, Severity),
            (words.judge, JudgeKind),
            (words.queue_reason, QueueReason),
            (words.review_verdict, ReviewVerdict),
            (words.role, Role),
        ):
            for value in kind:
                st.text(word(value))
        for value in verdict.ORDER:
            st.text(verdict.word(verdict.of(value)))

    for locale in ("en", "zh"):
        test = AppTest.from_function(script)
        test.context = {"locale": locale}
        test.run()
        assert not test.exception
        assert all(each.value for each in test.text)


def test_a_result_with_everything_shows_everything() -> None:
    def script() -> None:
        from dashboard.components import result_detail
        from engine.domain.base import utc_now
        from engine.domain.cases import Expectation, Instance, Mode, Severity, Technique, ToolCallPolicy, ToolDef, Turn
        from engine.domain.chat import FinishReason, RefusalType, ToolCall, Usage
        from engine.domain.runs import Attempt, ExecutionStatus, Output, ResultDetail
        from engine.domain.verdicts import JudgeKind, Judgement, Review, ReviewVerdict, Verdict

        hostile = "![x](http://outside.invalid/x.png) <b>b</b>"
        output = Output(
            text=hostile,
            refusal_type=RefusalType.MODEL,
            tool_calls=(ToolCall(id="1", name="send", arguments="{not json"),),
            finish_reason=FinishReason.LENGTH,
        )
        judgements = (
            Judgement(judge=JudgeKind.LLM, verdict=None, reason="down", detail={"code": "judge_unavailable"}),
            Judgement(judge=JudgeKind.LLM, verdict=Verdict.FAIL, reason=hostile, confidence=0.5),
        )
        review = Review(
            verdict=ReviewVerdict.PASS, reason=hostile, reviewer=hostile, created_at=utc_now(), version=1, attempt=2
        )
        attempt = Attempt(
            number=2,
            execution_status=ExecutionStatus.COMPLETED,
            automatic_verdict=Verdict.FAIL,
            judgements=judgements,
            messages=(),
            output=output,
            latency_ms=1200,
            usage=Usage(prompt_tokens=None, completion_tokens=1234),
            served_model=hostile,
            reasoning="thinking",
            created_at=utc_now(),
        )
        instance = Instance(
            instance_id="x",
            case_id="x",
            seed_case="x",
            clause="A.1.a",
            mode=Mode.TOOL,
            language="en",
            title=hostile,
            system="be good",
            turns=(Turn(text="hello"),),
            expectation=Expectation(must="a", must_not="b"),
            severity=Severity.HIGH,
            technique=Technique.DIRECT,
            tools=(ToolDef(name="send", description="sends", parameters={}),),
            tool_call_policy=ToolCallPolicy(),
        )
        result_detail.draw(
            ResultDetail(
                execution_id=1,
                run_id=1,
                instance_id="x",
                case_id="x",
                clause="A.1.a",
                mode=Mode.TOOL,
                execution_status=ExecutionStatus.COMPLETED,
                verdict=Verdict.PASS,
                automatic_verdict=Verdict.FAIL,
                review=review,
                judgements=judgements,
                output=output,
                latency_ms=1200,
                attempts=2,
                created_at=utc_now(),
                attempts_history=(attempt,),
                reviews=(review,),
                instance=instance,
            )
        )

    test = drawn(script)
    assert not test.exception, [each.value for each in test.exception]
    page = texts(test)
    for expected in (
        "could not be reached",
        "confidence 0.50",
        "2 attempts",
        "1,234 tokens",
        "finish reason: length limit",
    ):
        assert expected in page
    assert "decided by a person; the automatic verdict was" in page
    assert "refused by: the model" in page
    assert "send({not json)" in page
    codes = [each.value for each in test.code]
    assert "be good" in codes
    assert "thinking" in codes
    for element in [*test.markdown, *test.caption]:
        assert "![x](" not in element.value


def test_an_image_that_is_gone_is_a_sentence_in_its_place(engine: Engine, app: App) -> None:
    session.attach(engine)

    def script() -> None:
        import streamlit as st

        from dashboard import session
        from dashboard.components import result_detail
        from engine.domain.chat import FixtureRef
        from engine.services import accounts

        opened = accounts.open_session(session.engine(), "gly", "maxta2026", client="127.0.0.1")
        st.session_state[session.SIGNED_IN] = opened
        result_detail.draw_fixtures((FixtureRef(fixture_id="map", sha256="0" * 64, media_type="image/png"),), 1)

    test = drawn(script)
    assert not test.exception
    assert test.text
    assert "fixture map" in test.caption[0].value


def test_a_page_that_fails_shows_a_reference_and_nothing_of_the_error() -> None:
    def script() -> None:
        from dashboard.components import errors

        assert errors.unexpected(ValueError("secret prompt"))

    with structlog.testing.capture_logs() as logged:
        test = drawn(script)
    assert "secret" not in test.error[0].value
    reference = test.error[0].value.split()[-1].rstrip(".")
    assert [(entry["event"], entry["reference"]) for entry in logged] == [("page_failed", reference)]


def test_errors_are_words_with_the_fields_that_are_wrong() -> None:
    def script() -> None:
        from dashboard.components import errors
        from engine.errors import InputError, NotFoundError, PermissionDenied, TooManyAttempts

        for error in (
            NotFoundError("no run 7", code="run_not_found"),
            InputError("bad", fields=(("body.name", "too *long*"),)),
            TooManyAttempts("slow down", retry_after_s=0.2),
        ):
            with errors.shown():
                raise error
        assert errors.unexpected(PermissionDenied("your role does not allow this"))

    values = [each.value for each in drawn(script).error]
    assert values[0] == "This run does not exist, or not any more.  \nno run 7"
    assert values[1] == "bad  \nname: too \\*long\\*"
    assert values[2].startswith("Too many attempts. Try again in 1 s.")
    assert values[3].startswith("Your role does not allow this.")


def test_a_run_that_ended_badly_says_why_and_what_to_beware_of(engine: Engine, app: App) -> None:
    def script() -> None:
        from dashboard.components import run_summary
        from engine.domain.base import utc_now
        from engine.domain.runs import Run, RunStatus, VerdictCounts
        from engine.services.reports import Rate, Totals

        nothing = Rate.of(0, 0)
        run = Run(
            id=1,
            status=RunStatus.INTERRUPTED,
            profile="full",
            bank="regression",
            auto_judge=True,
            provider_id=1,
            provider_name="x",
            simulated=False,
            model="![x](http://outside.invalid)",
            judge_model=None,
            total_count=2,
            completed_count=0,
            error_count=2,
            skipped_count=0,
            verdict_counts=VerdictCounts(),
            capabilities={},
            waiting=None,
            dataset_sha256="0",
            seed=None,
            created_at=utc_now(),
            started_at=None,
            finished_at=None,
            created_by="gly",
            error="the key was refused",
            warnings=("the model judges itself",),
        )
        totals = Totals(
            planned=2, passed=nothing, should_refuse=nothing, over_refusal=nothing, pending=0, errors=2, skipped=0
        )
        run_summary.draw(run, totals, skipped={})

    test = drawn(script)
    assert test.error[0].value == "the key was refused"
    assert test.warning[0].value == "the model judges itself"
    assert [each.value for each in test.metric][:3] == ["n/a", "n/a", "n/a"]
    assert "0 of 0" in texts(test)
    assert "judged by rules alone" in texts(test)
    assert "![x](" not in texts(test)


def test_more_runs_than_a_page_holds_are_paged_by_the_database(engine: Engine, app: App) -> None:
    for _number in range(17):
        engines.until_over(
            engine, runs.start(engine, RunSpec(profile="smoke", auto_judge=False), actor=engines.ADMIN).id
        )
    test = app(engine, at="runs")
    assert "1–15 of 17" in texts(test)
    assert len(test.dataframe[0].value) == 15
    test.get("pagination")[0].set_value(2).run()
    assert "16–17 of 17" in texts(test)
    assert list(test.dataframe[0].value["run"]) == [2, 1]


def test_a_click_on_a_cell_selects_its_row() -> None:
    def script() -> None:
        import streamlit as st

        from dashboard.components import rows

        for number, cells in enumerate(([], [(4, "mode")])):
            st.session_state[f"table.{number}"] = {"selection": {"rows": [1], "columns": [], "cells": cells}}
            rows.take_cell(f"table.{number}")
            st.text(str(st.session_state[f"table.{number}"]["selection"]))

    assert [each.value for each in drawn(script).text] == [
        "{'rows': [1], 'columns': [], 'cells': []}",
        "{'rows': [4], 'columns': [], 'cells': []}",
    ]
