"""Sixteen threads read and write during a run. Five minutes of it: `make bench`."""

from __future__ import annotations

from tests.support import engines, ledger
from tests.support.mixed_load import mixed_load
from tests.support.scripted_server import ScriptedServer

SECONDS = 3.0


def test_a12_sixteen_threads_read_and_write_during_runs_and_nobody_is_turned_away(tmp_path):
    """A12."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(60)])
    with (
        ScriptedServer(capable=True, latency_s=0.02) as server,
        engines.opened(tmp_path, bank_file=bank, log_level_test="WARNING") as engine,
    ):
        load = mixed_load(engine, server.base_url, seconds=SECONDS)
    assert load.faults == ()
    assert load.reads > 0 and load.writes > 0
    for run_id in range(1, load.runs + 1):
        now = ledger.read(tmp_path / "platform.db", run_id)
        assert (now.status, now.succeeded) == ("completed", 60)
    ledger.require_sound(tmp_path / "platform.db")
