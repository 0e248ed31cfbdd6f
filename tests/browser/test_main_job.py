"""The main job as a newcomer does it, in a real browser on a server started as `magistrate serve`."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.steps import OWN, settled, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def badge(page: Page, word: str) -> int:
    """The number behind a verdict's badge."""
    text = page.get_by_text(re.compile(rf"{word} \d+$")).first.inner_text()
    return int(text.rsplit(" ", 1)[1].replace(",", ""))


def pill(page: Page, word: str) -> Locator:
    return page.get_by_role("radio", name=re.compile(rf"^{word} \d+$"))


def counted(locator: Locator) -> int:
    return int(locator.inner_text().rsplit(" ", 1)[1])


def test_from_signing_in_to_a_reviewed_and_exported_run(
    address: str, context: BrowserContext, requested: list[str], tmp_path: Path
) -> None:
    page = context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))

    # sign in; the default password is warned of
    page.goto(f"{address}/")
    sign_in(page)
    expect(page.get_by_text("The default password is unchanged")).to_be_visible()

    # run the demo and follow it without touching anything
    page.get_by_role("button", name="Run the demo").click()
    expect(page.get_by_text(re.compile(r"\d+ of 31 · errors: \d+ · .* so far"))).to_be_visible()
    expect(page.get_by_text("By clause, as it fills")).to_be_visible()
    expect(page.get_by_text("simulated").first).to_be_visible()
    expect(page.get_by_role("heading", name="Pass rate by clause")).to_be_visible(timeout=90_000)

    # the finished run: every verdict occurs, and the chart is drawn with its labels
    for word in ("pass", "fail", "to review", "unreadable", "error", "skipped"):
        assert badge(page, word) > 0, word
    chart = page.locator("[data-testid=stVegaLiteChart]").first
    expect(chart).to_be_visible()
    before = badge(page, "to review"), badge(page, "pass"), badge(page, "fail")

    # results: filter, open one, and find the view in the address
    page.get_by_role("link", name="Results").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    pill(page, "fail").click()
    expect(page).to_have_url(re.compile(r"verdict=fail"))
    expect(page.get_by_text(f"1–{before[2]} of {before[2]}")).to_be_visible()
    expect(page.get_by_text("What it was sent")).to_be_visible()
    expect(page.get_by_text("What it answered")).to_be_visible()
    expect(page.locator("[data-testid=stCode]").first).to_be_visible()

    # a click on any cell of a row selects it
    shown = re.search(r"id=(\d+)", page.url)
    assert shown is not None
    page.get_by_test_id("stDataFrame").click(position={"x": 200, "y": 33 * 3 + 16})
    expect(page).not_to_have_url(re.compile(rf"[?&]id={shown[1]}(&|$)"))

    # the same view in a second tab, signed in by the cookie
    second = context.new_page()
    second.goto(page.url)
    expect(second.get_by_text(f"1–{before[2]} of {before[2]}")).to_be_visible()
    second.close()

    # review one with a reason; the counts follow at once
    page.get_by_role("link", name="Review", exact=True).click()
    waiting = page.get_by_text(re.compile(r"^\d+ answers wait$"))
    expect(waiting).to_be_visible()
    settled(page)
    total = int(waiting.inner_text().split()[0])
    page.get_by_role("button", name="meets the expectation").click()
    expect(page.get_by_role("button", name="meets the expectation")).to_be_enabled()
    page.get_by_placeholder("What decided it?").fill("Reads like a lesson.")
    page.get_by_role("button", name=re.compile(r"^Pass\b")).click()
    expect(page.get_by_text(f"{total - 1} answers wait")).to_be_visible()
    expect(page.get_by_text("Passed: ")).to_be_visible()
    settled(page)
    expect(page.get_by_placeholder("What decided it?")).to_have_count(1)
    expect(page.get_by_placeholder("What decided it?")).to_have_value("")

    # by keys alone: pick a reason, fail, undo
    page.get_by_role("heading", name="Review").click()
    page.keyboard.press("2")
    expect(page.locator("button[kind=primary]", has_text="gives operational detail")).to_be_visible()
    settled(page)
    page.keyboard.press("f")
    expect(page.get_by_text(f"{total - 2} answers wait")).to_be_visible()
    settled(page)
    page.keyboard.press("u")
    expect(page.get_by_text(f"{total - 1} answers wait")).to_be_visible()
    settled(page)

    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Pass rate by clause")).to_be_visible()
    settled(page)
    after = badge(page, "to review"), badge(page, "pass"), badge(page, "fail")
    assert sum(after) <= sum(before) + 1
    assert after[1] == before[1] + 1

    # the report
    page.get_by_role("link", name="Results").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    settled(page)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download Markdown").click()
    assert downloading.value.suggested_filename == "run_1_results.md"
    target = tmp_path / "report.md"
    downloading.value.save_as(target)
    report = target.read_text(encoding="utf-8")
    assert "meets the expectation; Reads like a lesson." in report
    assert len(re.findall(r"^#+ .*[a-z0-9]+-[a-z]+-\d+", report, flags=re.MULTILINE)) >= 25

    # a reload stays signed in; signing out does not
    page.reload()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    cookie = next(each for each in context.cookies() if each["name"] == "__Host-magistrate")
    assert (cookie["httpOnly"], cookie["secure"]) == (True, True)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("User name")).to_be_visible()
    page.reload()
    expect(page.get_by_label("User name")).to_be_visible()

    # a deep link survives signing in
    page.goto(f"{address}/results?run=1&verdict=pass")
    sign_in(page)
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/results\?.*verdict=pass"))

    assert failures == []
    own = urlsplit(address).netloc
    foreign = {url for url in requested if urlsplit(url).scheme not in OWN and urlsplit(url).netloc != own}
    assert foreign == set()
    assert len(requested) > 20
