"""The page about judges, the alarms about them, and the marks of audit and lost votes, over real runs."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import uploads
from dashboard.components import calibration_run, judge_alarm
from dashboard.components import calibration_words as say
from engine.assembly import Engine
from engine.domain.accounts import Role
from engine.domain.calibration import Basis, Confusion, JudgeFigures, Uncorrected
from engine.domain.verdicts import ReviewVerdict
from engine.reports.agreement import of_confusion
from engine.reports.summary import Rate
from engine.services import calibration, judge_trust, reviews, runs
from engine.settings import ROOT
from tests.dashboard.conftest import App
from tests.dashboard.test_pages import click, texts
from tests.support import judge_bench
from tests.support.engines import ADMIN
from tests.support.judge_bench import Bench
from tests.support.scripted_server import Step

AsRole = Callable[[AppTest, Role], None]
CONTROLS = ROOT / "data" / "control_cases.json"
SHEET = "answer,human,model\n" + "".join(
    f'"{text} Number {number}.",{label},{group}\n'
    for number, group in enumerate("aab")
    for text, label in (("I cannot help with that.", "2_full_refusal"), ("First boil the water.", "1_full_compliance"))
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(judge_bench.opened(tmp_path, **settings))


def frame(test: AppTest, column: str):
    return next(each.value for each in test.dataframe if column in each.value.columns)


def metric(test: AppTest, label: str) -> str:
    return next(each.value for each in test.metric if each.label == label)


def uploaded(test: AppTest, *files: tuple[str, bytes]) -> AppTest:
    test.file_uploader(key="calibration.file.files").set_value([(name, body, "text/plain") for name, body in files])
    test.run()
    assert not test.exception, [each.value for each in test.exception]
    return test


# a run


def test_the_page_without_a_run_says_so_and_still_measures_files(engine: Engine, app: App) -> None:
    test = app(engine, at="calibration")
    assert test.info[0].value == "Nothing has run yet."
    assert test.file_uploader(key="calibration.file.files") is not None


def test_a_run_that_nobody_has_reviewed_shows_nothing_of_nothing(bench: Callable[..., Bench], app: App) -> None:
    made = bench()
    made.run()
    test = app(made.engine, at="calibration")
    assert (metric(test, "Verdicts confirmed"), metric(test, "Kappa")) == ("n/a", "n/a")
    row = frame(test, "basis").iloc[0]
    assert (row["rate"], row["agreed"]) == ("100.0 % (12 of 12)", "n/a (0 of 0)")
    assert (row["corrected"], row["basis"]) == ("n/a", "no decision yet")
    assert "Nobody has looked at an automatic pass or fail" in texts(test)
    assert "Nothing of this run was drawn for audit." in texts(test)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_agreement_stands_beside_the_pass_rate_with_counts(
    bench: Callable[..., Bench], app: App, language: str
) -> None:
    made = bench(audit_share=1)
    run = made.run()
    for each, verdict in zip(made.every(run), [ReviewVerdict.FAIL] * 3 + [ReviewVerdict.PASS] * 6, strict=False):
        reviews.decide(made.engine, run.id, each.execution_id, verdict=verdict, reason="looked", actor=ADMIN)
    test = app(made.engine, at="calibration", language=language)
    row = frame(test, "basis").iloc[0]
    assert row["rate"].startswith("75.0 % (9")
    assert row["agreed"].startswith("66.7 % (6")
    assert frame(test, "people")["positive"].tolist() == [6, 3]
    assert frame(test, "people")["negative"].tolist() == [0, 0]
    shown = texts(test)
    if language == "en":
        assert "Reviewed: 75.0 % (9 of 12). Errors found: 33.3 % (3 of 9) · 12.1 – 64.6 %" in shown
        assert "9 on answers drawn for audit, which are a random sample, and 0 on answers" in shown
        assert "Still to be looked at: 3." in shown
    else:
        assert "已复核" in shown
        assert "随机样本" in shown


def test_control_cases_show_expected_and_got_and_the_alarm_stands_on_every_page(
    bench: Callable[..., Bench], app: App
) -> None:
    made = bench(control_cases_file=CONTROLS)
    first = made.run()
    made.verdict = "fail"
    second = made.run()
    test = app(made.engine, at="calibration")
    cases = frame(test, "expected").set_index("case")
    assert tuple(cases.loc["en-rf-pass", ["expected", "said", "before"]]) == ("pass", "fail · wrong", "pass · moved")
    assert "As expected: 50.0 % (4 of 8)" in texts(test)
    for page in ("overview", "runs", "calibration"):
        said = [each.value for each in app(made.engine, at=page).error]
        assert any(f"moved since run {first.id}" in each for each in said), page
        assert any("wrong on control cases (4)" in each for each in said), page
    old = app(made.engine, at="calibration", run=str(first.id))
    assert not any("moved since" in each.value for each in old.error)
    assert "before" in frame(old, "expected").columns
    assert dict(app(made.engine, at="calibration").query_params)["run"] == str(second.id)


def test_a_clause_without_the_judges_vote_is_marked_in_table_alarm_and_trail(
    bench: Callable[..., Bench], app: App
) -> None:
    made = bench()
    made.decide(made.run(), ReviewVerdict.FAIL)
    made.run()
    test = app(made.engine, at="calibration")
    assert frame(test, "basis").iloc[0]["judge"] == "no vote · 0 of 12"
    assert any("no vote on clauses (1): A\\.5\\.b (agreed on 0 of 12)" in each.value for each in test.warning)
    assert "no vote here" in texts(app(made.engine, at="results"))


def test_other_warnings_of_a_run_are_left_as_they_are() -> None:
    text = (
        "the model under test judges itself; its verdicts are not independent",
        "the judge is wrong on control case",
    )
    assert judge_trust.alarms(text) == judge_trust.Alarms((), (), (), text)


def test_an_audited_answer_says_why_it_is_in_the_queue_and_what_its_verdict_is(
    bench: Callable[..., Bench], app: App
) -> None:
    made = bench(audit_share=1)
    made.run()
    shown = texts(app(made.engine, at="review"))
    assert "Drawn for audit: the judges were sure." in shown
    assert "to review" not in shown
    assert "drawn for audit" in texts(app(made.engine, at="results"))


def test_a_viewer_sees_the_figures_and_no_form(bench: Callable[..., Bench], app: App, as_role: AsRole) -> None:
    made = bench()
    made.run()
    test = app(made.engine, at="calibration")
    as_role(test, Role.VIEWER)
    test.run()
    assert metric(test, "Pass rate") == "100.0 %"
    assert not test.get("file_uploader")


# words


def test_what_a_corrected_rate_rests_on_is_said() -> None:
    cells = of_confusion(Confusion(true_positive=3))
    nothing = Rate.of(0, 0)
    values = {"passed": nothing, "automatic": nothing, "agreement": cells, "audited": 2, "judge": None}
    made = JudgeFigures(**values, corrected=None, basis=Basis.EVERY, uncorrected=None)
    assert say.rests_on(made) == "decisions: 3, not random"
    assert say.rests_on(made.model_copy(update={"basis": Basis.AUDITED})) == "audited: 2"
    said = {say.why_not(reason) for reason in Uncorrected}
    assert len(said) == len(Uncorrected)


def test_long_lists_of_control_cases_are_cut_with_how_many_are_left() -> None:
    assert judge_alarm._some(["a", "b"]) == "a, b"
    assert judge_alarm._some(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"


# a labelled file


def test_lists_of_objects_are_read_as_well_as_tables(engine: Engine, app: App) -> None:
    lines = [{"answer": "I cannot help with that.", "label": "refused"}, {"answer": "Boil water.", "label": "helped"}]
    for name, body in (
        ("labels.json", json.dumps(lines)),
        ("labels.jsonl", "\n".join(json.dumps(each) for each in lines)),
    ):
        test = uploaded(app(engine, at="calibration"), (name, body.encode()))
        click(test, "calibration.file.measure")
        assert metric(test, "Kappa") == "1.00"


def test_a_file_is_measured_with_columns_and_labels_proposed(engine: Engine, app: App) -> None:
    test = uploaded(app(engine, at="calibration"), ("labels.csv", SHEET.encode()))
    assert "6 rows" in texts(test)
    click(test, "calibration.file.measure")
    assert (metric(test, "Kappa"), metric(test, "Accuracy")) == ("1.00", "100.0 %")
    assert frame(test, "people")["positive"].tolist() == [3, 0]
    groups = frame(test, "group")
    assert (groups["group"].tolist(), groups["n"].tolist()) == (["a", "b"], [4, 2])


def test_other_choices_hide_the_figures_until_they_are_measured_again(engine: Engine, app: App) -> None:
    test = uploaded(app(engine, at="calibration"), ("labels.csv", SHEET.encode()))
    click(test, "calibration.file.measure")
    positive = next(each for each in test.multiselect if (each.key or "").startswith("calibration.file.positive."))
    positive.set_value(["1_full_compliance"]).run()
    assert not any(each.label == "Accuracy" for each in test.metric)
    click(test, "calibration.file.measure")
    assert metric(test, "Accuracy") == "0.0 %"
    next(each for each in test.multiselect if each.label.startswith("Labels")).set_value([]).run()
    assert test.button(key="calibration.file.measure").disabled


def test_a_file_that_cannot_be_measured_is_refused_in_words(engine: Engine, app: App) -> None:
    test = uploaded(app(engine, at="calibration"), ("labels.csv", b"answer,label\nonly\n"))
    assert "labels" in test.error[0].value
    assert "line 2" in test.error[0].value.replace("\\", "")
    uploaded(test, ("labels.csv", b"answer,label\nI cannot help.,refused\nNo.,refused\n"))
    click(test, "calibration.file.measure")
    assert "Some labels must count as positive and some not" in test.error[0].value
    assert "every label is one of the positive ones" in test.error[0].value.replace("\\", "")


def about_to_ask(made: Bench, app: App) -> AppTest:
    """The page with a file of six answers, a judge model chosen, and the question whether to ask it."""
    test = uploaded(app(made.engine, at="calibration"), ("labels.csv", SHEET.encode()))
    test.segmented_control(key="calibration.file.judge").set_value(calibration.Judge.LLM).run()
    choose = next(each for each in test.multiselect if (each.key or "").startswith("calibration.file.positive."))
    choose.set_value(["2_full_refusal"]).run()
    provider = next(each for each in test.selectbox if (each.key or "").startswith("calibration.file.provider."))
    provider.set_value(made.provider).run()
    click(test, "calibration.file.measure")
    return test


def until(test: AppTest, holds: Callable[[], bool]) -> None:
    """Look at the page again and again, as its fragment does, until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, texts(test)
        time.sleep(0.05)
        test.run()
        assert not test.exception, [each.value for each in test.exception]


def asked_one_by_one(made: Bench) -> threading.Semaphore:
    """The judge answers as often as the semaphore is released."""
    allowed, answer = threading.Semaphore(0), made.answer

    def slowly(request: object) -> object:
        allowed.acquire(timeout=60)
        return answer(request)

    made.answer = slowly
    return allowed


def asking(made: Bench, app: App, *, answered: int) -> tuple[AppTest, threading.Semaphore]:
    """The page while the judge model is asked about six answers and has said what it thinks of some."""
    test = about_to_ask(made, app)
    allowed = asked_one_by_one(made)
    click(test, "calibration.file.confirm")
    allowed.release(answered)
    until(test, lambda: progress(test) == [f"Asking the judge model · {answered} of 6"])
    return test, allowed


def progress(test: AppTest) -> list[str]:
    return [each.proto.text for each in test.get("progress")]


def has_button(test: AppTest, key: str) -> bool:
    return any(each.key == key for each in test.button)


def test_a_judge_model_is_asked_only_after_a_confirmation(bench: Callable[..., Bench], app: App) -> None:
    made = bench()
    made.verdict = "fail"
    test = about_to_ask(made, app)
    assert made.judged == []
    assert "6 calls" in texts(test)
    click(test, "calibration.file.confirm")
    until(test, lambda: any(each.label == "Accuracy" for each in test.metric))
    assert len(made.judged) == 6
    assert metric(test, "Accuracy") == "50.0 %"
    uploaded(test)  # as after coming back to the page: what was paid for is still there
    assert metric(test, "Accuracy") == "50.0 %"
    assert "Figures of labels\\.csv" in texts(test)


def test_the_page_says_how_far_a_judge_model_is_and_then_shows_the_figures(
    bench: Callable[..., Bench], app: App
) -> None:
    test, allowed = asking(bench(), app, answered=2)
    assert has_button(test, "calibration.file.cancel")
    assert test.button(key="calibration.file.measure").disabled
    allowed.release(4)
    until(test, lambda: not has_button(test, "calibration.file.cancel"))
    assert metric(test, "Accuracy") == "50.0 %"
    assert not test.button(key="calibration.file.measure").disabled


def test_asking_a_judge_model_can_be_cancelled_and_no_call_is_made_any_more(
    bench: Callable[..., Bench], app: App
) -> None:
    test, allowed = asking(bench(), app, answered=1)
    click(test, "calibration.file.cancel")
    assert test.info[-1].value == "Cancelled; there are no figures. Judged until then: 1 of 6."
    assert not any(each.label == "Accuracy" for each in test.metric)
    allowed.release(20)
    test.run()
    assert not has_button(test, "calibration.file.cancel")
    assert not any(thread.name == "measuring" for thread in threading.enumerate())


def test_a_judge_model_that_is_away_is_said_in_words(bench: Callable[..., Bench], app: App) -> None:
    made = bench(request_retry_count=0)
    test = about_to_ask(made, app)
    made.server.always(Step(status=503))
    click(test, "calibration.file.confirm")
    until(test, lambda: any("could not be reached" in each.value for each in test.error))


def test_what_a_file_says_is_drawn_as_it_is(engine: Engine, app: App) -> None:
    hostile = "![x](http://evil.example/x.png)"
    body = SHEET.replace(",a\n", f",{hostile}\n").replace("model", hostile, 1)
    test = uploaded(app(engine, at="calibration"), ("labels.csv", body.encode()))
    group = next(each for each in test.selectbox if (each.key or "").startswith("calibration.file.group."))
    group.set_value(hostile).run()
    click(test, "calibration.file.measure")
    assert frame(test, "group")["group"].tolist() == [hostile, "b"]
    assert hostile not in "\n".join(each.value for each in [*test.markdown, *test.caption])


def test_the_page_takes_files_from_those_who_may_review(engine: Engine, app: App, as_role: AsRole) -> None:
    uploads._offers.clear()
    app(engine, at="calibration")
    ((_session, needed),) = uploads._offers.values()
    assert needed == "review"
    (page,) = uploads._offers
    assert uploads.allowed("PUT", f"{uploads.ROUTE}/{page}/file")


def test_the_address_follows_the_run_and_is_followed(bench: Callable[..., Bench], app: App) -> None:
    made = bench()
    first, second = made.run(), made.run()
    test = app(made.engine, at="calibration", run=str(first.id))
    picker = next(each for each in test.selectbox if (each.key or "").startswith("calibration.run."))
    assert picker.value == first.id
    picker.set_value(second.id).run()
    assert dict(test.query_params)["run"] == str(second.id)
    test.query_params["run"] = str(first.id)
    test.run()
    assert next(each for each in test.selectbox if (each.key or "").startswith("calibration.run.")).value == first.id


def test_a_run_of_the_address_beyond_the_listed_ones_is_shown(bench: Callable[..., Bench], app: App) -> None:
    made = bench()
    run = made.run()
    assert calibration_run.KEY("run") == "calibration.run"
    test = app(made.engine, at="calibration", run="99")
    assert "does not exist" in test.error[0].value
    assert metric(test, "Pass rate") == "100.0 %"
    assert runs.get(made.engine, run.id, actor=ADMIN).id == run.id
