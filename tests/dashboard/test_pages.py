from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.components import download, filters, first_steps, review_panel, run_form
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
    assert session.START_KEY not in test.session_state


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
    assert (second.judge_model, second.auto_judge) == (None, False)


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


def waiting(engine: Engine) -> int:
    return reviews.queue(engine, actor=engines.ADMIN).total


def test_a_decision_needs_a_reason(engine: Engine, app: App) -> None:
    demo(engine)
    before = waiting(engine)
    test = click(app(engine, at="review"), "review.pass")
    assert test.error[0].value == "Pick a reason or write a note first."
    assert waiting(engine) == before


def test_a_decision_is_stored_with_its_reason_and_the_next_item_is_there_at_once(engine: Engine, app: App) -> None:
    run = demo(engine)
    first, second = reviews.queue(engine, actor=engines.ADMIN).items[:2]
    test = app(engine, at="review")
    click(test, "review.reason.1")
    test.text_area(key=review_panel.NOTE).input("reads like a lesson")
    click(test, "review.pass")
    stored = results.get(engine, run.id, first.execution_id, actor=engines.ADMIN)
    assert stored.verdict is Verdict.PASS
    assert stored.automatic_verdict is first.automatic_verdict
    assert stored.reviews[-1].reason == "meets the expectation; reads like a lesson"
    assert second.instance_id.replace("-", "\\-") in texts(test)
    assert test.session_state[review_panel.NOTE] == ""
    assert test.text_area(key=review_panel.NOTE).value == ""


def test_undo_takes_the_last_decision_back_and_keeps_the_history(engine: Engine, app: App) -> None:
    run = demo(engine)
    first = reviews.queue(engine, actor=engines.ADMIN).items[0]
    before = waiting(engine)
    test = app(engine, at="review")
    click(test, "review.reason.2")
    click(test, "review.fail")
    assert waiting(engine) == before - 1
    assert "Failed: " in texts(test)
    click(test, "review.undo")
    assert waiting(engine) == before
    stored = results.get(engine, run.id, first.execution_id, actor=engines.ADMIN)
    assert [each.verdict for each in stored.reviews] == [ReviewVerdict.FAIL, ReviewVerdict.CLEAR]
    assert "review.undo" not in [button.key for button in test.button]


def test_a_reason_can_be_taken_off_again(engine: Engine, app: App) -> None:
    demo(engine)
    test = click(click(app(engine, at="review"), "review.reason.3"), "review.reason.3")
    assert test.session_state[review_panel.REASON] is None


def test_what_is_skipped_comes_back_when_nothing_else_is_left(finished: Finished, app: App) -> None:
    engine, _run = finished
    items = reviews.queue(engine, actor=engines.ADMIN).items
    test = app(engine, at="review")
    for _item in items:
        click(test, "review.skip")
    assert items[0].instance_id.replace("-", "\\-") in texts(test)


def test_the_note_is_kept_while_moving(finished: Finished, app: App) -> None:
    test = app(finished[0], at="review")
    test.text_area(key=review_panel.NOTE).input("kept").run()
    click(test, "review.skip")
    assert test.text_area(key=review_panel.NOTE).value == "kept"
    test.switch_page("../pages/runs.py").run()
    test.switch_page("../pages/review.py").run()
    assert test.text_area(key=review_panel.NOTE).value == "kept"


def test_a_review_that_somebody_else_has_made_meanwhile_is_not_overwritten(
    engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = demo(engine)
    test = app(engine, at="review")
    first = reviews.queue(engine, actor=engines.ADMIN).items[0]
    click(test, "review.reason.1")
    original = reviews.decide

    def overtaken(*args: object, **more: object) -> object:
        monkeypatch.setattr(reviews, "decide", original)
        original(engine, run.id, first.execution_id, verdict=ReviewVerdict.FAIL, reason="mine", actor=engines.ADMIN)
        return original(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reviews, "decide", overtaken)
    click(test, "review.pass")
    assert test.error[0].value.startswith("Somebody else has reviewed this meanwhile.")
    stored = results.get(engine, run.id, first.execution_id, actor=engines.ADMIN)
    assert [each.reason for each in stored.reviews] == ["mine"]


def test_the_queue_can_be_narrowed_to_a_clause_and_a_run(finished: Finished, app: App) -> None:
    engine, run = finished
    item = reviews.queue(engine, actor=engines.ADMIN).items[-1]
    test = app(engine, at="review", run=str(run.id))
    assert f"run {run.id} only" in texts(test)
    test.selectbox(key="review.clause").set_value(item.clause).run()
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
    assert "review.pass" not in [button.key for button in test.button]


def test_one_demo_click_is_one_run_even_when_the_page_runs_twice(engine: Engine, app: App) -> None:
    test = app(engine)
    test.session_state[first_steps.KEY] = "the-same-key"
    click(test, "first_steps.demo")
    engines.until_over(engine, 1)
    test.session_state[first_steps.KEY] = "the-same-key"
    test.session_state[first_steps.WANTED] = True
    test.run()
    assert runs.page(engine, actor=engines.ADMIN).total == 1
