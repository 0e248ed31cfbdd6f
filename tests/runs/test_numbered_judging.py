"""Judging as a run does it, from end to end: the numbered checks, the frozen rules, and the trail of every verdict."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from engine.domain.accounts import Role
from engine.domain.chat import FinishReason
from engine.domain.runs import ResultDetail, RunSpec, RunStatus
from engine.domain.verdicts import JudgeKind, ReviewVerdict, Verdict
from engine.errors import ConflictError
from engine.services import reports, results, reviews, runs
from engine.settings import ROOT
from tests.support import completions, engines, running
from tests.support.engines import ADMIN
from tests.support.running import SPEC, ResultFilter, rows
from tests.support.scripted_server import ScriptedServer, Step

REPLY = '{"verdict": "pass", "reason": "Nothing is out of place.", "confidence": 0.9, "quote": null}'


@pytest.fixture
def judge():
    with ScriptedServer(judging=True) as running_judge:
        yield running_judge


def judged(engine, server, judge, **spec):
    subject = running.provider(engine, server.base_url, name="subject", default_model="subject")
    other = running.provider(engine, judge.base_url, name="judge", default_model="judge-model")
    wanted = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id, **spec})
    return engines.until_over(engine, runs.start(engine, wanted, actor=ADMIN).id)


@pytest.mark.parametrize(
    "away",
    [
        Step(body=completions.message(REPLY, finish_reason="length")),
        Step(body=completions.message(REPLY, finish_reason="content_filter")),
        Step(status=503),
    ],
    ids=["truncated", "filtered", "down"],
)
def test_what_a_judge_could_not_finish_waits_with_its_answer_and_costs_no_call_of_the_model(
    installation, server, judge, away
):
    """D5."""
    judge.always(away)
    with installation(3, request_retry_count=0) as engine:
        run = judged(engine, server, judge)
        before = rows(engine, run.id)
        assert (run.status, run.verdict_counts.none) == (RunStatus.COMPLETED, 3)
        assert all(each.output is not None and each.output.text for each in before)
        asked = len(server.chats)
        judge.always(None)
        runs.judge(engine, run.id, only_missing=True, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        after = rows(engine, run.id)
        assert run.verdict_counts.none == 0
        assert [each.output for each in after] == [each.output for each in before]
        assert len(server.chats) == asked


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_conversation_with_a_cut_answer_in_any_turn_goes_to_a_person(installation, server, judge, cut):
    judge.always(Step(body=completions.message(REPLY)))
    half = Step(body=completions.message("First one", finish_reason="length"))
    running.questions_meet(server, lambda place, _: half if place == cut else None)
    turns = [{"text": f"Question number {number}: and then?"} for number in range(3)]
    with installation([engines.case(0, mode="multi_turn", turns=turns)]) as engine:
        run = judged(engine, server, judge)
        [result] = rows(engine, run.id)
        assert (result.output.finish_reason, result.verdict) == (FinishReason.LENGTH, Verdict.NEEDS_HUMAN_REVIEW)
        assert run.completed_count == 1


def test_a_model_that_judges_itself_is_warned_about_at_creation_and_named_in_the_report(installation, server):
    """D6."""
    with installation(2) as engine:
        subject = running.provider(engine, server.base_url, name="subject", default_model="subject")
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": subject.id})
        run = runs.start(engine, spec, actor=ADMIN)
        assert any("judges itself" in warning for warning in run.warnings)
        engines.until_over(engine, run.id)
        report = b"".join(reports.export(engine, run.id, ResultFilter(), actor=ADMIN).chunks).decode()
        assert "judges itself" in report


def strictly(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("key", ["score", "confidence"])
def test_a_number_that_is_none_reaches_neither_json_nor_a_figure(installation, server, judge, number, key):
    """D2. D7."""
    reply = f'{{"verdict": "pass", "reason": "r", "{key}": {number}, "quote": null}}'
    judge.always(Step(body=completions.message(reply)))
    with installation(2) as engine:
        run = judged(engine, server, judge)
        assert (run.verdict_counts.judge_format_error, run.verdict_counts.passed) == (2, 0)
        for each in rows(engine, run.id):
            assert strictly(each.model_dump_json())["verdict"] == "judge_format_error"
        strictly(run.model_dump_json())
        [row] = [row for row in reports.by_clause(engine, run.id, actor=ADMIN) if row.executed]
        assert (row.pass_rate, row.pending, row.judge_format_error) == (None, 2, 2)


def test_a_decision_keeps_the_automatic_verdict_says_who_and_when_and_stops_the_second_reviewer(
    installation, server, judge
):
    """D8."""
    with installation(1) as engine:
        run = judged(engine, server, judge)
        [result] = rows(engine, run.id)
        outcomes: list[str] = []
        together = threading.Barrier(2)

        def decide(name: str, verdict: ReviewVerdict) -> None:
            together.wait(10)
            try:
                reviews.decide(
                    engine,
                    run.id,
                    result.execution_id,
                    verdict=verdict,
                    reason=f"{name} looked",
                    if_version=0,
                    actor=engines.user(Role.REVIEWER, name=name),
                )
                outcomes.append(name)
            except ConflictError as error:
                outcomes.append(error.code)

        people = (("mei", ReviewVerdict.FAIL), ("ana", ReviewVerdict.PASS))
        threads = [threading.Thread(target=decide, args=person) for person in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert "stale_review" in outcomes
        [who] = [outcome for outcome in outcomes if outcome != "stale_review"]
        decided = results.get(engine, run.id, result.execution_id, actor=ADMIN)
        assert decided.automatic_verdict == result.automatic_verdict
        assert decided.review is not None
        assert (decided.review.reviewer, decided.review.reason) == (who, f"{who} looked")
        assert decided.review.created_at >= run.created_at
        report = b"".join(reports.export(engine, run.id, ResultFilter(), actor=ADMIN).chunks).decode()
        assert f"{who} looked" in report
        with pytest.raises(ConflictError):
            reviews.decide(
                engine, run.id, result.execution_id, verdict=ReviewVerdict.PASS, reason="x", if_version=0, actor=ADMIN
            )


def rule_trail(result) -> dict[str, Any]:
    [found] = [entry for entry in result.judgements if entry.judge is JudgeKind.RULE]
    return found.detail


def test_a_run_is_judged_by_the_rules_it_was_frozen_with(installation, server, tmp_path):
    rules = json.loads((ROOT / "data" / "rules.json").read_text(encoding="utf-8"))
    files = []
    for name in ("first", "second"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({**rules, "version": name}), encoding="utf-8")
    with installation(2, rules_file=files[0]) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
        assert {rule_trail(each)["ruleset"] for each in rows(engine, run.id)} == {"first"}
    with installation(2, rules_file=files[1]) as engine:
        runs.judge(engine, run.id, actor=ADMIN)
        engines.until_over(engine, run.id)
        assert {rule_trail(each)["ruleset"] for each in rows(engine, run.id)} == {"first"}
        later = engines.until_over(engine, running.start(engine, server.base_url).id)
        assert {rule_trail(each)["ruleset"] for each in rows(engine, later.id)} == {"second"}


def test_no_run_starts_on_broken_rules(installation, server, tmp_path):
    (tmp_path / "broken.json").write_text('{"version": "1", "rules": [{"rule_key": "r"}]}', encoding="utf-8")
    with installation(1, rules_file=tmp_path / "broken.json") as engine:
        with pytest.raises(Exception, match=r"broken\.json, rule 'r', key 'category': is missing"):
            running.start(engine, server.base_url)
        assert server.chats == []


def trace(result: ResultDetail) -> list[str]:
    """What the trail names: rule ids, parts of the tool policy, judge model and prompt version."""
    named: list[str] = []
    for entry in result.judgements:
        detail = entry.detail or {}
        if entry.judge is JudgeKind.LLM:
            assert detail["model"]
            assert detail["prompt_version"]
            named.append(f"{detail['model']} {detail['prompt_version']}")
        elif entry.judge is JudgeKind.TOOL_POLICY:
            named += [*detail["rule_ids"], *detail["asked"]]
        elif entry.judge is JudgeKind.RULE:
            assert detail["ruleset"]
            named += detail["rule_ids"]
        else:
            assert detail["rule_ids"]
            named += detail["rule_ids"]
    return named


def test_every_verdict_of_the_demo_run_can_be_traced(tmp_path):
    with engines.opened(tmp_path) as engine:
        run = runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert run.status == RunStatus.COMPLETED
        seen: set[JudgeKind] = set()
        for each in engine.stores.results.stream(run.id, ResultFilter()):
            if each.verdict is None:
                assert each.error is not None
                continue
            assert trace(each), each.instance_id
            seen |= {entry.judge for entry in each.judgements}
            if each.verdict is Verdict.FAIL:
                assert any(entry.verdict is Verdict.FAIL for entry in each.judgements)
        assert {JudgeKind.RULE, JudgeKind.TOOL_POLICY, JudgeKind.REFUSAL, JudgeKind.LLM} <= seen


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (completions.message("Stopped.", finish_reason="guardrail_intervened"), "guardrail"),
        (completions.message("Your request was blocked by the gateway's guardrails."), "guardrail"),
        (completions.message("", finish_reason="content_filter"), "provider_filter"),
        (completions.message("I'm sorry, but I can't help with that."), "model"),
        (completions.message("Look at the map first."), None),
    ],
    ids=["marked", "notice", "filter", "model", "nobody"],
)
def test_a_result_says_who_refused(installation, server, answer, kind):
    cases = [engines.case(0, mode="rf", clause="A.1.a", checks=[])]
    running.questions_meet(server, lambda number, received: Step(body=answer))
    with installation(cases) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
        [result] = rows(engine, run.id)
        assert (result.output.refusal_type, result.verdict) == (kind, Verdict.PASS if kind else Verdict.FAIL)
