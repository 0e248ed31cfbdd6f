"""Going over a run again from the pages, and what they say of a run that waits or was told something."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import i18n, remarks
from dashboard.components import run_again
from engine.assembly import Engine
from engine.domain.providers import Provider
from engine.domain.runs import ResultFilter, Run, RunSpec
from engine.domain.verdicts import ReviewVerdict
from engine.services import providers, results, reviews, runs
from tests.dashboard.conftest import App
from tests.dashboard.test_pages import box, click, labels, texts
from tests.support import engines, running
from tests.support.engines import ADMIN
from tests.support.scripted_server import ScriptedServer, Step

CASES = 6


class Bench(NamedTuple):
    engine: Engine
    server: ScriptedServer
    provider: Provider

    def start(self, **changes: object) -> Run:
        values = {"profile": "full", "auto_judge": True, "provider_id": self.provider.id}
        return runs.start(self.engine, RunSpec(**(values | changes)), actor=ADMIN)

    def finished(self, **changes: object) -> Run:
        return engines.until_over(self.engine, self.start(**changes).id)

    def over(self, run_id: int) -> Run:
        return engines.until_over(self.engine, run_id)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(CASES)])
    with ScriptedServer(capable=True) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        yield Bench(engine, server, running.provider(engine, server.base_url, max_concurrency=2))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def warnings(test: AppTest) -> str:
    return "\n".join(str(each.value) for each in test.warning)


def test_what_failed_is_asked_again_from_the_runs_page(bench: Bench, app: App) -> None:
    running.questions_meet(bench.server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 2 else None)
    run = bench.finished()
    test = app(bench.engine, at="runs")
    button = test.button(key="run_again.errors")
    assert button.label == "Retry errors (2)" and not button.disabled
    asked = len(running.questions(bench.server))
    click(test, "run_again.errors")
    assert bench.over(run.id).error_count == 0
    assert len(running.questions(bench.server)) == asked + 2
    assert "Retry errors" not in "".join(labels(test.run()))


def test_one_question_is_asked_again_and_a_decision_about_it_is_asked_about_first(bench: Bench, app: App) -> None:
    run = bench.finished()
    first, second = results.page(bench.engine, run.id, ResultFilter(), actor=ADMIN, limit=2).items
    asked = len(running.questions(bench.server))
    click(app(bench.engine, at="results", run=str(run.id), id=str(first.execution_id)), one(first.execution_id))
    bench.over(run.id)
    assert len(running.questions(bench.server)) == asked + 1

    reviews.decide(
        bench.engine, run.id, second.execution_id, verdict=ReviewVerdict.FAIL, reason="no", if_version=0, actor=ADMIN
    )
    test = app(bench.engine, at="results", run=str(run.id), id=str(second.execution_id))
    click(test, one(second.execution_id))
    assert "A person decided about the present answer." in texts(test)
    assert runs.get(bench.engine, run.id, actor=ADMIN).status.is_over
    click(test, "run_again.one_confirm")
    bench.over(run.id)
    assert len(running.questions(bench.server)) == asked + 2
    detail = results.get(bench.engine, run.id, second.execution_id, actor=ADMIN)
    assert detail.review is None and len(detail.reviews) == 1 and detail.attempts == 2


def one(execution_id: int) -> str:
    return f"run_again.one.{execution_id}"


def test_answers_are_judged_again_by_another_judge_with_a_warning_when_it_is_the_subject(
    bench: Bench, app: App
) -> None:
    run = bench.finished(auto_judge=False)
    test = click(app(bench.engine, at="runs"), "run_again.judge_open")
    assert f"Judge {CASES} answers" in labels(test)
    assert "the model under test" not in warnings(test)
    box(test, run_again.JUDGE).set_value(bench.provider.id).run()
    assert "This is the model under test." in warnings(test)
    test.text_input(key=run_again.MODEL).input("another-model").run()
    assert "This is the model under test." not in warnings(test)
    test.text_input(key=run_again.MODEL).input("").run()
    click(test, "run_again.judge_confirm")
    judged = bench.over(run.id)
    assert judged.verdict_counts.none == 0 and judged.judge_model == "scripted"
    test.run()
    assert "The model under test judges itself" in warnings(test)


def test_a_server_without_the_engine_offers_nothing_that_it_cannot_do(bench: Bench, app: App, tmp_path: Path) -> None:
    running.questions_meet(bench.server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 1 else None)
    bench.finished()
    beside = tmp_path / "beside"
    beside.mkdir()
    with engines.opened(beside, database_url=f"sqlite:///{tmp_path / 'platform.db'}") as reader:
        test = app(reader, at="runs")
        for key in ("run_again.errors", "run_again.judge_open"):
            assert test.button(key=key).disabled
            assert "Another process runs the engine" in test.button(key=key).help


def test_a_run_whose_provider_is_gone_says_why_its_model_cannot_be_asked(bench: Bench, app: App) -> None:
    running.questions_meet(bench.server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 1 else None)
    bench.finished()
    providers.delete(bench.engine, bench.provider.id, actor=ADMIN)
    test = app(bench.engine, at="runs")
    assert test.button(key="run_again.errors").disabled
    assert "was deleted" in test.button(key="run_again.errors").help
    assert not test.button(key="run_again.judge_open").disabled


def test_a_run_that_waits_says_why_and_until_when_and_what_the_model_can_do(bench: Bench, app: App) -> None:
    running.questions_meet(
        bench.server, lambda n, _: Step(status=429, headers={"Retry-After": "4"}) if n >= 2 else None
    )
    run = bench.start()
    until(lambda: runs.progress(bench.engine, run.id, actor=ADMIN).run.waiting)
    test = app(bench.engine, at="runs")
    assert "The provider limits the rate. Requests wait; nothing is lost." in warnings(test)
    assert "Next try at" in warnings(test)
    for name in ("chat", "system message", "several turns", "tools", "images", "JSON", "streaming"):
        assert name in texts(test)
    assert "in flight" in test.get("progress")[0].proto.text
    runs.cancel(bench.engine, run.id, actor=ADMIN)
    bench.over(run.id)


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [
        ("the endpoint refuses temperature; it is not sent", "refuses temperature; it is not sent.", "temperature"),
        ("the endpoint refuses max_tokens; it is sent as max_completion_tokens", "is sent as", "改用"),
        ("the endpoint refuses to stream; answers are asked for whole", "refuses to stream", "流式"),
        (
            "it could not be found out whether the model can do tools, vision; it is asked all the same",
            "can do tools, vision; it is asked",
            "工具, 图像",
        ),
        (
            "3 answers could not be judged anew, because the judge could not be reached; they keep the verdict they "
            "had",
            "3 answers could not be judged anew",
            "3 条",
        ),
        (
            "some answers were judged by rules alone, the others by j-2",
            "judged by rules alone, the others by j-2.",
            "仅规则",
        ),
        ("something <b>new</b>", "something", "something"),
    ],
)
def test_what_the_engine_remarks_is_said_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch, text: str, english: str, chinese: str
) -> None:
    for language, expected in (("en", english), ("zh", chinese)):
        monkeypatch.setattr(i18n, "language", lambda language=language: language)
        assert expected.replace("_", "") in remarks.of(text).replace("\\", "").replace("_", "")
