from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from dashboard import guide, session
from dashboard.components import decision, download, filters, first_steps, once, review_panel, run_form, run_progress
from engine.assembly import Engine
from engine.domain.accounts import Role
from engine.domain.providers import ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, Run, RunSpec, RunStatus
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.services import results, reviews, runs
from tests.dashboard.conftest import App
from tests.support import engines

Finished = tuple[Engine, Run]
AsRole = Callable[[AppTest, Role], None]


def texts(test: AppTest) -> str:
    """Everything a reader can read on the page, badges and captions included."""
    parts = [*test.markdown, *test.caption, *test.text, *test.code, *test.subheader, *test.title, *test.info]
    return "\n".join(str(each.value) for each in parts)


def labels(test: AppTest) -> list[str]:
    return [button.label for button in test.button]


def click(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click().run()
    assert not test.exception, [each.value for each in test.exception]
    return test


def box(test: AppTest, key: str) -> Selectbox:
    """The select box of a choice; its widget has a key of its own for each set of labels."""
    return next(each for each in test.selectbox if (each.key or "").rpartition(".")[0] == key)


def later(test: AppTest, slot: str) -> None:
    """As if the seconds in which a second click means the first had passed."""
    held = test.session_state[slot]
    test.session_state[slot] = held._replace(done_at=held.done_at - once.HOLD_S - 1)


def demo(engine: Engine) -> Run:
    run = runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN)
    return engines.until_over(engine, run.id)


# overview


def test_a_first_start_offers_three_steps_and_the_demo_is_one_click(engine: Engine, app: App) -> None:
    test = app(engine)
    assert [each.value for each in test.subheader] == ["1 · See it work", "2 · Connect a model", "3 · Read the guide"]
    click(test, "first_steps.demo")
    run = engines.until_over(engine, 1)
    assert (run.status, run.profile, run.simulated) == (RunStatus.COMPLETED, "smoke", True)
    test.run()
    assert "Pass rate by clause" in texts(test)
    assert runs.page(engine, actor=engines.ADMIN).total == 1


def test_the_demo_without_its_provider_says_what_to_do(engine: Engine, app: App) -> None:
    engine.stores.providers.delete(1)
    test = click(app(engine), "first_steps.demo")
    assert "add it again under Providers" in test.error[0].value.replace("\\", "")


def test_the_overview_shows_six_figures_with_their_counts(finished: Finished, app: App) -> None:
    engine, run = finished
    test = app(engine)
    assert [each.label for each in test.metric] == [
        "Pass rate",
        "Should refuse",
        "Over-refusal",
        "To review",
        "Judge unreadable",
        "Errors",
    ]
    tally = run.verdict_counts
    assert f"{tally.passed} of {tally.passed + tally.fail}" in texts(test)
    assert f"{run.error_count} of {run.total_count}" in texts(test)
    assert "simulated" in texts(test)


def test_the_overview_in_chinese_speaks_chinese(finished: Finished, app: App) -> None:
    test = app(finished[0], language="zh")
    assert test.metric[0].label == "通过率"
    assert "模拟" in texts(test)


def test_a_run_under_way_is_followed_live_and_can_be_cancelled(tmp_path: pytest.TempPathFactory, app: App) -> None:
    with engines.opened(tmp_path, demo_answer_seconds=2) as engine:
        runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN)
        test = app(engine)
        assert "of 31" in test.get("progress")[0].proto.text
        assert next(each for each in app(engine, at="results").button if each.label == "Download Markdown").disabled
        click(test, "run_progress.cancel.1")
        assert engines.until_over(engine, 1).status is RunStatus.CANCELLED
        test = app(engine, at="runs")
        assert "Resume" in labels(test)
        click(test, "run_actions.resume")
        assert not runs.get(engine, 1, actor=engines.ADMIN).status.is_over
        runs.cancel(engine, 1, actor=engines.ADMIN)
        engines.until_over(engine, 1)


# runs


def test_a_run_is_started_from_three_choices_and_only_once(engine: Engine, app: App) -> None:
    test = app(engine, at="runs")
    test.text_input(key="run_form.note").input("before release 7")
    click(test, "run_form.submit")
    started = engines.until_over(engine, 1)
    assert started.note == "before release 7"
    assert started.judge_model == "demo-judge"
    assert test.session_state[session.SELECTED_RUN] == 1

    click(test, "run_form.submit")  # a second click, come late
    assert runs.page(engine, actor=engines.ADMIN).total == 1
    later(test, session.START_KEY)
    click(test, "run_form.submit")
    assert engines.until_over(engine, 2).note == "before release 7"
    test.text_input(key="run_form.note").input("another form")
    click(test, "run_form.submit")
    assert engines.until_over(engine, 3).note == "another form"


def test_the_form_says_how_long_it_would_take_as_soon_as_the_provider_has_finished_a_run(
    engine: Engine, app: App
) -> None:
    test = app(engine, at="runs")
    assert "No estimate: this provider has finished no run yet." in texts(test)
    demo(engine)
    took = runs.estimate(engine, profile="smoke", provider_id=1, actor=engines.ADMIN)
    assert took is not None
    assert f"About {took:.1f} s of answering, by its last" in texts(test.run())


def test_a_chosen_judge_is_used_and_rules_only_means_nobody_else(engine: Engine, app: App) -> None:
    test = app(engine, at="runs")
    test.segmented_control(key="run_form.judging").set_value(run_form.Judging.CHOSEN)
    test.run()
    test.text_input(key="run_form.judge_model").input("demo-judge")
    click(test, "run_form.submit")
    assert engines.until_over(engine, 1).judge_model == "demo-judge"
    test.segmented_control(key="run_form.judging").set_value(run_form.Judging.NOBODY)
    test.run()
    click(test, "run_form.submit")
    second = engines.until_over(engine, 2)
    assert (second.judge_model, second.auto_judge) == (None, True)
    assert second.verdict_counts.fail + second.verdict_counts.passed > 0
    assert second.verdict_counts.needs_human_review > 0
    assert "judged by rules alone" in texts(test.run())


def test_a_run_nobody_judges_says_so(engine: Engine, app: App) -> None:
    spec = RunSpec(profile="smoke", auto_judge=False)
    engines.until_over(engine, runs.start(engine, spec, actor=engines.ADMIN).id)
    assert "not judged" in texts(app(engine, at="runs"))


def test_what_was_typed_stays_when_a_start_fails(tmp_path: Path, app: App) -> None:
    with engines.opened(tmp_path), engines.opened(tmp_path) as without_engine:
        test = app(without_engine, at="runs")
        test.text_input(key="run_form.note").input("kept")
        test = click(test, "run_form.submit")
        assert test.error[0].value.startswith("Another process runs the engine of this database.")
        assert test.text_input(key="run_form.note").value == "kept"


def test_without_a_provider_the_form_says_where_to_add_one(engine: Engine, app: App) -> None:
    engine.stores.providers.delete(1)
    test = app(engine, at="runs")
    assert "There is no model to examine yet." in texts(test)
    assert "Start the run" not in labels(test)


def test_a_run_is_deleted_only_after_a_dialog_that_names_what_goes(engine: Engine, app: App) -> None:
    run = demo(engine)
    first = reviews.queue(engine, actor=engines.ADMIN).items[0]
    verdict = ReviewVerdict.PASS
    reviews.decide(engine, run.id, first.execution_id, verdict=verdict, reason="because", actor=engines.ADMIN)
    test = click(app(engine, at="runs"), "run_actions.delete")
    gone = f"Run {run.id} goes for good: {run.completed_count} answers, {run.error_count} error, 1 review."
    assert gone in texts(test)
    assert runs.page(engine, actor=engines.ADMIN).total == 1
    click(test, "run_actions.confirm")
    assert runs.page(engine, actor=engines.ADMIN).total == 0
    assert "Nothing has run yet." in texts(test)


def test_errors_are_listed_by_kind_with_a_message(finished: Finished, app: App) -> None:
    engine, run = finished
    kind = results.errors(engine, run.id, actor=engines.ADMIN)[0]
    test = app(engine, at="runs")
    assert kind.message in [each.value for each in test.text]


def test_the_results_of_a_run_are_one_click_away(finished: Finished, app: App) -> None:
    test = click(app(finished[0], at="runs"), "run_actions.open")
    assert test.title[0].value == "Results"
    assert test.query_params["run"] == str(finished[1].id)


def test_a_viewer_sees_runs_and_cannot_start_or_delete(finished: Finished, app: App, as_role: AsRole) -> None:
    test = app(finished[0], at="runs")
    as_role(test, Role.VIEWER)
    test.session_state[session.CHECKED_AT] = float("inf")
    test.run()
    assert "Start the run" not in labels(test)
    assert "Delete" not in labels(test)
    assert "Open the results" in labels(test)


def test_a_selected_run_that_is_gone_gives_way_to_one_that_is_there(finished: Finished, app: App) -> None:
    test = app(finished[0], at="runs")
    test.session_state[session.SELECTED_RUN] = 999
    test.run()
    assert test.session_state[session.SELECTED_RUN] == finished[1].id
    assert not test.exception


# results


def where(test: AppTest) -> dict[str, str]:
    return {name: value for name, value in test.query_params.items() if name in filters.NAMES}


def test_without_a_run_the_results_say_where_to_start(engine: Engine, app: App) -> None:
    assert "Nothing has run yet." in texts(app(engine, at="results"))


def test_filters_narrow_the_list_and_stand_in_the_address(finished: Finished, app: App) -> None:
    engine, run = finished
    test = app(engine, at="results")
    test.pills(key="results.verdict").set_value("fail")
    test.run()
    assert where(test)["verdict"] == "fail"
    failed = results.page(engine, run.id, ResultFilter(verdict=Verdict.FAIL), actor=engines.ADMIN)
    assert len(test.dataframe[0].value) == failed.total
    assert f"of {failed.total}" in texts(test)


def test_a_link_opens_the_same_view_again(finished: Finished, app: App) -> None:
    engine, run = finished
    failed = results.page(engine, run.id, ResultFilter(verdict=Verdict.FAIL), actor=engines.ADMIN).items
    asked = {"run": str(run.id), "verdict": "fail", "mode": str(failed[1].mode), "id": str(failed[1].execution_id)}
    test = app(engine, at="results", **asked)
    assert test.session_state["results.verdict"] == "fail"
    assert where(test) == asked
    assert failed[1].instance_id.replace("-", "\\-") in texts(test)


@pytest.mark.parametrize(
    "asked",
    [
        {"run": "999"},
        {"run": "../../etc"},
        {"verdict": "<script>"},
        {"clause": "Z.9.z", "mode": "none", "status": "??"},
        {"page": "-1", "id": "9" * 40},
    ],
)
def test_a_link_that_makes_no_sense_opens_the_page_all_the_same(
    finished: Finished, app: App, asked: dict[str, str]
) -> None:
    test = app(finished[0], at="results", **asked)
    assert len(test.dataframe[0].value) > 0


def test_coming_back_to_the_results_finds_them_as_they_were_left(finished: Finished, app: App) -> None:
    test = app(finished[0], at="results", verdict="pass")
    test.switch_page("../pages/runs.py").run()
    test.query_params.clear()
    test.switch_page("../pages/results.py").run()
    assert where(test)["verdict"] == "pass"


def test_nothing_found_is_said(finished: Finished, app: App) -> None:
    test = app(finished[0], at="results", q="no such words anywhere")
    assert "No result matches these filters." in texts(test)


def test_every_result_opens_in_both_languages(finished: Finished, app: App) -> None:
    engine, run = finished
    every = results.page(engine, run.id, ResultFilter(), actor=engines.ADMIN, limit=500).items
    seen: dict[tuple[str, str], int] = {}
    for each in every:
        seen.setdefault((each.mode, str(each.verdict)), each.execution_id)
    for number, execution_id in enumerate(seen.values()):
        test = app(engine, at="results", language="zh" if number % 2 else "en", run=str(run.id), id=str(execution_id))
        detail = results.get(engine, run.id, execution_id, actor=engines.ADMIN)
        drawn = "\n".join(each.value for each in test.code)
        for turn in detail.instance.turns:
            assert turn.text.split("\n")[0] in drawn
        if detail.output is not None and detail.output.text:
            assert detail.output.text.split("\n")[0] in drawn


def test_an_execution_error_shows_its_code_and_no_answer(finished: Finished, app: App) -> None:
    test = app(finished[0], at="results", status="error")
    assert "No answer: the call failed." in texts(test)
    assert "context\\_length\\_exceeded" in texts(test) or "bad\\_request" in texts(test)


def test_the_download_holds_every_result_and_its_name_a_hash_of_it(
    finished: Finished, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, run = finished
    made: list[download.File] = []
    original = download.make
    monkeypatch.setattr(download, "make", lambda of: made.append(original(of)) or made[-1])
    test = app(engine, at="results")
    assert not test.exception
    file = made[-1]
    assert file.name == f"run_{run.id}_results.md"
    content = file.content.decode("utf-8")
    for result in results.page(engine, run.id, ResultFilter(), actor=engines.ADMIN, limit=500).items:
        assert result.instance_id in content
    assert re.fullmatch(r"text/markdown; v=[0-9a-f]{32}", file.mime)
    assert download.File(file.name, file.content + b" ").mime != file.mime


def test_a_big_report_is_made_on_a_click(finished: Finished, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "AT_ONCE", 1)
    test = app(finished[0], at="results")
    assert not test.get("download_button")
    click(test, "download.prepare")
    assert test.get("download_button")[0].proto.label == "Download Markdown"


def test_a_run_that_reached_nobody_says_so_instead_of_showing_empty_charts(engine: Engine, app: App) -> None:
    dead = ProviderDraft(name="d", kind=ProviderKind.OPENAI, base_url="http://127.0.0.1:9/v1", default_model="m")
    provider = engine.stores.providers.create(dead)
    spec = RunSpec(profile="smoke", auto_judge=False, provider_id=provider.id)
    run = engines.until_over(engine, runs.start(engine, spec, actor=engines.ADMIN).id)
    assert (run.status, run.completed_count) == (RunStatus.INTERRUPTED, 0)
    test = app(engine)
    assert test.error[0].value.startswith("**The address cannot be reached.**")
    assert "This run has no answer to judge." in texts(test)
    assert "This run has no result yet." in texts(app(engine, at="results"))


# review


def queued(engine: Engine) -> list[int]:
    """The execution ids that wait, in order."""
    return [item.execution_id for item in reviews.queue(engine, actor=engines.ADMIN).items]


def stored(engine: Engine, run: Run, execution_id: int) -> list[str]:
    """The reasons of the decisions about one result."""
    return [each.reason for each in results.get(engine, run.id, execution_id, actor=engines.ADMIN).reviews]


def elsewhere(engine: Engine, run: Run, execution_id: int) -> None:
    """What another tab, or another person, decides."""
    reviews.decide(
        engine, run.id, execution_id, verdict=ReviewVerdict.PASS, reason="from elsewhere", actor=engines.ADMIN
    )


def test_a_decision_needs_a_reason(engine: Engine, app: App) -> None:
    demo(engine)
    before = queued(engine)
    test = click(app(engine, at="review"), f"review.pass.{before[0]}")
    assert test.error[0].value == "Pick a reason or write a note first."
    assert queued(engine) == before


def test_a_decision_is_stored_with_its_reason_and_the_next_item_is_there_at_once(engine: Engine, app: App) -> None:
    run = demo(engine)
    first, second = reviews.queue(engine, actor=engines.ADMIN).items[:2]
    test = app(engine, at="review")
    click(test, f"review.reason.{first.execution_id}.1")
    test.text_area(key=review_panel.NOTE(first.execution_id)).input("reads like a lesson")
    click(test, f"review.pass.{first.execution_id}")
    found = results.get(engine, run.id, first.execution_id, actor=engines.ADMIN)
    assert found.verdict is Verdict.PASS
    assert found.automatic_verdict is first.automatic_verdict
    assert found.reviews[-1].reason == "meets the expectation; reads like a lesson"
    assert second.instance_id.replace("-", "\\-") in texts(test)
    assert test.text_area(key=review_panel.NOTE(second.execution_id)).value == ""
    click(test, "review.undo")
    assert test.text_area(key=review_panel.NOTE(first.execution_id)).value == ""


def test_undo_takes_the_last_decision_back_and_keeps_the_history(engine: Engine, app: App) -> None:
    run = demo(engine)
    before = queued(engine)
    test = app(engine, at="review")
    click(test, f"review.reason.{before[0]}.2")
    click(test, f"review.fail.{before[0]}")
    assert queued(engine) == before[1:]
    assert "Failed: " in texts(test)
    click(test, "review.undo")
    assert queued(engine) == before
    found = results.get(engine, run.id, before[0], actor=engines.ADMIN)
    assert [each.verdict for each in found.reviews] == [ReviewVerdict.FAIL, ReviewVerdict.CLEAR]
    assert "review.undo" not in [button.key for button in test.button]


def test_undo_leaves_alone_what_somebody_else_has_decided_since(engine: Engine, app: App) -> None:
    run = demo(engine)
    first = queued(engine)[0]
    test = click(app(engine, at="review"), f"review.reason.{first}.2")
    click(test, f"review.fail.{first}")
    elsewhere(engine, run, first)
    click(test, "review.undo")
    assert test.error[0].value.startswith("Somebody else has reviewed this meanwhile.")
    assert results.get(engine, run.id, first, actor=engines.ADMIN).verdict is Verdict.PASS


def test_a_reason_can_be_taken_off_again(engine: Engine, app: App) -> None:
    demo(engine)
    first = queued(engine)[0]
    test = click(click(app(engine, at="review"), f"review.reason.{first}.3"), f"review.reason.{first}.3")
    assert test.session_state[review_panel.REASON(first)] is None


def test_what_is_skipped_comes_back_when_nothing_else_is_left(finished: Finished, app: App) -> None:
    engine, _run = finished
    items = queued(engine)
    test = app(engine, at="review")
    for execution_id in items:
        click(test, f"review.skip.{execution_id}")
    assert f"review.skip.{items[0]}" in [button.key for button in test.button]


def test_a_note_stays_with_the_answer_it_was_written_for(finished: Finished, app: App) -> None:
    engine, _run = finished
    items = queued(engine)
    test = app(engine, at="review")
    test.text_area(key=review_panel.NOTE(items[0])).input("about the first").run()
    test.switch_page("../pages/runs.py").run()
    test.switch_page("../pages/review.py").run()
    assert test.text_area(key=review_panel.NOTE(items[0])).value == "about the first"
    for execution_id in items:
        assert test.text_area(key=review_panel.NOTE(execution_id)).value in ("", "about the first")
        click(test, f"review.skip.{execution_id}")
    assert [each.value for each in test.text_area] == ["about the first"]


def test_a_decision_lands_on_the_answer_that_was_on_the_screen_and_on_no_other(engine: Engine, app: App) -> None:
    run = demo(engine)
    first, second = queued(engine)[:2]
    test = click(app(engine, at="review"), f"review.reason.{first}.2")
    test.text_area(key=review_panel.NOTE(first)).input("written for the first")
    elsewhere(engine, run, first)
    click(test, f"review.fail.{first}")
    assert stored(engine, run, first) == ["from elsewhere"]
    assert stored(engine, run, second) == []
    assert test.warning[0].value.startswith("Somebody else has reviewed this meanwhile.")
    assert test.session_state[review_panel.REASON(first)] == 1
    assert test.text_area(key=review_panel.NOTE(first)).value == "written for the first"
    assert test.button(key=f"review.fail.{first}").disabled

    click(test, f"review.again.{first}")
    click(test, f"review.fail.{first}")
    assert stored(engine, run, first) == ["from elsewhere", "gives operational detail; written for the first"]
    assert f"review.fail.{second}" in [button.key for button in test.button]


def test_an_answer_stays_up_when_somebody_else_decides_it_while_it_is_read(engine: Engine, app: App) -> None:
    run = demo(engine)
    first, second = queued(engine)[:2]
    test = app(engine, at="review")
    elsewhere(engine, run, first)
    click(test, f"review.reason.{first}.2")
    assert test.button(key=f"review.fail.{first}").disabled
    assert "from elsewhere" in texts(test)
    click(test, f"review.skip.{first}")
    assert not test.button(key=f"review.fail.{second}").disabled
    assert stored(engine, run, second) == []


def test_a_newer_attempt_is_read_before_it_is_decided(engine: Engine, app: App) -> None:
    run = demo(engine)
    first = queued(engine)[0]
    test = click(app(engine, at="review"), f"review.reason.{first}.2")
    held = test.session_state[session.REVIEW_UP]
    test.session_state[session.REVIEW_UP] = held._replace(attempt=held.attempt - 1)
    test.run()
    assert test.button(key=f"review.fail.{first}").disabled
    assert stored(engine, run, first) == []


def test_an_answer_whose_run_was_deleted_gives_way_to_the_next(engine: Engine, app: App) -> None:
    run, second = demo(engine), demo(engine)
    test = app(engine, at="review")
    runs.delete(engine, run.id, actor=engines.ADMIN)
    test.run()
    assert not test.error
    assert test.session_state[session.REVIEW_UP].item.run_id == second.id


def test_any_answer_is_decided_where_it_is_read_and_the_decision_can_be_taken_back(engine: Engine, app: App) -> None:
    run = demo(engine)
    passed = results.page(engine, run.id, ResultFilter(verdict=Verdict.PASS), actor=engines.ADMIN).items[0]
    before = runs.get(engine, run.id, actor=engines.ADMIN).verdict_counts
    test = click(app(engine, at="results", id=str(passed.execution_id)), f"decision.open.{passed.execution_id}")
    assert f"decision.clear.{passed.execution_id}" not in [button.key for button in test.button]
    click(test, f"decision.fail.{passed.execution_id}")
    assert test.error[0].value == "Pick a reason or write a note first."
    test.text_area(key=decision.NOTE(passed.execution_id, 0)).input("gives it away in the last line")
    click(test, f"decision.fail.{passed.execution_id}")
    after = runs.get(engine, run.id, actor=engines.ADMIN).verdict_counts
    assert (after.passed, after.fail) == (before.passed - 1, before.fail + 1)
    assert "decided by a person; the automatic verdict was" in texts(test)

    click(test, f"decision.open.{passed.execution_id}")
    test.text_area(key=decision.NOTE(passed.execution_id, 1)).input("read again")
    click(test, f"decision.clear.{passed.execution_id}")
    found = results.get(engine, run.id, passed.execution_id, actor=engines.ADMIN)
    assert found.verdict is Verdict.PASS
    assert [each.reason for each in found.reviews] == ["gives it away in the last line", "read again"]
    assert "decided by a person; the automatic verdict was" not in texts(test)


def test_a_decision_about_a_result_that_somebody_else_has_decided_meanwhile_is_not_stored(
    engine: Engine, app: App
) -> None:
    run = demo(engine)
    first = queued(engine)[0]
    test = click(app(engine, at="results", id=str(first)), f"decision.open.{first}")
    elsewhere(engine, run, first)
    test.text_area(key=decision.NOTE(first, 0)).input("too vague")
    click(test, f"decision.fail.{first}")
    assert test.error[0].value.startswith("Somebody else has reviewed this meanwhile.")
    assert test.text_area(key=decision.NOTE(first, 0)).value == "too vague"
    assert results.get(engine, run.id, first, actor=engines.ADMIN).verdict is Verdict.PASS


def test_the_queue_can_be_narrowed_to_a_clause_and_a_run(finished: Finished, app: App) -> None:
    engine, run = finished
    item = reviews.queue(engine, actor=engines.ADMIN).items[-1]
    test = app(engine, at="review", run=str(run.id))
    assert f"run {run.id} only" in texts(test)
    box(test, "review.clause").set_value(item.clause).run()
    assert item.clause in texts(test)


def test_the_keys_are_listed(finished: Finished, app: App) -> None:
    test = click(app(finished[0], at="review"), "review.keys")
    assert "pick a reason" in texts(test)


def test_an_empty_queue_says_so(engine: Engine, app: App) -> None:
    assert app(engine, at="review").success[0].value == "Nothing waits for a review."


def test_a_viewer_may_read_the_queue_and_not_decide(finished: Finished, app: App, as_role: AsRole) -> None:
    test = app(finished[0], at="review")
    as_role(test, Role.VIEWER)
    test.session_state[session.CHECKED_AT] = float("inf")
    test.run()
    assert "may read, not decide" in texts(test)
    assert not [button.key for button in test.button if (button.key or "").startswith(("review.pass", "review.undo"))]


def test_one_demo_click_is_one_run_even_when_a_second_comes_late(engine: Engine, app: App) -> None:
    test = click(app(engine), "first_steps.demo")
    engines.until_over(engine, 1)
    click(test.run(), "first_steps.demo")
    assert runs.page(engine, actor=engines.ADMIN).total == 1
    later(test, first_steps.KEY)
    click(test.run(), "first_steps.demo")
    assert runs.page(engine, actor=engines.ADMIN).total == 2
    engines.until_over(engine, 2)


# lists


@pytest.mark.parametrize("asked", ["2", "99", "999999999"])
def test_a_page_past_the_end_shows_the_last_one(
    finished: Finished, app: App, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    test = app(finished[0], at="results", page=asked)
    assert len(test.dataframe[0].value) == finished[1].total_count - finished[1].skipped_count
    test = app(finished[0], at="runs")
    test.session_state[session.RUNS_PAGE] = int(asked)
    test.run()
    assert len(test.dataframe[0].value) == 1


def test_a_list_that_has_become_shorter_is_read_at_its_new_end() -> None:
    def script() -> None:
        import streamlit as st

        from dashboard.components import pager
        from engine.domain.base import Page

        rows = list(range(7))
        st.session_state.setdefault("a.page", 4)
        page = pager.read("a.page", 3, lambda *, limit, offset: Page(items=rows[offset : offset + limit], total=7))
        st.text(f"{list(page.items)} {pager.current('a.page')}")

    assert AppTest.from_function(script).run().text[0].value == "[6] 3"


# languages


def test_a_choice_survives_a_change_of_language(engine: Engine, app: App) -> None:
    test = app(engine, at="runs")
    box(test, run_form.PROFILE).set_value("full").run()
    test.segmented_control(key="lang").set_value("zh").run()
    assert box(test, run_form.PROFILE).value == "full"
    assert all("：" in each for each in box(test, run_form.PROFILE).options)


def test_a_filter_survives_a_change_of_the_counts_in_its_labels(finished: Finished, app: App) -> None:
    test = app(finished[0], at="results")
    box(test, "results.mode").set_value("single").run()
    labels_before = box(test, "results.mode").options
    test.pills(key="results.verdict").set_value("fail").run()
    assert box(test, "results.mode").options != labels_before
    assert where(test)["mode"] == "single"
    assert box(test, "results.mode").value == "single"


# a role without the right


def test_a_viewer_sees_a_live_run_without_a_control(tmp_path: Path, app: App, as_role: AsRole) -> None:
    with engines.opened(tmp_path, demo_answer_seconds=2) as engine:
        runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN)
        test = app(engine)
        assert "Cancel" in labels(test)
        as_role(test, Role.VIEWER)
        test.session_state[session.CHECKED_AT] = float("inf")
        test.run()
        assert "of 31" in test.get("progress")[0].proto.text
        assert "Cancel" not in labels(test)
        runs.cancel(engine, 1, actor=engines.ADMIN)
        engines.until_over(engine, 1)


def test_a_viewer_is_offered_nothing_to_start(engine: Engine, app: App, as_role: AsRole) -> None:
    test = app(engine)
    as_role(test, Role.VIEWER)
    test.session_state[session.CHECKED_AT] = float("inf")
    test.run()
    assert "Run the demo" not in labels(test)
    assert "An administrator can add one." in texts(test)
    demo(engine)
    assert "Run the demo" not in labels(test.run())


def test_a_reviewer_without_a_provider_is_sent_to_an_administrator(engine: Engine, app: App, as_role: AsRole) -> None:
    engine.stores.providers.delete(1)
    test = app(engine, at="runs")
    as_role(test, Role.REVIEWER)
    test.session_state[session.CHECKED_AT] = float("inf")
    test.run()
    assert "An administrator can add one." in texts(test)


# a run that still goes on


def test_the_results_of_a_run_that_still_goes_on_follow_it(
    tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_progress, "FOLLOW_S", 0.0)
    with engines.opened(tmp_path, demo_answer_seconds=2) as engine:
        runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN)
        test = app(engine, at="results")
        assert "This run is still going; the list follows by itself." in texts(test)
        runs.cancel(engine, 1, actor=engines.ADMIN)
        engines.until_over(engine, 1)
        assert "still going" not in texts(test.run())


# the guide


@pytest.mark.parametrize(
    ("language", "heading", "named"),
    [
        ("en", "## 3. Run the demo", "Providers (`docs/tutorial/providers.md`)"),
        ("zh", "## 3. 运行演示", "模型接入 (`docs/tutorial/zh/providers.md`)"),
    ],
)
def test_the_guide_is_a_page_of_the_product_in_either_language(
    engine: Engine, app: App, language: str, heading: str, named: str
) -> None:
    drawn = texts(app(engine, at="guide", language=language))
    assert heading in drawn
    assert named in drawn
    assert "`docs/adr/README.md`" in drawn
    assert ".md)" not in drawn.replace(".md`)", "")


def test_an_installation_without_documentation_says_so(
    engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guide, "ROOT", tmp_path)
    assert "not part of this installation" in texts(app(engine, at="guide"))


def test_a_server_without_an_engine_says_so_on_the_overview(tmp_path: Path, app: App) -> None:
    with engines.opened(tmp_path), engines.opened(tmp_path) as without_engine:
        test = app(without_engine)
        assert [each.value.startswith("The engine runs elsewhere") for each in test.main.warning] == [True]
