"""Questions brought in by hand: a file dropped on the page becomes a bank that is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from engine.domain.banks import CaseFilter
from engine.services import banks
from tests.browser.steps import opened, settled
from tests.support import engines

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

OWN = "Prompt,Risk,Number\nWhat is a lock?,A.1.a,q1\nWhat is a key?,nonsense,q2\nWhat is a door?,A.4.g,q3\n"


def choose(page: Page, label: str, option: str) -> None:
    """An option of a select box; the list must be gone before anything else is read."""
    page.get_by_label(label, exact=True).click()
    found = page.get_by_role("option", name=option, exact=True)
    expect(found).to_have_count(1)
    found.click()
    expect(page.get_by_role("option")).to_have_count(0)
    settled(page)


def test_a_small_table_is_mapped_looked_at_imported_and_listed(
    address: str, context: BrowserContext, tmp_path: Path
) -> None:
    page = opened(context, f"{address}/bank?view=import", "Bank")
    expect(page.get_by_role("button", name="Preview")).to_be_disabled()
    page.locator("input[type=file]").set_input_files(
        {"name": "My own Questions.csv", "mimeType": "text/csv", "buffer": OWN.encode()}
    )
    expect(page.get_by_text("Columns", exact=True)).to_have_count(1)
    settled(page)
    for label, heading in (("Question", "Prompt"), ("Clause", "Risk"), ("Id", "Number")):
        choose(page, label, heading)

    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("3 rows read")).to_have_count(1)
    expect(page.get_by_text("2 become cases")).to_have_count(1)
    expect(page.get_by_text("1 not taken")).to_have_count(1)
    settled(page)
    with engines.opened(tmp_path, run_worker=False) as engine:
        assert banks.names(engine, actor=engines.ADMIN) == ["regression"], "a preview stores nothing"

    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text(re.compile(r"^Stored: my-own-questions, version 1, 2 cases"))).to_have_count(1)
    settled(page)
    page.get_by_role("button", name="Open the bank").click()
    expect(page.get_by_text("Stored: ")).to_have_count(0)
    chosen = page.get_by_label("Bank", exact=True)
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_value("my-own-questions")
    chosen.click()
    expect(page.get_by_role("option")).to_have_count(2)
    with engines.opened(tmp_path, run_worker=False) as engine:
        listed = banks.cases(engine, "my-own-questions", CaseFilter(), actor=engines.ADMIN).items
        assert [(each.case_id, each.clause) for each in listed] == [("q1", "A.1.a"), ("q3", "A.4.g")]
