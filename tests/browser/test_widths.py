"""The pages on a desk, a small laptop, a tablet and a phone: nothing is cut off, nothing changes its order."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import BrowserContext, Page, expect

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
    def place(page: Page, words: str) -> tuple[int, int]:
        box = page.get_by_text(words, exact=True).bounding_box()
        assert box is not None
        return round(box["y"]), round(box["x"])

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
        places = [place(review, reason) for reason in reasons]
        assert places == sorted(places), width

    results = opened(context, f"{finished}/results", "Results")
    for width, beside in ((1440, True), (1024, False), (390, False)):
        widen(results, width)
        sent, answered = place(results, "What it was sent"), place(results, "What it answered")
        assert (sent[0] == answered[0]) == beside, width
