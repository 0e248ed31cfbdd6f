"""A real browser on a server of its own; skipped, with the reason, where no browser is found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from engine.domain.runs import RunSpec
from engine.services import runs
from tests.dashboard.serving import served
from tests.support import engines

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong

ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")  # not longer: while it is open, no other test of this thread can start an event loop
def browser() -> Iterator[Browser]:
    found = os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("MAGISTRATE_BROWSER") == "required":
            pytest.fail("MAGISTRATE_BROWSER=required, and no Chromium was found; set CHROMIUM to its path")
        pytest.skip("no Chromium was found: apt-get install chromium, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path, DEMO_ANSWER_SECONDS="0.7") as address:
        yield address


@pytest.fixture
def finished(tmp_path: Path) -> Iterator[str]:
    """A server whose demo run is over."""
    with engines.opened(tmp_path) as engine:
        engines.until_over(
            engine, runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN).id
        )
    with served(tmp_path, DEMO_ANSWER_SECONDS="0") as address:
        yield address


@pytest.fixture
def requested() -> list[str]:
    """Every address the pages of a test asked for."""
    return []


@pytest.fixture
def context(browser: Browser, requested: list[str]) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        viewport={"width": 1440, "height": 900}, locale="en-US", timezone_id="Asia/Shanghai", accept_downloads=True
    )
    opened.set_default_timeout(30_000)

    def note(page: Page) -> None:
        page.on("request", lambda request: requested.append(request.url))
        page.on("websocket", lambda socket: requested.append(socket.url))

    opened.on("page", note)
    yield opened
    opened.close()
