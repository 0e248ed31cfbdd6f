"""What a person wants to know before acting: how long a run would take, how much goes with one."""

from __future__ import annotations

import pytest

from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, RunSpec
from engine.domain.verdicts import ReviewVerdict
from engine.errors import NotFoundError
from engine.services import results, reviews, runs
from tests.support import engines
from tests.support.engines import ADMIN
from tests.support.scripted_server import ScriptedServer

CASES = 6


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """An engine with one finished run of six questions at two at once, and the provider it used."""
    folder = tmp_path_factory.mktemp("estimates")
    bank = engines.write_bank(folder / "bank", [engines.case(n) for n in range(CASES)])
    with ScriptedServer(capable=True) as server, engines.opened(folder, bank_file=bank) as engine:
        provider = engine.stores.providers.create(draft("first", server.base_url))
        started = runs.start(engine, RunSpec(profile="full", auto_judge=True, provider_id=provider.id), actor=ADMIN)
        yield engine, provider, engines.until_over(engine, started.id)


def draft(name, base_url="http://127.0.0.1:9/v1", **changes):
    values = {"name": name, "kind": ProviderKind.OPENAI, "base_url": base_url, "default_model": "scripted"}
    return ProviderDraft(**(values | {"max_concurrency": 2} | changes))


def estimate(engine, provider_id, profile="full"):
    return runs.estimate(engine, profile=profile, provider_id=provider_id, actor=ADMIN)


def test_the_estimate_is_the_median_answer_times_the_questions_shared_among_those_in_flight(installation):
    engine, provider, run = installation
    page = results.page(engine, run.id, ResultFilter(), actor=ADMIN)
    took = sorted(each.latency_ms for each in page.items)
    median_s = (took[2] + took[3]) / 2 / 1000
    assert len(took) == CASES
    assert estimate(engine, provider.id) == pytest.approx(median_s * CASES / 2)


def test_a_limit_on_requests_a_minute_bounds_the_estimate_from_below(installation):
    engine, provider, _ = installation
    unlimited = estimate(engine, provider.id)
    engine.stores.providers.change(provider.id, ProviderChange(requests_per_minute=3))
    assert estimate(engine, provider.id) == pytest.approx(60 * CASES / 3)
    engine.stores.providers.change(provider.id, ProviderChange(requests_per_minute=None))
    assert estimate(engine, provider.id) == unlimited


def test_a_provider_without_a_finished_run_has_no_estimate(installation):
    engine, _, _ = installation
    fresh = engine.stores.providers.create(draft("fresh"))
    assert estimate(engine, fresh.id) is None


def test_what_is_unknown_is_not_found(installation):
    engine, provider, _ = installation
    for profile, provider_id, code in (("smok", provider.id, "unknown_profile"), ("full", 99, "provider_not_found")):
        with pytest.raises(NotFoundError) as error:
            estimate(engine, provider_id, profile)
        assert error.value.code == code


def test_the_reviews_of_a_run_are_counted(installation):
    engine, _, run = installation
    assert reviews.count(engine, run.id, actor=ADMIN) == 0
    first = results.page(engine, run.id, ResultFilter(), actor=ADMIN).items[0]
    for verdict in (ReviewVerdict.PASS, ReviewVerdict.CLEAR):
        reviews.decide(engine, run.id, first.execution_id, verdict=verdict, reason="because", actor=ADMIN)
    assert reviews.count(engine, run.id, actor=ADMIN) == 2
