"""What several browser tests do."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

OWN = {"data", "blob", "about"}
"""Schemes of addresses that leave no machine."""


def sign_in(page: Page) -> None:
    page.get_by_label("User name").fill("gly")
    page.get_by_label("Password", exact=True).fill("maxta2026")
    page.keyboard.press("Enter")


def settled(page: Page) -> None:
    """The script has run to its end and what it drew is there; what it no longer draws is gone."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(page.locator("[data-stale=true]")).to_have_count(0)


def opened(context: BrowserContext, url: str, heading: str) -> Page:
    """A page of its own, signed in where nobody is yet."""
    page = context.new_page()
    page.goto(url)
    title = page.get_by_role("heading", name=heading, exact=True)
    expect(title.or_(page.get_by_label("User name"))).to_be_visible()
    if not title.is_visible():
        sign_in(page)
        expect(title).to_be_visible()
    settled(page)
    return page
