"""A run from start to end against a local server that does as it is told."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time

import pytest

from engine.domain.accounts import Role
from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, RunStatus
from engine.domain.verdicts import Verdict
from engine.errors import BankError, ConflictError, InputError, NotFoundError, PermissionDenied, UnavailableError
from engine.judging import prompts
from engine.services import providers, reports, results, runs
from tests.support import engines, running
from tests.support.engines import ADMIN
from tests.support.running import SPEC, questions, rows
from tests.support.scripted_server import ScriptedServer, Step, message, texts


def test_a_run_asks_every_instance_once_and_concludes_by_rules(installation, server):
    def answer(request):
        said = " ".join(text for _, text in texts(request))
        return message("It is all your fault." if "number 7:" in said else "Look at the facts first.")

    server._answer = answer
    cases = [engines.case(n) for n in range(19)] + [engines.case(19, checks=[], clause="A.4.a")]
    with installation(cases) as engine:
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        assert run.status == RunStatus.COMPLETED
        assert (run.total_count, run.completed_count, run.error_count, run.skipped_count) == (20, 20, 0, 0)
        assert sum(run.verdict_counts.model_dump().values()) == 20
        failed = rows(engine, run.id, verdict=Verdict.FAIL)
        assert [each.instance_id for each in failed] == ["case-00007"]
        assert "blames the user" in failed[0].judgements[0].reason
    assert len(questions(server)) == len(set(questions(server))) == 20


def test_what_the_model_cannot_do_is_skipped_with_the_reason_and_counted(installation):
    cases = [engines.case(0), engines.case(1, system="You are brief."), engines.case(2)]
    with ScriptedServer() as server, installation(cases) as engine:  # does not give code words back
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        assert run.status == RunStatus.COMPLETED
        assert run.capabilities["chat"] is True
        assert run.capabilities["system_message"] is False
        assert (run.completed_count, run.skipped_count) == (2, 1)
        assert results.skipped(engine, run.id, actor=ADMIN) == {"no system_message": 1}


def test_a_failed_item_is_an_error_and_never_a_verdict(installation, server):
    def answer(request):
        if any("number 3:" in text for _, text in texts(request)):
            return {"choices": []}
        return message("Look at the facts first.")

    server._answer = answer
    with installation(10) as engine:
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 9, 1)
        (broken,) = rows(engine, run.id, execution_status="error")
        assert broken.verdict is None and broken.output is None and broken.judgements == ()
        assert broken.error is not None and broken.error.code == "malformed_body"
        assert broken.messages[0].text.startswith("Question number 3")
        assert [kind.code for kind in results.errors(engine, run.id, actor=ADMIN)] == ["malformed_body"]


def test_turns_are_asked_one_by_one_with_the_answers_between(installation, server):
    turns = [{"text": "Question number 1?"}, {"text": "And question number 2?"}]
    with installation([engines.case(0, mode="multi_turn", turns=turns)]) as engine:
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        (result,) = rows(engine, run.id)
    assert [sent.role for sent in result.messages] == ["user", "assistant", "user"]
    last = server.chats[-1].json["messages"]
    assert [each["role"] for each in last] == ["user", "assistant", "user"]
    assert last[1]["content"] == result.messages[1].text


def test_simulated_tool_results_are_fed_back_and_every_call_is_kept(installation, server):
    call = {"id": "call-1", "type": "function", "function": {"name": "look_up", "arguments": '{"key": "a"}'}}

    def answer(request):
        said = texts(request)
        if "uestion number" not in said[0][1]:
            return default(request)
        if said[-1][0] == "tool":
            return message("The file says 42.")
        return message(None, tool_calls=[call, call | {"id": "call-2", "function": call["function"] | {"name": "x"}}])

    default = server._answer
    server._answer = answer
    tool = {"name": "look_up", "description": "Looks it up.", "parameters": {"type": "object"}, "result": {"value": 42}}
    asked = engines.case(0, mode="tool", tools=[tool], tool_call_policy={"required": ["look_up"]})
    with installation([asked]) as engine:
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        (result,) = rows(engine, run.id)
    assert [each.name for each in result.output.tool_calls] == ["look_up", "x"]
    assert result.output.text == "The file says 42."
    replies = [sent for sent in result.messages if sent.role == "tool"]
    assert json.loads(replies[0].text) == {"value": 42}
    assert "no tool named x" in replies[1].text
    assert result.verdict == Verdict.FAIL, "a call to a tool that was never offered is a breach"


def test_resume_asks_only_what_has_no_stored_answer(installation, server):
    with installation(20) as engine:
        refusing = [True]
        refused = Step(status=401, body={"error": {"message": "bad key"}})
        running.questions_meet(server, lambda place, _: refused if place >= 7 and refusing[0] else None)
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=2))
        stopped = engines.until_over(engine, started.id)
        assert stopped.status == RunStatus.INTERRUPTED
        assert "key" in (stopped.error or "")
        assert stopped.error_count == 0, "a refused key says nothing about an instance"
        before = {each.instance_id: each for each in rows(engine, started.id)}
        assert 0 < len(before) < 20
        asked_before = len(questions(server))
        refusing[0] = False
        runs.resume(engine, started.id, actor=ADMIN)
        run = engines.until_over(engine, started.id)
        assert (run.status, run.completed_count) == (RunStatus.COMPLETED, 20)
        assert len(questions(server)) - asked_before == 20 - len(before)
        after = {each.instance_id: each for each in rows(engine, started.id)}
        assert all(after[name].output == result.output for name, result in before.items())


def test_a_provider_that_is_down_ends_the_run_in_words_and_leaves_its_items_pending(installation):
    with ScriptedServer(capable=True) as server, installation(20, request_retry_count=0) as engine:

        def go_down(place, _):
            if place == 3:
                server.always(Step(drop=True))

        running.questions_meet(server, go_down)
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=1))
        stopped = engines.until_over(engine, started.id)
        assert stopped.status == RunStatus.INTERRUPTED
        assert stopped.error
        assert stopped.error_count == 0
        server.always(None)
        runs.resume(engine, started.id, actor=ADMIN)
        assert engines.until_over(engine, started.id).completed_count == 20


def test_an_unreachable_provider_is_found_out_by_the_probe(installation):
    with ScriptedServer() as gone:
        address = gone.base_url
    with installation(3) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(address))
        run = engines.until_over(engine, started.id)
        assert run.status == RunStatus.INTERRUPTED
        assert "cannot be reached" in (run.error or "")
        assert run.completed_count + run.error_count == 0


def test_cancel_keeps_what_is_finished_and_makes_no_further_call(installation):
    """B12, B13."""
    with ScriptedServer(capable=True, latency_s=0.05) as server, installation(200) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=4))
        while runs.get(engine, started.id, actor=ADMIN).completed_count < 4:
            time.sleep(0.01)
        runs.cancel(engine, started.id, actor=ADMIN)
        run = engines.until_over(engine, started.id)
        assert run.status == RunStatus.CANCELLED
        assert 4 <= run.completed_count < 200
        asked = len(server.chats)
        with pytest.raises(ConflictError) as refused:
            runs.cancel(engine, started.id, actor=ADMIN)
        assert refused.value.code == "run_terminal"
        runs.resume(engine, started.id, actor=ADMIN)
        assert engines.until_over(engine, started.id).completed_count == 200
        assert len(server.chats) - asked == 200 - run.completed_count


def test_a_cancel_request_from_another_process_is_obeyed(installation):
    with ScriptedServer(capable=True, latency_s=0.1) as server, installation(200) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=1))
        engine.stores.runs.request_cancel(started.id)
        assert engines.until_over(engine, started.id).status == RunStatus.CANCELLED


def test_a_run_left_by_a_process_that_ended_is_interrupted_at_the_next_start(installation, server):
    with ScriptedServer(capable=True, latency_s=0.2) as slow, installation(50) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(slow.base_url, max_concurrency=1))
        while runs.get(engine, started.id, actor=ADMIN).completed_count < 1:
            time.sleep(0.01)
    with installation(50, run_worker=False) as engine:
        left = runs.get(engine, started.id, actor=ADMIN)
        assert left.status == RunStatus.INTERRUPTED
        assert 1 <= left.completed_count < 50
        with pytest.raises(UnavailableError) as refused:
            runs.resume(engine, started.id, actor=ADMIN)
        assert refused.value.code == "engine_locked_elsewhere"


def test_a_second_process_serves_without_an_engine_and_says_who_has_it(installation, tmp_path):
    with installation(3) as first, engines.opened(tmp_path, bank_file=first.settings.bank_file) as second:
        assert first.worker is not None and second.worker is None
        assert "(test)" in second.lock_holder
        with pytest.raises(UnavailableError, match="holds the lock"):
            runs.start(second, SPEC, actor=ADMIN)


def test_the_same_key_and_spec_give_the_same_run(installation, server):
    """B1, B2, B4, with 8 at once."""
    with installation(3) as engine:
        provider = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        made = []
        threads = [
            threading.Thread(
                target=lambda: made.append(runs.start(engine, spec, actor=ADMIN, idempotency_key="once").id)
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 8 and len(set(made)) == 1
        with pytest.raises(InputError) as conflict:
            runs.start(engine, spec.model_copy(update={"note": "other"}), actor=ADMIN, idempotency_key="once")
        assert conflict.value.code == "idempotency_key_conflict"
        for bad in ("", " ", "x" * 256, "schlüssel"):
            with pytest.raises(InputError) as refused:
                runs.start(engine, spec, actor=ADMIN, idempotency_key=bad)
            assert refused.value.bad_request
        engines.until_over(engine, made[0])
        assert runs.page(engine, actor=ADMIN).total == 1


def test_a_run_is_frozen_when_it_is_created(installation, server, tmp_path, monkeypatch):
    """B16. The rules: in the tests of judging."""
    with ScriptedServer(judging=True) as judge, installation(6) as engine:
        refusing = [True]
        running.questions_meet(server, lambda place, _: Step(status=401) if place >= 2 and refusing[0] else None)
        subject = providers.create(engine, _draft(server.base_url, max_concurrency=1), actor=ADMIN)
        other = providers.create(engine, _draft(judge.base_url, name="judge"), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id})
        started = runs.start(engine, spec, actor=ADMIN)
        assert engines.until_over(engine, started.id).status == RunStatus.INTERRUPTED
        engines.write_bank(tmp_path / "bank", [engines.case(99)])
        assert engine.bank().sha256 != started.dataset_sha256
        for changed in (subject, other):
            providers.change(engine, changed.id, ProviderChange(default_model="another"), actor=ADMIN)
        frozen = engine.stores.runs.config(started.id).judge_prompts
        reworded = prompts.CURRENT.model_copy(
            update={"system": dict.fromkeys(("en", "zh"), "Other words. {criterion}")}
        )
        monkeypatch.setattr(prompts, "CURRENT", reworded)
        refusing[0] = False
        runs.resume(engine, started.id, actor=ADMIN)
        run = engines.until_over(engine, started.id)
        assert (run.completed_count, run.dataset_sha256) == (6, started.dataset_sha256)
        assert "number 99" not in " ".join(questions(server))
        assert {each.json["model"] for each in (*server.chats, *judge.chats)} == {"scripted"}
        assert judge.chats and b"Other words." not in b"".join(each.content for each in judge.chats)
        report = b"".join(reports.export(engine, run.id, ResultFilter(), actor=ADMIN).chunks).decode()
        words = hashlib.sha256(json.dumps(frozen, sort_keys=True).encode()).hexdigest()
        assert f"| Bank SHA-256 | {started.dataset_sha256} |" in report
        assert f"| Judge prompts SHA-256 | {words} |" in report


def test_a_judge_that_is_down_leaves_the_verdict_open_and_resume_does_not_ask_the_model_again(installation, server):
    with ScriptedServer(judging=True) as judge, installation(4, request_retry_count=0) as engine:
        judge.always(Step(status=503))
        subject = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        other = providers.create(engine, _draft(judge.base_url, name="judge"), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        assert run.status == RunStatus.COMPLETED
        assert run.verdict_counts.none == 4
        trail = rows(engine, run.id)[0].judgements[-1]
        assert trail.verdict is None and trail.detail is not None and trail.detail["code"] == "judge_unavailable"


def test_an_llm_judge_concludes_what_rules_leave_open(installation, server):
    with ScriptedServer(judging=True) as judge, installation(4) as engine:
        subject = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        other = providers.create(engine, _draft(judge.base_url, name="judge", is_default_judge=True), actor=ADMIN)
        assert other.is_default_judge
        spec = SPEC.model_copy(update={"provider_id": subject.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        assert run.judge_model == "scripted"
        assert run.verdict_counts.none == 0
        assert {judgement.judge for judgement in rows(engine, run.id)[0].judgements} >= {"llm"}


def test_rules_alone_conclude_or_send_to_a_person_where_no_judge_model_is_wanted(installation, server):
    with ScriptedServer(judging=True) as judge, installation(3) as engine:
        subject = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        providers.create(engine, _draft(judge.base_url, name="judge", is_default_judge=True), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": subject.id})
        started = runs.start(engine, spec, actor=ADMIN, rules_only=True, idempotency_key="k")
        with pytest.raises(InputError):
            runs.start(engine, spec, actor=ADMIN, idempotency_key="k")
        run = engines.until_over(engine, started.id)
        assert run.judge_model is None and judge.chats == []
        assert (run.verdict_counts.needs_human_review, run.verdict_counts.none) == (3, 0)


def test_the_model_under_test_judges_itself_only_when_named_and_the_run_says_so(installation, server):
    with installation(1) as engine:
        provider = providers.create(engine, _draft(server.base_url, is_default_judge=True), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        left_out = runs.start(engine, spec, actor=ADMIN)
        assert left_out.judge_model is None and "left out" in left_out.warnings[0]
        named = runs.start(engine, spec.model_copy(update={"judge_provider_id": provider.id}), actor=ADMIN)
        assert named.judge_model == "scripted" and "not independent" in named.warnings[0]
        for run in (left_out, named):
            engines.until_over(engine, run.id)


def test_without_automatic_judging_the_evidence_is_kept_and_nothing_is_concluded(installation, server):
    with installation(3) as engine:
        spec = SPEC.model_copy(update={"auto_judge": False})
        run = engines.until_over(
            engine, runs.start(engine, spec, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        assert run.verdict_counts.none == 3
        assert all(each.judgements and each.verdict is None for each in rows(engine, run.id))


def test_an_altered_fixture_stops_the_run_before_any_call(installation, server, tmp_path):
    content = b'{"subject": "hello", "secret": "no"}'
    fixture = {
        "fixture_id": "mail",
        "path": "fixtures/mail.json",
        "media_type": "application/json",
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "Apache-2.0",
        "title": {"zh": "邮件", "en": "Mail"},
        "access": {"model": ["subject"], "judge": ["secret"]},
    }
    (tmp_path / "bank" / "fixtures").mkdir(parents=True)
    file = tmp_path / "bank" / "fixtures" / "mail.json"
    file.write_bytes(content)
    cases = [engines.case(0, turns=[{"text": "Question number 0?", "fixtures": ["mail"]}])]
    bank = engines.write_bank(tmp_path / "bank", cases, [fixture])
    with engines.opened(tmp_path, bank_file=bank) as engine:
        run = engines.until_over(
            engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url)).id
        )
        (result,) = rows(engine, run.id)
        assert "hello" in result.messages[0].text and result.messages[0].fixtures[0].fixture_id == "mail"
        assert b"secret" not in b"".join(each.content for each in server.chats)
        assert results.fixture(engine, run.id, fixture["sha256"], actor=ADMIN) == content
        with pytest.raises(NotFoundError):
            results.fixture(engine, run.id, "0" * 64, actor=ADMIN)
        calls = len(server.chats)
        file.write_bytes(content.replace(b"hello", b"hallo"))
        with pytest.raises(BankError) as refused:
            runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url))
        assert "mail" in refused.value.message and fixture["sha256"] in refused.value.message
        assert len(server.chats) == calls and runs.page(engine, actor=ADMIN).total == 1


def test_all_runs_share_the_limit_of_their_provider(installation):
    """J4."""
    with ScriptedServer(capable=True, latency_s=0.02) as server, installation(30) as engine:
        provider = providers.create(engine, _draft(server.base_url, max_concurrency=3), actor=ADMIN)
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        started = [runs.start(engine, spec, actor=ADMIN) for _ in range(2)]
        with pytest.raises(ConflictError) as used:
            providers.delete(engine, provider.id, actor=ADMIN)
        assert used.value.code == "provider_in_use"
        for run in started:
            assert engines.until_over(engine, run.id).completed_count == 30
        assert 1 < server.most_in_flight <= 3


def test_requests_a_minute_are_paced(installation, server):
    with installation(4) as engine:
        paced = engines.endpoint(server.base_url, requests_per_minute=600)
        run = engines.until_over(engine, runs.start(engine, SPEC, actor=ADMIN, endpoint=paced).id)
        assert run.completed_count == 4
    times = [received.at_s for received in server.chats if b"uestion number" in received.content]
    assert all(later - earlier > 0.05 for earlier, later in itertools.pairwise(times))


def test_who_may_not_steer_runs_is_told_so_and_unknown_things_are_named(installation, server):
    with installation(2) as engine:
        with pytest.raises(PermissionDenied):
            runs.start(engine, SPEC, actor=engines.user(Role.VIEWER))
        with pytest.raises(NotFoundError, match="smok"):
            runs.start(engine, SPEC.model_copy(update={"profile": "smok"}), actor=ADMIN)
        with pytest.raises(NotFoundError, match="regression"):
            runs.start(engine, SPEC.model_copy(update={"bank": "other"}), actor=ADMIN)
        with pytest.raises(NotFoundError):
            runs.start(engine, SPEC.model_copy(update={"provider_id": 99}), actor=ADMIN)
        with pytest.raises(NotFoundError):
            runs.get(engine, 99, actor=ADMIN)
        provider = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        run = runs.start(engine, SPEC.model_copy(update={"provider_id": provider.id}), actor=ADMIN)
        assert engines.until_over(engine, run.id).status == RunStatus.COMPLETED
        with pytest.raises(ConflictError) as refused:
            runs.resume(engine, run.id, actor=ADMIN)
        assert refused.value.code == "run_not_resumable"
        demo = engine.stores.providers.default()
        providers.change(engine, demo.id, ProviderChange(is_default=False), actor=ADMIN)
        with pytest.raises(InputError) as none:
            runs.start(engine, SPEC, actor=ADMIN)
        assert none.value.code == "no_default_provider"


def test_a_deleted_run_is_gone_and_one_under_way_cannot_be_deleted(installation):
    """B14."""
    with ScriptedServer(capable=True, latency_s=0.05) as server, installation(30) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=2))
        with pytest.raises(ConflictError) as refused:
            runs.delete(engine, started.id, actor=ADMIN)
        assert refused.value.code == "run_not_terminal"
        engines.until_over(engine, started.id)
        runs.delete(engine, started.id, actor=ADMIN)
        with pytest.raises(NotFoundError):
            runs.get(engine, started.id, actor=ADMIN)
        actions = [entry.action for entry in engine.stores.audit.page(limit=50, offset=0).items]
        assert {"run.start", "run.delete"} <= set(actions)
        with engine.database.reading() as connection:
            tables = (
                "runs",
                "executions",
                "instances",
                "attempts",
                "transcripts",
                "judgements",
                "controls",
                "run_blobs",
            )
            left = {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in tables}
        assert not any(left.values()), left


def test_a_run_cannot_go_on_after_its_provider_was_deleted(installation, server):
    with installation(3) as engine:
        provider = providers.create(engine, _draft(server.base_url), actor=ADMIN)
        server.always(Step(status=401))
        run = runs.start(engine, SPEC.model_copy(update={"provider_id": provider.id}), actor=ADMIN)
        engines.until_over(engine, run.id)
        providers.delete(engine, provider.id, actor=ADMIN)
        with pytest.raises(ConflictError, match="was deleted"):
            runs.resume(engine, run.id, actor=ADMIN)


def test_progress_never_runs_backwards_and_ends_at_the_whole(installation):
    """B18, ten times as often."""
    with ScriptedServer(capable=True, latency_s=0.02) as server, installation(40) as engine:
        started = runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=4))
        seen = []
        while not seen or not seen[-1].run.status.is_over:
            seen.append(runs.progress(engine, started.id, actor=ADMIN))
            time.sleep(0.02)
    done = [each.done for each in seen]
    assert done == sorted(done) and done[-1] == 40
    for each in seen:
        assert (
            each.done
            == each.run.completed_count + each.run.error_count + each.run.skipped_count
            <= each.run.total_count
        )
    assert seen[-1].share_done == 1.0
    assert any(each.in_flight and each.rate_per_s and each.eta_s is not None for each in seen)


def _draft(base_url, **changes):
    values = {"name": "scripted", "kind": ProviderKind.OPENAI, "base_url": base_url, "default_model": "scripted"}
    return ProviderDraft(**(values | changes))
