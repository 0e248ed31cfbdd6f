"""What hands do that a page test cannot: two tabs, two quick clicks, Tab, Escape, a change of language."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from engine.domain.runs import ResultFilter, RunSpec
from engine.services import providers, results, runs
from tests.browser.steps import opened, settled
from tests.dashboard.serving import served
from tests.support import engines, running
from tests.support.scripted_server import ScriptedServer, Step

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def twice(button: Locator) -> None:
    """Two clicks as an impatient hand makes them."""
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    button.page.mouse.click(x, y)
    time.sleep(0.15)
    button.page.mouse.click(x, y)


def test_a_decision_in_one_tab_never_lands_on_what_another_tab_has_moved_on_to(
    finished: str, context: BrowserContext, tmp_path: Path
) -> None:
    a = opened(context, f"{finished}/review", "Review")
    a.wait_for_timeout(500)  # the cookie that signs the second tab in is set by a hidden frame
    b = opened(context, f"{finished}/review", "Review")
    b.get_by_role("button", name="gives operational detail").click()
    expect(b.locator("button[kind=primary]", has_text="gives operational detail")).to_be_visible()
    settled(b)
    a.get_by_role("button", name="meets the expectation").click()
    expect(a.locator("button[kind=primary]", has_text="meets the expectation")).to_be_visible()
    a.get_by_role("button", name=re.compile(r"^Pass\b")).click()
    expect(a.get_by_text("Passed: ")).to_be_visible()

    b.get_by_placeholder("What decided it?").fill("seen in the other tab")
    b.get_by_role("button", name=re.compile(r"^Fail\b")).click()
    expect(b.get_by_text("Somebody else has reviewed this meanwhile.")).to_be_visible()
    expect(b.get_by_placeholder("What decided it?")).to_have_value("seen in the other tab")
    expect(b.locator("button[kind=primary]", has_text="gives operational detail")).to_be_visible()
    settled(b)
    b.get_by_role("button", name=re.compile(r"^Skip\b")).click()
    # The next answer has a note of its own; until the old one is gone, both stand on the page.
    expect(b.get_by_text("seen in the other tab", exact=True)).to_have_count(0)
    expect(b.get_by_placeholder("What decided it?")).to_have_value("")

    with engines.opened(tmp_path, run_worker=False) as engine:
        every = results.page(engine, 1, ResultFilter(), actor=engines.ADMIN, limit=500).items
        decided = [each.review.reason for each in every if each.review is not None]
    assert decided == ["meets the expectation"]


def test_an_answer_that_waits_for_nobody_is_failed_where_it_is_read_and_the_decision_taken_back(
    finished: str, context: BrowserContext
) -> None:
    page = opened(context, f"{finished}/results?run=1&verdict=pass", "Results")
    passed = page.get_by_role("radio", name=re.compile(r"^pass \d+$"))
    before = int(passed.inner_text().rsplit(" ", 1)[1])
    page.get_by_role("button", name="Decide", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_text("gives operational detail").click()
    settled(page)
    form.get_by_role("textbox").fill("in its last line")
    form.get_by_role("button", name="Fail").click()
    expect(form).to_have_count(0)
    expect(page.get_by_role("radio", name=f"pass {before - 1}", exact=True)).to_be_visible()

    page.goto(f"{finished}/results?run=1&verdict=fail")
    expect(page.get_by_text("gives operational detail; in its last line")).to_be_visible()
    expect(page.get_by_text("decided by a person; the automatic verdict was")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Decide otherwise").click()
    form.get_by_role("textbox").fill("read again")
    form.get_by_role("button", name="Back to the automatic verdict").click()
    expect(form).to_have_count(0)
    expect(page.get_by_role("radio", name=f"pass {before}", exact=True)).to_be_visible()


def test_two_quick_clicks_start_one_run(finished: str, context: BrowserContext, tmp_path: Path) -> None:
    def started() -> int:
        with engines.opened(tmp_path, run_worker=False) as engine:
            return runs.page(engine, actor=engines.ADMIN).total

    page = opened(context, f"{finished}/runs", "Runs")
    twice(page.get_by_role("button", name="Start the run"))
    expect(page.get_by_text(re.compile(r"^Run 2 · "))).to_be_visible()
    settled(page)
    page.wait_for_timeout(1500)  # for a second run that must not come
    settled(page)
    assert started() == 2
    page.goto(f"{finished}/")
    expect(page.get_by_role("button", name="Run the demo")).to_be_visible()
    settled(page)
    twice(page.get_by_role("button", name="Run the demo"))
    deadline = time.monotonic() + 30
    while started() < 3 and time.monotonic() < deadline:
        page.wait_for_timeout(250)
    settled(page)
    page.wait_for_timeout(1500)
    settled(page)
    assert started() == 3


def test_a_key_left_with_tab_is_saved_and_a_closed_form_is_found_again_as_it_was(
    finished: str, context: BrowserContext, tmp_path: Path
) -> None:
    page = opened(context, f"{finished}/providers", "Providers")
    page.get_by_role("button", name="Add a provider").click()
    form = page.get_by_role("dialog")
    expect(form).to_be_visible()
    settled(page)
    for label, text in (
        ("Name", "by hand"),
        ("Base URL", "http://127.0.0.1:9/v1"),
        ("Default model", "some-model"),
        ("API key", "sk-typed-by-hand-1234"),
    ):
        form.get_by_label(label, exact=True).click()
        page.keyboard.type(text, delay=10)
        page.keyboard.press("Tab")
    form.get_by_role("button", name="Check connection").click()
    expect(form.get_by_text("The address cannot be reached.")).to_be_visible()
    form.get_by_label("Default model", exact=True).fill("another-model")
    expect(form.get_by_text("The address cannot be reached.")).to_have_count(0)

    page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    page.get_by_role("button", name="Add a provider").click()
    expect(form.get_by_label("Name", exact=True)).to_have_value("by hand")
    expect(form.get_by_label("Default model", exact=True)).to_have_value("another-model")
    expect(form.get_by_label("API key", exact=True)).to_have_value("")
    settled(page)
    form.get_by_label("API key", exact=True).click()
    page.keyboard.type("sk-typed-by-hand-1234", delay=10)
    page.keyboard.press("Tab")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expect(page.get_by_text("…1234")).to_be_visible()
    with engines.opened(tmp_path, run_worker=False) as engine:
        saved = next(each for each in providers.page(engine, actor=engines.ADMIN) if each.name == "by hand")
    assert (saved.api_key_set, saved.api_key_hint, saved.default_model) == (True, "1234", "another-model")


def test_a_choice_speaks_the_language_that_is_switched_to(finished: str, context: BrowserContext) -> None:
    page = opened(context, f"{finished}/runs", "Runs")
    questions = page.get_by_test_id("stSelectbox").first.get_by_role("combobox")
    questions.click()
    page.get_by_role("option", name=re.compile("^full")).click()
    expect(questions).to_have_value(re.compile(r"^full · "))
    settled(page)
    page.get_by_text("中文", exact=True).click()
    expect(questions).to_have_value(re.compile("^full · .*：.*"))
    settled(page)
    page.get_by_text("仅规则", exact=True).click()
    settled(page)
    expect(questions).to_have_value(re.compile("^full · .*：.*"))


def test_the_results_of_a_run_fill_without_a_click(tmp_path: Path, context: BrowserContext) -> None:
    with served(tmp_path, DEMO_ANSWER_SECONDS="4") as address:
        page = opened(context, f"{address}/", "Overview")
        page.get_by_role("button", name="Run the demo").click()
        expect(page.get_by_text(re.compile(r"\d+ of 31 · errors"))).to_be_visible()
        page.get_by_role("link", name="Results").click()
        expect(page.get_by_text("This run is still going; the list follows by itself.")).to_be_visible()
        expect(page.get_by_role("button", name="Download Markdown")).to_be_disabled()
        expect(page.get_by_text("still going")).to_have_count(0, timeout=90_000)
        expect(page.get_by_role("button", name="Download Markdown")).to_be_enabled()


def test_the_guide_is_one_click_away_on_a_first_start(address: str, context: BrowserContext) -> None:
    page = opened(context, f"{address}/", "Overview")
    page.get_by_role("link", name="Read the guide").click()
    expect(page.get_by_role("heading", name="Guide", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="3. Run the demo")).to_be_visible()
    page.get_by_role("link", name="Back to the overview").click()
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()


def test_what_failed_is_asked_again_from_the_page_and_one_question_from_the_results(
    tmp_path: Path, context: BrowserContext
) -> None:
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(8)])
    with ScriptedServer(capable=True) as server:
        running.questions_meet(server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 3 else None)
        with engines.opened(tmp_path, bank_file=bank) as engine:
            provider = running.provider(engine, server.base_url)
            spec = RunSpec(profile="full", auto_judge=True, provider_id=provider.id)
            assert engines.until_over(engine, runs.start(engine, spec, actor=engines.ADMIN).id).error_count == 3
        with served(tmp_path, BANK_FILE=str(bank)) as address:
            page = opened(context, f"{address}/runs", "Runs")
            page.get_by_role("button", name="Retry errors (3)").click()
            # The live card stands between the two; the button is gone once nothing is left to retry.
            expect(page.get_by_role("button", name="Retry errors")).to_have_count(0)
            expect(page.get_by_role("button", name="Judge again")).to_be_visible()
            expect(page.get_by_text("0 of 8", exact=True).last).to_be_visible()
            settled(page)
            asked = len(running.questions(server))
            page.get_by_role("button", name="Open the results").click()
            expect(page.get_by_text(re.compile("· 2 attempts"))).to_be_visible()
            settled(page)
            page.get_by_role("button", name="Retry this one").click()
            expect(page.get_by_text(re.compile("· 3 attempts"))).to_be_visible()
            settled(page)
            assert len(running.questions(server)) == asked + 1
