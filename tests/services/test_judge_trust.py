"""Watching the judge: control cases, people's agreement with it, and the audit of what it is sure of."""

from __future__ import annotations

import contextlib
import itertools
import json

import pytest

from engine.domain.runs import ResultFilter, RunSpec
from engine.domain.verdicts import JudgeKind, QueueReason, ReviewVerdict, Verdict
from engine.errors import BankError
from engine.review.audit import drawn
from engine.services import judge_trust, reports, reviews, runs
from engine.settings import ROOT
from tests.support import engines, judge_bench
from tests.support.engines import ADMIN
from tests.support.judge_bench import CASES

CONTROLS = ROOT / "data" / "control_cases.json"


@pytest.fixture
def bench(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(judge_bench.opened(tmp_path, **settings))


def test_confident_verdicts_are_drawn_into_the_queue_after_the_doubtful_ones(bench):
    made = bench(audit_share=1)
    made.verdict = "unsure"
    made.run()
    made.verdict = "pass"
    run = made.run()
    queued = reviews.queue(made.engine, actor=ADMIN, run_id=run.id).items
    assert [item.why for item in queued] == [QueueReason.AUDIT] * CASES
    assert {item.verdict for item in queued} == {Verdict.PASS}
    everything = [item.why for item in reviews.queue(made.engine, actor=ADMIN).items]
    assert everything == [QueueReason.NEEDS_HUMAN_REVIEW] * CASES + [QueueReason.AUDIT] * CASES
    first = queued[0]
    reviews.decide(
        made.engine, run.id, first.execution_id, verdict=ReviewVerdict.FAIL, reason="it misleads", actor=ADMIN
    )
    left = reviews.queue(made.engine, actor=ADMIN, run_id=run.id)
    assert (left.total, first.execution_id in {item.execution_id for item in left.items}) == (CASES - 1, False)
    assert runs.get(made.engine, run.id, actor=ADMIN).verdict_counts.fail == 1


def test_the_same_seed_draws_the_same_audit_and_without_a_share_there_is_none(bench):
    made = bench(audit_share=0.4)

    def audited(run):
        return sorted(item.instance_id for item in reviews.queue(made.engine, actor=ADMIN, run_id=run.id).items)

    seeded = audited(made.run(seed=7))
    assert seeded == audited(made.run(seed=7))
    assert 0 < len(seeded) < CASES
    assert seeded == sorted(drawn((f"case-{n:05d}" for n in range(CASES)), share=0.4, seed="7"))


@pytest.mark.parametrize(("share", "said"), [(0.4, "40.0% of the confident verdicts, seed 7"), (0, "none")])
def test_the_report_states_the_share_of_the_audit(bench, share, said):
    made = bench(audit_share=share)
    run = made.run(seed=7)
    report = b"".join(reports.export(made.engine, run.id, ResultFilter(), actor=ADMIN).chunks).decode()
    assert f"| Random audit | {said} |" in report


def test_half_of_the_audit_is_a_fair_half_of_the_plan(bench):
    made = bench(audit_share=1)
    run = made.run()
    plan = [each.instance_id for each in made.every(run)]
    queued = [item.instance_id for item in reviews.queue(made.engine, actor=ADMIN, run_id=run.id).items]
    assert sorted(queued) == sorted(plan)
    for third in (plan[:4], plan[4:8], plan[8:]):
        assert 1 <= len(set(queued[: CASES // 2]) & set(third)) <= 3


def test_what_is_drawn_for_audit_depends_on_nothing_but_seed_and_id():
    ids = [f"i-{n}" for n in range(500)]
    all_drawn = drawn(ids, share=0.1, seed="s")
    assert drawn(reversed(ids), share=0.1, seed="s") == all_drawn
    assert drawn(ids[:250], share=0.1, seed="s") == {each for each in all_drawn if each in ids[:250]}
    assert all_drawn <= drawn([*ids, *(f"more-{n}" for n in range(500))], share=0.1, seed="s")
    assert all_drawn <= drawn(ids, share=0.2, seed="s")
    assert drawn(ids, share=0.1, seed="t") != all_drawn


def test_asking_and_judging_again_leave_the_audit_as_it_was_drawn(bench):
    made = bench(audit_share=0.4)
    run = made.run(seed=7)

    def audited():
        return {item.execution_id for item in reviews.queue(made.engine, actor=ADMIN, run_id=run.id).items}

    before = audited()
    assert 0 < len(before) < CASES
    for each in made.every(run)[:6]:
        runs.retry_one(made.engine, run.id, each.execution_id, actor=ADMIN)
        engines.until_over(made.engine, run.id)
    assert audited() == before
    runs.judge(made.engine, run.id, actor=ADMIN)
    engines.until_over(made.engine, run.id)
    assert audited() == before


@pytest.mark.parametrize(("share", "low", "high"), [(0, 0, 0), (1, 4000, 4000), (0.05, 150, 250)])
def test_the_share_drawn_is_the_share_asked_for(share, low, high):
    assert low <= len(drawn((f"i-{n}" for n in range(4000)), share=share, seed="s")) <= high


def test_the_judge_is_put_before_the_control_cases_once_a_run_and_its_errors_are_said(bench):
    made = bench(control_cases_file=CONTROLS)
    run = made.run()
    outcomes = made.engine.stores.agreement.controls(run.id)
    assert len(outcomes) == 8
    assert len(made.judged) == CASES + 8
    missed = {each.control_id for each in outcomes if not each.is_met}
    assert missed == {"en-single-fail", "en-rf-fail", "zh-single-fail", "zh-oc-fail"}
    said = [text for text in run.warnings if "is wrong on control case" in text]
    assert len(said) == 4
    assert "the judge is wrong on control case en-rf-fail: pass instead of fail" in said
    assert run.completed_count == CASES  # no control case is an instance of the run


def test_a_judge_that_has_moved_since_its_last_run_raises_an_alarm(bench):
    made = bench(control_cases_file=CONTROLS)
    first = made.run()
    assert not any("has moved" in text for text in first.warnings)
    made.verdict = "fail"
    second = made.run()
    moved = [text for text in second.warnings if "has moved" in text]
    assert len(moved) == 8
    assert f"the judge has moved since run {first.id}: control case en-rf-pass was pass then and is fail now" in moved


def test_judging_again_puts_the_controls_before_the_new_judge_and_drops_what_was_said_of_the_old(bench):
    made = bench(control_cases_file=CONTROLS)
    run = made.run()
    made.verdict = "fail"
    runs.judge(made.engine, run.id, judge_provider_id=made.provider, judge_model="another", actor=ADMIN)
    again = engines.until_over(made.engine, run.id)
    assert {each.verdict for each in made.engine.stores.agreement.controls(run.id)} == {Verdict.FAIL}
    assert len([text for text in again.warnings if "is wrong on control case" in text]) == 4
    assert not any("pass instead of fail" in text for text in again.warnings)


def test_without_a_judge_model_there_are_no_controls(bench):
    made = bench(control_cases_file=CONTROLS)
    spec = RunSpec(profile="full", auto_judge=True, provider_id=made.provider)
    run = engines.until_over(made.engine, runs.start(made.engine, spec, actor=ADMIN).id)
    assert (made.judged, made.engine.stores.agreement.controls(run.id)) == ([], ())


def test_a_broken_file_of_controls_stops_a_run_before_anything_is_asked(bench, tmp_path):
    file = tmp_path / "controls.json"
    file.write_text(json.dumps({"controls": [{"control_id": "one", "clause": "A.5.b"}]}))
    made = bench(control_cases_file=file)
    with pytest.raises(BankError, match=r"controls\.json, control case 'one'"):
        made.run()
    assert made.judged == []


def test_a_judge_that_people_contradict_loses_its_vote_on_that_clause(bench):
    made = bench(judge_agreement_floor=0.8, judge_agreement_reviews=10)
    first = made.run()
    assert first.verdict_counts.passed == CASES
    made.decide(first, ReviewVerdict.FAIL)
    second = made.run()
    assert second.verdict_counts.needs_human_review == CASES
    assert any(
        text.startswith("the judge has no vote on clause A.5.b: it agreed with people on 0 of 12 answers")
        for text in second.warnings
    )
    trail = made.every(second)[0].judgements
    assert [each.verdict for each in trail if each.judge is JudgeKind.LLM] == [Verdict.NEEDS_HUMAN_REVIEW]
    # What it would have said is still measured, so that it can win its vote back.
    made.decide(second, ReviewVerdict.PASS)
    measured = made.engine.stores.agreement.of_model(
        "judge", made.engine.stores.runs.config(second.id).judge_prompt_version
    )
    assert (measured["A.5.b"].true_positive, measured["A.5.b"].false_positive) == (CASES, CASES)


@pytest.mark.parametrize("settings", [{"judge_agreement_reviews": 13}, {"judge_agreement_floor": 0}])
def test_a_judge_keeps_its_vote_where_too_little_is_known_or_no_floor_is_set(bench, settings):
    made = bench(**settings)
    made.decide(made.run(), ReviewVerdict.FAIL)
    assert made.run().verdict_counts.passed == CASES


def test_a_judge_that_passes_everything_loses_its_vote_although_most_answers_pass(bench):
    made = bench(judge_agreement_floor=0.8, judge_agreement_reviews=10)
    first = made.run()
    made.decide(first, ReviewVerdict.PASS)
    for each in made.every(first)[:2]:
        reviews.decide(
            made.engine, first.id, each.execution_id, verdict=ReviewVerdict.FAIL, reason="it harms", actor=ADMIN
        )
    second = made.run()
    assert second.verdict_counts.needs_human_review == CASES
    [said] = [text for text in second.warnings if text.startswith(judge_trust.MARK)]
    assert "agreed with people on 10 of 12 answers but on 0 of 2 that they fail" in said
    [found] = judge_trust.alarms(second.warnings).no_vote
    assert found == judge_trust.NoVote("A.5.b", 10, 12, judge_trust.Side(Verdict.FAIL, 0, 2))


def test_one_error_on_the_rare_side_takes_no_vote_away(bench):
    """Its kappa is 0 then, and it may well be as good as the floor asks."""
    made = bench(judge_agreement_floor=0.8, judge_agreement_reviews=10)
    first = made.run()
    made.decide(first, ReviewVerdict.PASS)
    odd = made.every(first)[0].execution_id
    reviews.decide(made.engine, first.id, odd, verdict=ReviewVerdict.FAIL, reason="it harms", actor=ADMIN)
    assert made.run().verdict_counts.passed == CASES


def test_an_opinion_counts_for_the_model_that_gave_it_also_in_a_run_that_another_judged_later(bench):
    made = bench()
    made.verdict = "unsure"
    run = made.run()
    made.verdict = "fail"
    runs.judge(made.engine, run.id, judge_provider_id=made.provider, judge_model="judge", actor=ADMIN)
    run = engines.until_over(made.engine, run.id)
    runs.judge(
        made.engine, run.id, judge_provider_id=made.provider, judge_model="other", only_missing=True, actor=ADMIN
    )
    run = engines.until_over(made.engine, run.id)
    made.decide(run, ReviewVerdict.PASS)
    of_model = made.engine.stores.agreement.of_model
    version = made.engine.stores.runs.config(run.id).judge_prompt_version
    assert run.judge_model == "other"
    assert of_model("other", version) == {}
    assert of_model("judge", version)["A.5.b"].false_negative == CASES


def test_a_decision_taken_back_does_not_count(bench):
    made = bench()
    run = made.run()
    made.decide(run, ReviewVerdict.FAIL)
    assert made.engine.stores.agreement.of_run(run.id)["A.5.b"].false_positive == CASES
    made.decide(run, ReviewVerdict.CLEAR)
    assert made.engine.stores.agreement.of_run(run.id) == {}


def test_the_bundled_controls_are_eight_and_as_many_pass_as_fail(bench):
    from engine.bank import control_cases

    controls = control_cases.load(CONTROLS)
    expected = [each.expected for each in controls]
    assert expected.count(Verdict.PASS) == expected.count(Verdict.FAIL) == 4
    assert {language for language, _ in itertools.groupby(sorted(each.language for each in controls))} == {"en", "zh"}
