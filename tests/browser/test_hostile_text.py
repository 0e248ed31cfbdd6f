"""What a model, a judge, an endpoint or a person writes stays text: in a real browser, on every page."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from pydantic import SecretStr

from engine.domain.providers import ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, RunSpec
from engine.domain.verdicts import ReviewVerdict
from engine.services import providers, results, reviews, runs
from tests.browser.steps import OWN, settled, sign_in
from tests.dashboard.hostile import CORPUS
from tests.dashboard.serving import served
from tests.support import engines
from tests.support.scripted_server import CODE_WORD, FENCED, ScriptedServer, Step, default_answer, message, texts

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SPEAKABLE = [text.encode("utf-8", "replace").decode() for text in CORPUS]
"""The corpus as JSON can carry it: a lone surrogate is a question mark by then."""


def talker() -> Any:
    """Answers, and judges, with the next text of the corpus."""
    endless = itertools.cycle(SPEAKABLE)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        whole = "\n".join(text for _role, text in texts(request))
        if FENCED.search(whole):
            verdict = {"verdict": "unsure", "reason": next(endless), "confidence": 0.4, "quote": ""}
            return message(json.dumps(verdict, ensure_ascii=False))
        if CODE_WORD.search(whole):
            return default_answer(request, capable=True)
        return message(next(endless), model=next(endless))

    return answer


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server whose database holds nothing but what strangers wrote."""
    with engines.opened(tmp_path) as engine, ScriptedServer(answer=talker()) as server:
        ids = []
        for number, text in enumerate(SPEAKABLE[:8]):
            draft = ProviderDraft(
                name=f"{text[:60]} {number}",
                kind=ProviderKind.OPENAI,
                base_url=server.base_url,
                api_key=SecretStr("k" * 20),
                default_model=text.replace("\n", " ")[:120],
            )
            ids.append(providers.create(engine, draft, actor=engines.ADMIN).id)
        for text in (SPEAKABLE[0], SPEAKABLE[3]):
            spec = RunSpec(profile="smoke", auto_judge=True, provider_id=ids[0], judge_provider_id=ids[1], note=text)
            run = engines.until_over(engine, runs.start(engine, spec, actor=engines.ADMIN).id)
        every = results.page(engine, run.id, ResultFilter(), actor=engines.ADMIN, limit=500).items
        answered = [each for each in every if each.output is not None]
        assert len(answered) > 10
        for each, text in zip(answered, SPEAKABLE[:6], strict=False):
            reviews.decide(
                engine, run.id, each.execution_id, verdict=ReviewVerdict.FAIL, reason=text, actor=engines.ADMIN
            )
        server.always(Step(status=400, body={"error": {"message": " ".join(SPEAKABLE[:5])}}))
        broken = RunSpec(profile="smoke", auto_judge=False, provider_id=ids[2])
        engines.until_over(engine, runs.start(engine, broken, actor=engines.ADMIN).id)
    with served(tmp_path) as address:
        yield address


def look(page: Page, url: str, heading: str) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    settled(page)
    for selector in (
        "[src*='outside.invalid']",
        "[href*='outside.invalid']",
        "[href^='mailto']",
        "[href^='javascript']",
    ):
        assert page.locator(selector).count() == 0, f"{url}: {selector}"
    assert page.title() in {"Magistrate", heading}


def test_nothing_that_strangers_wrote_loads_links_or_runs(
    address: str, context: BrowserContext, requested: list[str]
) -> None:
    page = context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{address}/")
    sign_in(page)
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    cookies = {each["name"] for each in context.cookies()}

    look(page, f"{address}/", "Overview")
    look(page, f"{address}/runs", "Runs")
    look(page, f"{address}/providers", "Providers")
    look(page, f"{address}/review", "Review")
    for run_id in (1, 2, 3):
        look(page, f"{address}/results?run={run_id}", "Results")
    for number in range(1, 7):
        look(page, f"{address}/results?run=2&id={31 + number}", "Results")
        page.keyboard.press("Escape")
    look(page, f"{address}/results?run=2&q={SPEAKABLE[2]}", "Results")
    for _step in range(3):
        page.goto(f"{address}/review")
        page.get_by_role("button", name="Skip").click()
        settled(page)

    assert dialogs == []
    assert {each["name"] for each in context.cookies()} == cookies
    own = urlsplit(address).netloc
    assert {url for url in requested if urlsplit(url).scheme not in OWN and urlsplit(url).netloc != own} == set()
