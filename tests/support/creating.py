"""A run that is stored while its creator dies before it can say so."""

from __future__ import annotations

import signal

from tests.support import ledger
from tests.support.command_line import CommandLine

CREATE = """
import sys
from engine import settings
from engine.assembly import command_line_user, configure_logging, open_engine
from engine.domain.runs import RunSpec
from engine.services import runs

loaded = settings.load()
configure_logging(loaded)
engine = open_engine(loaded, run_worker=True, name="create")
spec = RunSpec(profile="full", auto_judge=False)
run = runs.start(engine, spec, actor=command_line_user(), idempotency_key=sys.argv[3])
print(run.id)
engine.close()
"""


def create_twice(command: CommandLine, key: str) -> None:
    """One try: the first process is killed when the run is stored; asking again with the key gives that run."""
    before = ledger.newest_run(command.database) or 0
    with command.start("-c", CREATE, key, MAGISTRATE_KILL_AT="planned") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and not out, out + err
    run_id = ledger.newest_run(command.database)
    assert run_id == before + 1
    for _ in range(2):
        assert command("-c", CREATE, key).stdout.split() == [str(run_id)]
    assert ledger.newest_run(command.database) == run_id, "no second run"
    assert ledger.read(command.database, run_id).status == "interrupted"
    ledger.require_sound(command.database)
