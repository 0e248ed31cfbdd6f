"""Creating, steering and ending runs: what happens twice, at once, in the wrong order or with a broken item."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
import time_machine
from sqlalchemy import text

from engine.domain.accounts import Role
from engine.domain.base import utc_now
from engine.domain.runs import RunStatus
from engine.errors import ConflictError, UnavailableError
from engine.services import results, runs
from engine.settings import ROOT
from tests.support import engines, ledger, running
from tests.support.engines import ADMIN
from tests.support.running import SPEC, questions, rows
from tests.support.scripted_server import ScriptedServer, Step

CREATE = """
import sys
from engine.runs import milestones
from engine.services import runs
from tests.support import engines, running
folder, bank, base_url = sys.argv[1:]
from pathlib import Path
with engines.opened(Path(folder), bank_file=Path(bank)) as engine:
    milestones.arm("planned")
    spec = running.SPEC.model_copy(update={"provider_id": int(Path(folder, "provider").read_text())})
    runs.start(engine, spec, actor=engines.ADMIN, idempotency_key="the-same")
"""


def test_another_user_may_use_the_same_key(installation, server):
    """B3."""
    with installation(2) as engine:
        provider = running.provider(engine, server.base_url)
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        people = [engines.user(Role.REVIEWER, user_id=number, name=f"r{number}") for number in (1, 2, 3)]
        made = [runs.start(engine, spec, actor=person, idempotency_key="k") for person in people]
        assert len({run.id for run in made}) == 3
        assert [run.created_by for run in made] == ["r1", "r2", "r3"]
        for run in made:
            engines.until_over(engine, run.id)


@pytest.mark.parametrize("attempt", range(3))
def test_a_crash_between_storing_a_run_and_answering_leaves_one_run(installation, server, tmp_path, attempt):
    """B6."""
    with installation(3) as engine:
        provider = running.provider(engine, server.base_url)
        bank = engine.settings.bank_file
    (tmp_path / "provider").write_text(str(provider.id))
    died = subprocess.run(
        [sys.executable, "-c", CREATE, str(tmp_path), str(bank), server.base_url], cwd=ROOT, check=False, timeout=60
    )
    assert died.returncode == -signal.SIGKILL
    with installation(3) as engine:
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        run = runs.start(engine, spec, actor=ADMIN, idempotency_key="the-same")
        assert runs.page(engine, actor=ADMIN).total == 1
        assert run.status == RunStatus.INTERRUPTED, "the process that ran it has ended; a resume goes on"
        runs.resume(engine, run.id, actor=ADMIN)
        assert engines.until_over(engine, run.id).completed_count == 3
        ledger.require_sound(tmp_path / "platform.db")


def test_a_key_is_forgotten_after_a_day(installation, server):
    """B7."""
    with installation(2) as engine:
        provider = running.provider(engine, server.base_url)
        spec = SPEC.model_copy(update={"provider_id": provider.id})
        first = runs.start(engine, spec, actor=ADMIN, idempotency_key="k")
        engines.until_over(engine, first.id)
        with time_machine.travel(utc_now() + timedelta(hours=23, minutes=59)):
            assert runs.start(engine, spec, actor=ADMIN, idempotency_key="k").id == first.id
        with time_machine.travel(utc_now() + timedelta(hours=24, minutes=1)):
            other = runs.start(engine, spec.model_copy(update={"note": "new"}), actor=ADMIN, idempotency_key="k")
            assert other.id != first.id
            engines.until_over(engine, other.id)


@pytest.mark.parametrize("attempt", range(3))
def test_two_who_resume_at_once_get_one_worker(installation, server, tmp_path, attempt):
    """B9."""
    with installation(12) as engine:
        refusing = [True]
        running.questions_meet(server, lambda place, _: Step(status=401) if place >= 4 and refusing[0] else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        asked = len(questions(server))
        refusing[0] = False
        together = threading.Barrier(2)
        outcomes = []

        def resume(person):
            together.wait()
            try:
                outcomes.append(runs.resume(engine, run.id, actor=person).id)
            except ConflictError as error:
                outcomes.append(error.code)

        people = [engines.user(Role.REVIEWER, name=name) for name in ("one", "two")]
        threads = [threading.Thread(target=resume, args=[person]) for person in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, outcomes)) == [str(run.id), "run_not_resumable"]
        assert engines.until_over(engine, run.id).completed_count == 12
        assert len(questions(server)) - asked == 12 - run.completed_count
        assert ledger.read(tmp_path / "platform.db", run.id).answered == 12


def test_a_cancelled_run_makes_no_call_for_items_that_wait_to_be_repeated(installation, tmp_path):
    """B12."""
    slow = {"request_retry_count": 9, "request_retry_delay_seconds": 30, "request_retry_max_delay_seconds": 31}
    with ScriptedServer(capable=True) as server, installation(30, **slow) as engine:
        running.questions_meet(server, lambda place, _: Step(status=500) if place >= 4 else None)
        run = running.start(engine, server.base_url)
        while len(questions(server)) < 12:
            time.sleep(0.01)
        asked = len(questions(server))
        runs.cancel(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert run.status == RunStatus.CANCELLED and run.completed_count == 4 and run.error_count == 0
        assert len(questions(server)) == asked
        kept = ledger.read(tmp_path / "platform.db", run.id)
        assert (kept.succeeded, kept.pending) == (4, 26)


def test_a_cancelled_conversation_is_not_carried_on(installation, tmp_path):
    """B12."""
    turns = [{"text": f"Question number {n}?"} for n in range(4)]
    with (
        ScriptedServer(capable=True, latency_s=0.4) as server,
        installation([engines.case(0, mode="multi_turn", turns=turns)]) as engine,
    ):
        run = running.start(engine, server.base_url)
        while not questions(server):
            time.sleep(0.01)
        runs.cancel(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert run.status == RunStatus.CANCELLED
        assert len(server.chats[-1].json["messages"]) == 1, "the second turn was never sent"
        assert ledger.read(tmp_path / "platform.db", run.id).pending == 1


def test_the_same_question_five_times_gives_five_results_and_one_model_configured_twice_two_runs(installation, server):
    """B17."""
    same = [engines.case(number, turns=[{"text": "Question number 1: the same?"}]) for number in range(5)]
    with installation(same) as engine:
        made = []
        for name in ("first", "second"):
            provider = running.provider(engine, server.base_url, name=name)
            spec = SPEC.model_copy(update={"provider_id": provider.id})
            made.append(engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id))
        assert [run.completed_count for run in made] == [5, 5]
        ids = [each.execution_id for run in made for each in rows(engine, run.id)]
        assert len(set(ids)) == 10
        assert len(questions(server)) == 10


def test_an_item_that_raises_what_nobody_foresaw_fails_alone_with_class_and_message(installation, server, tmp_path):
    """B19."""
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
    cases += [engines.case(number) for number in range(1, 6)]
    bank = engines.write_bank(tmp_path / "bank", cases, [fixture])
    with engines.opened(tmp_path, bank_file=bank) as engine:
        broken = [True]
        running.questions_meet(server, lambda place, _: Step(status=400) if broken[0] else None)
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
        assert (run.status, run.error_count) == (RunStatus.COMPLETED, 6)
        broken[0] = False
        with engine.database.writing() as connection:  # what only a damaged database can bring about
            connection.execute(text("UPDATE runs SET fixtures = '[]'"))
        runs.retry_errors(engine, run.id, actor=ADMIN)
        run = engines.until_over(engine, run.id)
        assert (run.status, run.completed_count, run.error_count) == (RunStatus.COMPLETED, 5, 1)
        (failed,) = rows(engine, run.id, execution_status="error")
        assert failed.instance_id == "case-00000" and failed.error.code == "internal_error"
        assert failed.error.message == "unexpected KeyError: 'letter'"
        assert failed.verdict is None
        history = results.get(engine, run.id, failed.execution_id, actor=ADMIN).attempts_history
        assert [each.error.code for each in history] == ["bad_request", "internal_error"]


def test_a_run_that_cannot_be_handed_to_the_engine_is_what_it_was(installation, server):
    with installation(3) as engine:
        running.questions_meet(server, lambda place, _: Step(status=400) if place == 1 else None)
        run = engines.until_over(engine, running.start(engine, server.base_url, max_concurrency=1).id)
        assert run.error_count == 1
        engine.worker.stop()
        for steer in (runs.retry_errors, runs.judge):
            with pytest.raises(UnavailableError):
                steer(engine, run.id, actor=ADMIN)
            again = engine.stores.runs.get(run.id)
            assert (again.status, again.error_count) == (RunStatus.COMPLETED, 1)
        with pytest.raises(UnavailableError):
            running.start(engine, server.base_url)
        newest = engine.stores.runs.page(limit=1, offset=0).items[0]
        assert newest.status == RunStatus.INTERRUPTED and "resume" in newest.error


def test_nothing_is_handed_to_an_engine_that_is_being_stopped(installation):
    with ScriptedServer(capable=True) as server, installation(3) as engine:
        running.questions_meet(server, lambda place, _: Step(hang=True))
        hanging = running.start(engine, server.base_url, timeout_s=60.0)
        while not questions(server):
            time.sleep(0.01)
        stopping = threading.Thread(target=engine.worker.stop)
        stopping.start()  # and takes seconds, because calls are under way
        while not engine.worker._stop_requested.is_set():
            time.sleep(0.01)
        with pytest.raises(UnavailableError) as refused:
            running.start(engine, server.base_url)
        assert refused.value.code == "engine_stopped"
        stopping.join()
        ended = engine.stores.runs.page(limit=2, offset=0).items
        assert [run.status for run in ended] == [RunStatus.INTERRUPTED] * 2 and ended[1].id == hanging.id


def test_a_run_that_ends_while_somebody_asks_for_its_end_is_what_it_ended_as(installation, server, monkeypatch):
    with installation(2) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url).id)
    with installation(2, run_worker=False) as looking:
        store = looking.stores.runs
        store.set_status(run.id, RunStatus.RUNNING)  # so it stood a moment ago, when its process was there
        ask = store.request_cancel

        def ask_and_miss_the_end(run_id):
            ask(run_id)
            store.set_status(run_id, RunStatus.COMPLETED)

        monkeypatch.setattr(store, "request_cancel", ask_and_miss_the_end)
        assert runs.cancel(looking, run.id, actor=ADMIN).status == RunStatus.COMPLETED
        assert store.get(run.id).status == RunStatus.COMPLETED


def test_a_run_that_is_cancelled_while_it_is_probed_asks_nothing_and_is_probed_again(installation):
    with ScriptedServer(capable=True) as server, installation(4) as engine:
        server.always(Step(hang=True))
        started = running.start(engine, server.base_url, timeout_s=60.0)
        while not server.chats:
            time.sleep(0.01)
        assert runs.get(engine, started.id, actor=ADMIN).status == RunStatus.PROBING
        runs.cancel(engine, started.id, actor=ADMIN)
        run = engines.until_over(engine, started.id)
        assert (run.status, run.capabilities, questions(server)) == (RunStatus.CANCELLED, {}, [])
        server.always(None)
        runs.resume(engine, started.id, actor=ADMIN)
        run = engines.until_over(engine, started.id)
        assert (run.status, run.completed_count, run.capabilities["chat"]) == (RunStatus.COMPLETED, 4, True)


def test_a_model_that_answers_under_another_name_is_noted_once(installation, server):
    with installation(6) as engine:
        run = engines.until_over(engine, running.start(engine, server.base_url, model="asked-for").id)
        assert not [warning for warning in run.warnings if "answered as" in warning]
        usual = server._answer
        server._answer = lambda request: usual(request) | {"model": "another"}
        run = engines.until_over(engine, running.start(engine, server.base_url, model="asked-for").id)
        assert len([warning for warning in run.warnings if "'asked-for'" in warning and "'another'" in warning]) == 1
