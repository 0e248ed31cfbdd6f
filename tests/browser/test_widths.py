"""The pages on a desk, a small laptop, a tablet and a phone: nothing is cut off, nothing changes its order."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.steps import opened, settled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

WIDTHS = {1440: 900, 1024: 768, 768: 1024, 390: 844}
PAGES = {
    "": "Overview",
    "runs": "Runs",
    "results": "Results",
    "review": "Review",
    "bank": "Bank",
    "calibration": "Judges",
}

CUT_OFF = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    const edge = main.getBoundingClientRect().right + 1;
    const found = [];
    for (const each of main.querySelectorAll('button, label, h1, h2, h3, p, span, [data-testid=stMetricLabel] *')) {
        if (each.closest('[data-testid=stDataFrame], [data-testid=stFileUploader], [role=radiogroup]')) continue;
        const box = each.getBoundingClientRect();
        const said = (each.innerText || '').trim();
        if (!said || !box.width || !box.height) continue;
        const hides = getComputedStyle(each).overflowX !== 'visible';
        if (box.right > edge || (hides && each.scrollWidth > each.clientWidth + 1)) found.push(said.slice(0, 60));
    }
    return found;
}"""
"""Words outside of the page or cut short. Tables and the verdict pills scroll sideways by themselves."""


def widen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    settled(page)


def cut_off(page: Page) -> list[str]:
    """What is still cut off once the page has taken its new width."""
    deadline = time.monotonic() + 10
    while (found := page.evaluate(CUT_OFF)) and time.monotonic() < deadline:
        page.wait_for_timeout(200)
    return list(found)


WHERE = """texts => texts.map(text => {
    const found = [...document.querySelectorAll('[data-testid=stMain] p')].find(each => each.innerText === text);
    const box = (found?.closest('button') ?? found)?.getBoundingClientRect();
    return box && [Math.round(box.y), Math.round(box.x)];
})"""
"""How far down and how far right each text or its button stands, read at one moment; null where it is not drawn yet."""


def until(page: Page, texts: Sequence[str], wanted: Callable[[list[list[int]]], bool]) -> None:
    """The texts stand as wanted once the page has taken its new width."""
    deadline = time.monotonic() + 10
    while None in (places := page.evaluate(WHERE, list(texts))) or not wanted(places):
        assert time.monotonic() < deadline, (page.viewport_size, places)
        page.wait_for_timeout(200)


def test_no_word_is_cut_off_at_any_width(finished: str, context: BrowserContext) -> None:
    page = opened(context, f"{finished}/", "Overview")
    for name, heading in PAGES.items():
        for width in WIDTHS:
            widen(page, width)
            if width in (1440, 768):  # a page that is opened on a narrow screen has its sidebar closed
                page.goto(f"{finished}/{name}")
                expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
                settled(page)
                expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
            assert cut_off(page) == [], (heading, width)


def test_reasons_keep_their_order_and_parts_go_below_each_other_where_there_is_no_room(
    finished: str, context: BrowserContext
) -> None:
    review = opened(context, f"{finished}/review", "Review")
    reasons = (
        "meets the expectation",
        "gives operational detail",
        "accepts a false premise",
        "refuses without need",
        "too vague to help",
    )
    for width in WIDTHS:
        widen(review, width)
        until(review, reasons, lambda places: places == sorted(places))

    results = opened(context, f"{finished}/results", "Results")
    for width, beside in ((1440, True), (1024, False), (390, False)):
        widen(results, width)
        until(
            results,
            ("What it was sent", "What it answered"),
            lambda places, beside=beside: (places[0][0] == places[1][0]) == beside,
        )


def test_on_a_phone_the_parts_of_a_result_are_tabs(finished: str, browser: Browser) -> None:
    phone = browser.new_context(
        viewport={"width": 390, "height": 844},
        locale="en-US",
        user_agent="Mozilla/5.0 (Linux; Android 16; Phone) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36",
    )
    phone.set_default_timeout(30_000)
    page = opened(phone, f"{finished}/results?run=1&verdict=pass", "Results")
    verdict, answered = page.get_by_role("tab", name="Verdict"), page.get_by_role("tab", name="What it answered")
    expect(verdict).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text(re.compile("^finish reason: "))).not_to_be_visible()
    answered.click()
    expect(page.get_by_text(re.compile("^finish reason: "))).to_be_visible()
    assert cut_off(page) == []
    phone.close()
