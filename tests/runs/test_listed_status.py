"""The list of runs is filtered by the status it shows, also where the store does not know yet that a run has ended."""

from __future__ import annotations

from engine.domain.runs import ExecutionStatus, ResultFilter, RunStatus
from engine.services import reports, runs
from tests.runs.test_outages import until
from tests.support import engines, running
from tests.support.engines import ADMIN
from tests.support.scripted_server import ScriptedServer, Step


def listed(engine, status, **where):
    page = runs.page(engine, actor=ADMIN, status=status, **where)
    assert all(run.status == status for run in page.items)
    return [run.id for run in page.items], page.total


def left_as(folder, stored, server):
    """Runs whose process has died while it worked on them: the store still says what they were."""
    bank = engines.write_bank(folder / "bank", [engines.case(0)])
    with engines.opened(folder, bank_file=bank) as engine:
        made = [engines.until_over(engine, running.start(engine, server.base_url).id).id for _ in stored]
        for run_id, status in zip(made, stored, strict=True):
            engine.stores.runs.set_status(run_id, status)
    return bank, made


def test_a_run_whose_process_has_died_is_found_among_the_interrupted_ones(tmp_path, server):
    stored = [RunStatus.RUNNING, RunStatus.COMPLETED, RunStatus.INTERRUPTED, RunStatus.PROBING, RunStatus.PENDING]
    bank, (running_one, done, interrupted, probing, pending) = left_as(tmp_path, stored, server)
    with engines.opened(tmp_path, bank_file=bank, run_worker=False) as engine:
        newest_first = [pending, probing, interrupted, running_one]
        assert listed(engine, RunStatus.INTERRUPTED) == (newest_first, 4)
        assert listed(engine, RunStatus.INTERRUPTED, limit=2, offset=1) == (newest_first[1:3], 4)
        assert listed(engine, RunStatus.INTERRUPTED, profile="smoke") == ([], 0)
        assert listed(engine, RunStatus.COMPLETED) == ([done], 1)
        for status in (RunStatus.RUNNING, RunStatus.PROBING, RunStatus.PENDING):
            assert listed(engine, status) == ([], 0)
        assert runs.page(engine, actor=ADMIN).total == 5
        with engines.opened(tmp_path, bank_file=bank):
            pass  # somebody takes over, and the store says the same
        assert listed(engine, RunStatus.INTERRUPTED) == (newest_first, 4)


def test_what_is_shown_as_over_has_a_report(tmp_path, server):
    bank, (run_id,) = left_as(tmp_path, [RunStatus.RUNNING], server)
    with engines.opened(tmp_path, bank_file=bank, run_worker=False) as engine:
        assert runs.get(engine, run_id, actor=ADMIN).status == RunStatus.INTERRUPTED
        wanted = ResultFilter(execution_status=ExecutionStatus.COMPLETED)
        text = b"".join(reports.export(engine, run_id, wanted, actor=ADMIN).chunks)
    assert b"interrupted" in text


def test_while_somebody_works_on_it_a_run_is_what_the_store_says(tmp_path):
    bank = engines.write_bank(tmp_path / "bank", [engines.case(0)])
    with ScriptedServer(capable=True) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        running.questions_meet(server, lambda _n, _asked: Step(hang=True))
        run = running.start(engine, server.base_url, timeout_s=60)
        until(lambda: runs.get(engine, run.id, actor=ADMIN).status == RunStatus.RUNNING)
        with engines.opened(tmp_path, bank_file=bank, run_worker=False) as beside:
            for each in (engine, beside):
                assert listed(each, RunStatus.RUNNING) == ([run.id], 1)
                assert listed(each, RunStatus.INTERRUPTED) == ([], 0)
