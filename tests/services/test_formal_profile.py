"""A formal profile is run on a bank that is large enough for it, or not at all."""

from __future__ import annotations

import json

import pytest

from engine.domain.runs import RunSpec
from engine.errors import InputError
from engine.services import runs
from tests.support import engines
from tests.support.engines import ADMIN

CASES = 30


@pytest.fixture
def started(tmp_path):
    """Starts a run of a profile with these values on a bank of 30 content questions of one clause."""
    dataset = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(CASES)])

    def start(**profile):
        values = {"name": "formal", "title": {"zh": "正式", "en": "Formal"}, "formal": True} | profile
        dataset.with_name("profiles.json").write_text(json.dumps({"profiles": [values]}))
        with engines.opened(tmp_path, bank_file=dataset) as engine:
            try:
                run = runs.start(engine, RunSpec(profile="formal", auto_judge=False), actor=ADMIN)
                return engines.until_over(engine, run.id)
            finally:
                known = runs.page(engine, actor=ADMIN).total
                (tmp_path / "known").write_text(str(known))

    return start


def test_a_bank_that_is_too_small_is_refused_with_all_that_is_short_and_nothing_is_stored(started, tmp_path):
    minima = {"content": 2000, "content_per_clause": {"A.5": 30}, "rf": 500, "oc": 500, "oc_per_aspect": 1}
    with pytest.raises(InputError) as caught:
        started(minima=minima, sample_per_kind={"content": 31})
    error = caught.value
    assert error.code == "bank_too_small"
    assert "formal profile 'formal': content questions: 30 of at least 2000; " in error.message
    assert "and 15 more. Add questions, or choose" in error.message
    assert error.fields[0] == ("minima.content", "content questions: 30 of at least 2000")
    assert ("minima.content_per_clause", "content questions of clause A.5.a: 0 of at least 30") in error.fields
    assert not any("A.5.b" in words for _, words in error.fields)
    assert error.fields[-1] == ("minima.sample_per_kind", "content questions to draw from: 30 of at least 31")
    assert len(error.fields) == 3 + 1 + 13 + 1
    assert (tmp_path / "known").read_text() == "0"


def test_a_bank_that_is_large_enough_is_sampled(started):
    run = started(minima={"content": CASES, "per_mode": {"single": CASES}}, sample_per_kind={"content": 4})
    assert run.total_count == 4


def test_a_bank_without_a_question_for_a_formal_profile_is_too_small_rather_than_broken(started):
    with pytest.raises(InputError) as caught:
        started(minima={"rf": 1}, select={"modes": ["rf"]})
    assert caught.value.code == "bank_too_small"


def test_other_profiles_run_on_what_there_is(started):
    assert started(formal=False, minima={"content": 2000}, sample=3).total_count == 3
