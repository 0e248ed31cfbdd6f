"""Judging stored answers again: the model under test is left alone."""

from __future__ import annotations

import hashlib

import pytest
from sqlalchemy import text

from engine.domain.runs import RunStatus
from engine.domain.verdicts import JudgeKind, Verdict
from engine.errors import ConflictError, NotFoundError
from engine.services import judge_choice, providers, results, runs
from tests.support import engines, running
from tests.support.engines import ADMIN
from tests.support.running import SPEC, rows
from tests.support.scripted_server import ScriptedServer, Step


@pytest.fixture
def judge():
    with ScriptedServer(judging=True) as running_judge:
        yield running_judge


def about_judging(run):
    return [warning for warning in run.warnings if "judge" in warning]


def judged_run(engine, server, judge, **spec):
    """A run over a provider `subject`, judged by a provider `judge`."""
    subject = running.provider(engine, server.base_url, name="subject", default_model="subject")
    other = running.provider(engine, judge.base_url, name="judge", default_model="first-judge")
    wanted = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id, **spec})
    return engines.until_over(engine, runs.start(engine, wanted, actor=ADMIN).id), other


def test_a_judge_that_was_away_is_asked_later_and_the_model_is_not(installation, server, judge):
    judge.always(Step(status=503))
    with installation(4, request_retry_count=0) as engine:
        run, _ = judged_run(engine, server, judge)
        assert (run.status, run.completed_count, run.verdict_counts.none) == (RunStatus.COMPLETED, 4, 4)
        trail = rows(engine, run.id)[0].judgements[-1]
        assert trail.judge == JudgeKind.LLM and trail.detail is not None
        assert (trail.verdict, trail.detail["code"]) == (None, "judge_unavailable")
        asked = len(server.chats)
        judge.always(None)
        runs.judge(engine, run.id, only_missing=True, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.verdict_counts.none, about_judging(run)) == (RunStatus.COMPLETED, 0, [])
        assert len(server.chats) == asked
        judgements = len(judge.chats)
        runs.judge(engine, run.id, only_missing=True, actor=ADMIN)
        assert engines.until_over(engine, run.id).status == RunStatus.COMPLETED
        assert len(judge.chats) == judgements, "nothing was missing"


def test_judging_again_has_a_pace_and_a_time_left_and_says_why_it_waits(installation, server, judge):
    with installation(12) as engine:
        run, _ = judged_run(engine, server, judge)
        judge.latency_s = 0.15
        judge.script(Step(), Step(status=429, headers={"Retry-After": "2"}))
        runs.judge(engine, run.id, actor=ADMIN)
        seen = []
        while not seen or not seen[-1].run.status.is_over:
            seen.append(runs.progress(engine, run.id, actor=ADMIN))
    assert any(now.rate_per_s and now.eta_s and now.done < 12 for now in seen)
    assert any(now.run.waiting and now.run.waiting.reason == "rate_limited" for now in seen)
    assert seen[-1].done == 12 and seen[-1].run.waiting is None


def test_another_judge_replaces_what_is_shown_and_the_run_says_who(installation, server, judge):
    with installation(3) as engine:
        run, other = judged_run(engine, server, judge)
        asked = len(server.chats)
        runs.judge(engine, run.id, judge_model="second-judge", actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.judge_model) == (RunStatus.COMPLETED, "second-judge")
        assert [each.judgements[-1].detail["model"] for each in rows(engine, run.id)] == ["second-judge"] * 3
        assert len(server.chats) == asked and engine.stores.runs.config(run.id).judge.provider_id == other.id
        runs.judge(engine, run.id, judge_provider_id=run.provider_id, judge_model="subject", actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert "judges itself" in " ".join(run.warnings) and engine.stores.runs.config(run.id).self_judged
        runs.judge(engine, run.id, judge_provider_id=other.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert about_judging(run) == [] and not engine.stores.runs.config(run.id).self_judged
        with pytest.raises(NotFoundError):
            runs.judge(engine, run.id, judge_provider_id=99, actor=ADMIN)
        providers.delete(engine, other.id, actor=ADMIN)
        with pytest.raises(ConflictError) as gone:
            runs.judge(engine, run.id, actor=ADMIN)
        assert gone.value.code == "judge_gone"
        assert runs.get(engine, run.id, actor=ADMIN).status == RunStatus.COMPLETED


def test_a_judge_that_may_be_the_model_under_test_at_another_address_is_warned_about_until_another_judges(
    installation, server, judge
):
    with installation(2) as engine:
        run, other = judged_run(engine, server, judge)
        assert judge_choice.SAME_NAME not in run.warnings
        runs.judge(engine, run.id, judge_provider_id=other.id, judge_model="Subject", actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert judge_choice.SAME_NAME in run.warnings and not engine.stores.runs.config(run.id).self_judged
        spec = SPEC.model_copy(update={"provider_id": run.provider_id, "judge_provider_id": other.id})
        again = runs.start(engine, spec.model_copy(update={"judge_model": "subject"}), actor=ADMIN)
        assert judge_choice.SAME_NAME in engines.until_over(engine, again.id).warnings
        runs.judge(engine, run.id, judge_model="second-judge", actor=ADMIN)
        assert judge_choice.SAME_NAME not in engines.until_over(engine, run.id).warnings


def test_a_judge_that_is_away_takes_no_verdict_back(installation, server, judge):
    with installation(3, request_retry_count=0) as engine:
        run, _ = judged_run(engine, server, judge)
        before = [each.verdict for each in rows(engine, run.id)]
        assert None not in before
        judge.always(Step(status=503))
        runs.judge(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert [each.verdict for each in rows(engine, run.id)] == before
        assert "3 answers could not be judged anew" in about_judging(run)[0]


def test_answers_of_two_judges_are_never_passed_off_as_of_one(installation, server, judge):
    judge.script(*[Step(), Step(), Step(status=400), Step(status=400)])
    with installation(4, request_retry_count=0) as engine:
        run, _ = judged_run(engine, server, judge)
        assert run.verdict_counts.none == 2
        runs.judge(engine, run.id, judge_model="second-judge", only_missing=True, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert run.verdict_counts.none == 0
        assert about_judging(run) == ["some answers were judged by first-judge, the others by second-judge"]


def test_a_run_without_automatic_judging_is_judged_when_somebody_asks(installation, server):
    with installation(3) as engine:
        run = engines.until_over(
            engine,
            runs.start(
                engine,
                SPEC.model_copy(update={"auto_judge": False}),
                actor=ADMIN,
                endpoint=engines.endpoint(server.base_url),
            ).id,
        )
        assert run.verdict_counts.none == 3
        asked = len(server.chats)
        runs.judge(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.verdict_counts.none, run.judge_model) == (RunStatus.COMPLETED, 0, None)
        assert {each.verdict for each in rows(engine, run.id)} <= {Verdict.PASS, Verdict.NEEDS_HUMAN_REVIEW}
        assert len(server.chats) == asked


def test_judging_a_cancelled_run_leaves_it_cancelled_with_its_pending_items(installation, server):
    running.questions_meet(server, lambda place, _: Step(status=401) if place >= 4 else None)
    with installation(10) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.status == RunStatus.INTERRUPTED and 0 < run.completed_count < 10
        runs.judge(engine, run.id, actor=ADMIN)
        after = engines.until_over(engine, run.id)
        assert (after.status, after.error, after.completed_count) == (run.status, run.error, run.completed_count)
        detail = results.get(engine, run.id, rows(engine, run.id)[0].execution_id, actor=ADMIN)
        assert len(detail.attempts_history) == 1


def test_an_answer_that_trips_up_the_judge_stays_alone(installation, server, judge, tmp_path):
    """B19, on the judging side."""
    content = b"hello"
    fixture = {
        "fixture_id": "letter",
        "path": "fixtures/letter.txt",
        "media_type": "text/plain",
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "Apache-2.0",
        "title": {"zh": "信", "en": "Letter"},
        "access": {"model": ["content"], "judge": []},
    }
    (tmp_path / "bank" / "fixtures").mkdir(parents=True)
    (tmp_path / "bank" / "fixtures" / "letter.txt").write_bytes(content)
    cases = [engines.case(0, turns=[{"text": "Question number 0?", "fixtures": ["letter"]}])]
    bank = engines.write_bank(tmp_path / "bank", [*cases, *map(engines.case, range(1, 4))], [fixture])
    with engines.opened(tmp_path, bank_file=bank, request_retry_count=0) as engine:
        judge.always(Step(status=503))
        run, _ = judged_run(engine, server, judge)
        assert run.verdict_counts.none == 4
        judge.always(None)
        with engine.database.writing() as connection:  # what only a damaged database can bring about
            connection.execute(text("UPDATE runs SET fixtures = '[]'"))
        runs.judge(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.verdict_counts.none) == (RunStatus.COMPLETED, 1)
        (left,) = rows(engine, run.id, verdict="none")
        assert left.instance_id == "case-00000"
        assert left.judgements[-1].reason == "the judge could not be asked: unexpected KeyError"


def test_a_judge_that_is_down_costs_every_answer_one_quick_try(installation, server, judge):
    judge.always(Step(drop=True))
    patient = {"request_retry_count": 3, "request_retry_delay_seconds": 0.01, "request_retry_max_delay_seconds": 0.02}
    with installation(10, **patient) as engine:
        subject = running.provider(engine, server.base_url, name="subject", default_model="subject")
        other = running.provider(engine, judge.base_url, name="judge", default_model="judge", max_concurrency=2)
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        assert (run.status, run.verdict_counts.none) == (RunStatus.COMPLETED, 10)
        assert len(judge.chats) <= 4 * 4 + 6 * 2, (
            "those that were under way with all patience, the others with one repetition"
        )
        judge.always(None)
        runs.judge(engine, run.id, only_missing=True, actor=ADMIN)
        assert engines.until_over(engine, run.id).verdict_counts.none == 0


def test_a_run_whose_judge_is_gone_goes_on_once_it_has_another(installation, server, judge):
    refusing = [True]
    running.questions_meet(server, lambda place, _: Step(status=401) if place >= 3 and refusing[0] else None)
    with installation(8) as engine:
        subject = running.provider(engine, server.base_url, name="subject", max_concurrency=1)
        gone = running.provider(engine, judge.base_url, name="gone")
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": gone.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        assert (run.status, run.completed_count) == (RunStatus.INTERRUPTED, 3)
        refusing[0] = False
        providers.delete(engine, gone.id, actor=ADMIN)
        with pytest.raises(ConflictError, match="judge the run by another judge first") as refused:
            runs.resume(engine, run.id, actor=ADMIN)
        assert refused.value.code == "run_not_resumable"
        other = running.provider(engine, judge.base_url, name="other")
        runs.judge(engine, run.id, judge_provider_id=other.id, actor=ADMIN)
        assert engines.until_over(engine, run.id).status == RunStatus.INTERRUPTED
        runs.resume(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count, run.verdict_counts.none) == (RunStatus.COMPLETED, 8, 0)
