"""Asking again what failed, or one instance that somebody doubts; earlier attempts stay."""

from __future__ import annotations

import pytest

from engine.domain.accounts import Role
from engine.domain.runs import ExecutionStatus, RunStatus
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import ConflictError, NotFoundError, PermissionDenied
from engine.services import providers, results, reviews, runs
from tests.support import engines, ledger, running
from tests.support.engines import ADMIN
from tests.support.running import questions, rows
from tests.support.scripted_server import ScriptedServer, Step, message, texts


class Moods:
    """Answers that can be broken, by question number, and changed as a whole."""

    def __init__(self, server: ScriptedServer) -> None:
        self.broken: set[int] = set()
        self.text = "Look at the facts first."
        self._default = server._answer
        server._answer = self._answer

    def _answer(self, request):
        said = " ".join(text for _, text in texts(request))
        if "uestion number" not in said:
            return self._default(request)
        number = int(said.split("number ")[1].split(":")[0])
        return {"choices": []} if number in self.broken else message(self.text)


def test_exactly_the_failed_ones_are_asked_again_and_earlier_attempts_are_kept(installation, server, tmp_path):
    """B10, with 3 failed of 10."""
    moods = Moods(server)
    moods.broken = {2, 5, 7}
    with installation(10) as engine:
        first = engines.until_over(engine, running.start(engine, server.base_url).id)
        assert (first.status, first.completed_count, first.error_count) == (RunStatus.COMPLETED, 7, 3)
        before = ledger.read(tmp_path / "platform.db", first.id)
        asked = len(questions(server))
        probed = len(server.chats) - asked
        moods.broken, moods.text = {5}, "Another answer."
        again = runs.retry_errors(engine, first.id, actor=ADMIN)
        assert again.id == first.id and again.status in (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.COMPLETED)
        run = engines.until_over(engine, first.id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 9, 1)
        assert len(questions(server)) - asked >= 3
        assert {text.split(":")[0] for text in questions(server)[asked:]} == {f"Question number {n}" for n in (2, 5, 7)}
        assert len(server.chats) - len(questions(server)) == probed, "what the model can do is known"
        after = ledger.read(tmp_path / "platform.db", first.id)
        assert before.answers.items() <= after.answers.items(), "the answers that were there are byte-identical"
        by_name = {each.instance_id: each for each in rows(engine, run.id)}
        healed = results.get(engine, run.id, by_name["case-00002"].execution_id, actor=ADMIN)
        assert healed.output is not None and healed.output.text == "Another answer." and healed.verdict is not None
        assert [each.execution_status for each in healed.attempts_history] == ["error", "completed"]
        still = results.get(engine, run.id, by_name["case-00005"].execution_id, actor=ADMIN)
        assert [each.execution_status for each in still.attempts_history] == ["error", "error"]
        moods.broken = set()
        runs.retry_errors(engine, run.id, actor=ADMIN)
        assert engines.until_over(engine, run.id).error_count == 0
        with pytest.raises(ConflictError) as refused:
            runs.retry_errors(engine, run.id, actor=ADMIN)
        assert refused.value.code == "nothing_to_retry"
        assert runs.get(engine, run.id, actor=ADMIN).status == RunStatus.COMPLETED


def test_one_result_is_asked_again_and_its_review_stays_with_the_attempt_it_saw(installation, server):
    moods = Moods(server)
    with installation(3) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
        chosen = rows(engine, run.id)[1]
        reviews.decide(
            engine, run.id, chosen.execution_id, verdict=ReviewVerdict.FAIL, reason="no", if_version=0, actor=ADMIN
        )
        asked = len(questions(server))
        moods.text = "Yet another answer."
        runs.retry_one(engine, run.id, chosen.execution_id, actor=ADMIN)
        assert engines.until_over(engine, run.id).status == RunStatus.COMPLETED
        assert len(questions(server)) - asked == 1
        detail = results.get(engine, run.id, chosen.execution_id, actor=ADMIN)
        assert detail.output is not None and detail.output.text == "Yet another answer."
        assert detail.review is None and detail.verdict == detail.automatic_verdict != Verdict.FAIL
        assert [review.attempt for review in detail.reviews] == [1], "the old review stays in the history"
        # A retry that fails leaves the newest answer where it was, and its attempt in the history.
        moods.broken = {1}
        runs.retry_one(engine, run.id, chosen.execution_id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.completed_count, run.error_count) == (3, 0)
        detail = results.get(engine, run.id, chosen.execution_id, actor=ADMIN)
        assert detail.output is not None and detail.output.text == "Yet another answer."
        assert [each.execution_status for each in detail.attempts_history] == ["completed", "completed", "error"]


def test_after_a_retry_a_run_is_completed_only_if_nothing_is_left_unexecuted(installation, server):
    moods = Moods(server)
    moods.broken = {0}
    with installation(12) as engine:
        refusing = [True]
        running.questions_meet(server, lambda place, _: Step(status=401) if place >= 7 and refusing[0] else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.status == RunStatus.INTERRUPTED and run.error_count == 1 and run.error
        refusing[0] = False
        moods.broken = set()
        runs.retry_errors(engine, run.id, actor=ADMIN)
        after = engines.until_over(engine, run.id)
        assert (after.status, after.error, after.error_count) == (RunStatus.INTERRUPTED, run.error, 0)
        assert after.completed_count == run.completed_count + 1 < 12
        runs.resume(engine, run.id, actor=ADMIN)
        assert engines.until_over(engine, run.id).status == RunStatus.COMPLETED


def test_a_run_under_way_is_retried_by_nobody_and_each_item_once(installation):
    """B11."""
    with ScriptedServer(capable=True, latency_s=0.1) as server, installation(6) as engine:
        moods = Moods(server)
        moods.broken = {1, 4}
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=2).id)
        moods.broken = set()
        failed = rows(engine, run.id, execution_status=ExecutionStatus.ERROR)
        asked = len(questions(server))
        runs.retry_errors(engine, run.id, actor=ADMIN)
        for steer in (
            lambda: runs.retry_one(engine, run.id, failed[0].execution_id, actor=ADMIN),
            lambda: runs.retry_errors(engine, run.id, actor=ADMIN),
            lambda: runs.judge(engine, run.id, actor=ADMIN),
        ):
            with pytest.raises(ConflictError) as refused:
                steer()
            assert refused.value.code == "run_not_terminal"
        with pytest.raises(ConflictError) as refused:
            runs.resume(engine, run.id, actor=ADMIN)
        assert refused.value.code == "run_not_resumable"
        run = engines.until_over(engine, run.id)
        assert (run.completed_count, run.error_count) == (6, 0)
        assert sorted(questions(server)[asked:]) == sorted(each.messages[0].text for each in failed)


def test_who_may_not_steer_and_what_is_not_there_is_said(installation, server):
    with installation(2) as engine:
        provider = running.provider(engine, server.base_url)
        spec = running.SPEC.model_copy(update={"provider_id": provider.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        other = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        foreign = rows(engine, other.id)[0].execution_id
        for unknown in (foreign, 10_000):
            with pytest.raises(NotFoundError) as missing:
                runs.retry_one(engine, run.id, unknown, actor=ADMIN)
            assert missing.value.code == "result_not_found"
        for steer in (
            lambda actor: runs.retry_errors(engine, run.id, actor=actor),
            lambda actor: runs.retry_one(engine, run.id, foreign, actor=actor),
            lambda actor: runs.judge(engine, run.id, actor=actor),
        ):
            with pytest.raises(PermissionDenied):
                steer(engines.user(Role.VIEWER))
        for steer in (runs.retry_errors, runs.judge):
            with pytest.raises(NotFoundError):
                steer(engine, 99, actor=ADMIN)
        providers.delete(engine, provider.id, actor=ADMIN)
        with pytest.raises(ConflictError, match="was deleted"):
            runs.retry_one(engine, other.id, foreign, actor=ADMIN)
        actions = [entry.action for entry in engine.stores.audit.page(limit=50, offset=0).items]
        assert "run.retry_one" not in actions, "what is refused is not done"
