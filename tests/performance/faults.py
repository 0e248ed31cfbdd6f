"""C20: a fifth of all calls meets a passing fault; the run ends by itself and nothing is lost or bought twice."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from engine.domain.runs import RunSpec
from engine.services import runs
from tests.performance.figures import Figure, finish
from tests.performance.processes import model_server
from tests.support import engines

INSTANCES, IN_FLIGHT, RATE = 1000, 8, 0.2
LATENCY_MS = 20
TIMEOUT_S = 3.0
"""Of a call; a sixth of the faults is a call that hangs. Long enough for a good answer on a busy machine."""
PATIENCE_S = 600.0
MOST_PROBES = 20
"""Calls that belong to no instance."""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, model_server(LATENCY_MS, "--fault-rate", str(RATE)) as server:
        folder = Path(name)
        bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(INSTANCES)])
        with engines.opened(folder, bank_file=bank, request_retry_count=5) as engine:
            endpoint = engines.endpoint(server.base_url, max_concurrency=IN_FLIGHT, timeout_s=TIMEOUT_S)
            began = time.monotonic()
            started = runs.start(
                engine, RunSpec(profile="full", auto_judge=True), actor=engines.ADMIN, endpoint=endpoint
            )
            run = engines.until_over(engine, started.id, patience_s=PATIENCE_S)
            wall_s = time.monotonic() - began
            with engine.database.reading() as connection:

                def one(question: str) -> int:
                    return int(connection.exec_driver_sql(question).scalar_one())

                planned, answered = one("SELECT count(*) FROM executions"), run.completed_count
                failed, pending = run.error_count, one("SELECT count(*) FROM executions WHERE attempts = 0")
                calls = one("SELECT sum(tries) FROM attempts")
                broken = one("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
        counted = server.stats()
    answers = counted["answered_by_digest"].values()
    finish(
        f"faults: {RATE:.0%} of all calls, {INSTANCES:,} instances, {IN_FLIGHT} in flight",
        [
            Figure("ended by itself, completed (1: yes)", run.status == "completed", "", 1, at_least=True),
            Figure("answered", answered / INSTANCES * 100, "%", 99, at_least=True),
            Figure("planned - answered - failed - pending", abs(planned - answered - failed - pending), "", 0),
            Figure("whole answers bought twice", sum(count - 1 for count in answers), "", 0),
            Figure("whole answers that no instance and no probe has", len(answers) - answered, "", MOST_PROBES),
            Figure("calls that the store does not know", counted["requests"] - calls, "", 2 * MOST_PROBES),
            Figure("faults of the database's own check", broken, "", 0),
            Figure("calls an instance", counted["requests"] / INSTANCES),
            Figure("wall", wall_s, "s"),
        ],
    )


if __name__ == "__main__":
    main()
