"""The engine's threads die while the process lives on."""

from __future__ import annotations

import time

import pytest

from engine.domain.runs import RunSpec
from engine.errors import UnavailableError
from engine.services import health, runs
from engine.services.runs import resume
from tests.support import engines, ledger
from tests.support.scripted_server import ScriptedServer, Step


@pytest.fixture
def engine(tmp_path):
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(8)])
    with engines.opened(tmp_path, bank_file=bank) as opened:
        yield opened


def stop_the_loop(engine) -> None:
    """As an error below asyncio would; the thread ends without having been asked to."""
    loop = engine.worker.require_alive()
    loop.call_soon_threadsafe(loop.stop)
    deadline = time.monotonic() + 30
    while engine.worker.is_alive:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_j6_a_dead_engine_is_ill_health_and_its_runs_are_interrupted_with_the_way_out(engine, tmp_path):
    """J6."""
    with ScriptedServer(capable=True) as server:
        server.script(*[Step()] * 7)
        server.always(Step(hang=True))
        endpoint = engines.endpoint(server.base_url, timeout_s=60.0)
        run = runs.start(engine, RunSpec(profile="full", auto_judge=True), actor=engines.ADMIN, endpoint=endpoint)
        deadline = time.monotonic() + 30
        while runs.get(engine, run.id, actor=engines.ADMIN).status != "running":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert health.report(engine).engine == "running"
        stop_the_loop(engine)
        with pytest.raises(UnavailableError, match="restart the server") as ill:
            health.report(engine)
        assert ill.value.code == "engine_stopped"
        seen = runs.progress(engine, run.id, actor=engines.ADMIN)
        assert seen.run.status == "interrupted" and "restart the server" in seen.run.error
        with pytest.raises(UnavailableError, match="restart the server"):
            resume(engine, run.id, actor=engines.ADMIN)
        engine.close()
        assert ledger.read(tmp_path / "platform.db", run.id).status == "interrupted"
        server.always(None)
        with engines.opened(tmp_path, bank_file=engine.settings.bank_file) as restarted:
            resume(restarted, run.id, actor=engines.ADMIN)
            assert engines.until_over(restarted, run.id).completed_count == 8


def test_j6_a_writer_that_has_stopped_is_ill_health(engine):
    """J6."""
    engine._commit.stop()
    with pytest.raises(UnavailableError, match=r"cannot be stored.*restart the server"):
        health.report(engine)
