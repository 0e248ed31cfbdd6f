"""One load on the engine, in this process; prints its figures as JSON. `loads` and `judging` start it.

    python -m tests.performance.load --bank FILE --base-url URL --in-flight 64 [--judge-url URL]

Wall is from the last moment before the run's status became `running` (so planning and probing are not in it; they are
told apart as `before_s`) to the finish that the run itself names. CPU is this process's from the request to start the
run to the moment its end is seen, planning and probing included.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from engine.assembly import Engine
from engine.domain.base import utc_now
from engine.domain.providers import ProviderDraft, ProviderKind
from engine.domain.runs import RunSpec
from engine.services import providers, runs
from tests.performance.processes import memory_mb
from tests.support import engines

WATCH_START_S = 0.005
WATCH_END_S = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one load.")
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--judge-url", help="a model that judges every answer; default: rules alone")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    with tempfile.TemporaryDirectory() as folder:
        # Not counted: what the first run of a process imports and the server's first look at the probes' pictures.
        warm_up = engines.write_bank(Path(folder) / "warm-up", [engines.case(0)])
        _measure(Path(folder) / "0", warm_up, options.base_url, 1, options.judge_url)
        figures = _measure(Path(folder) / "1", options.bank, options.base_url, options.in_flight, options.judge_url)
    print(json.dumps({**figures, "peak_mb": memory_mb(os.getpid(), "VmHWM")}))


def _measure(folder: Path, bank: Path, base_url: str, in_flight: int, judge_url: str | None) -> dict[str, Any]:
    folder.mkdir()
    with engines.opened(folder, bank_file=bank, request_timeout_seconds=30) as engine:
        judge = _judge(engine, judge_url, in_flight) if judge_url is not None else None
        spec = RunSpec(profile="full", auto_judge=True, judge_provider_id=judge)
        endpoint = engines.endpoint(base_url, max_concurrency=in_flight, timeout_s=30)
        engine.bank()
        before_mb = memory_mb(os.getpid())
        cpu = time.process_time()
        started = runs.start(engine, spec, actor=engines.ADMIN, endpoint=endpoint)
        not_running = utc_now()
        while (status := _status(engine, started.id)) in ("pending", "probing"):
            not_running = utc_now()
            time.sleep(WATCH_START_S)
        while status == "running":
            time.sleep(WATCH_END_S)
            status = _status(engine, started.id)
        cpu = time.process_time() - cpu
        run = runs.get(engine, started.id, actor=engines.ADMIN)
        if run.status != "completed" or run.completed_count + run.skipped_count != run.total_count:
            raise SystemExit(f"the run did not complete: {run.model_dump_json()}")
        assert run.finished_at is not None
        return {
            "instances": run.completed_count,
            "calls": _one(engine, "SELECT sum(tries) FROM attempts"),
            "opinions": _one(engine, "SELECT count(*) FROM judgements WHERE judge = 'llm'"),
            "before_s": _seconds(run.created_at, not_running),
            "wall_s": _seconds(not_running, run.finished_at),
            "cpu_s": cpu,
            "grown_mb": memory_mb(os.getpid(), "VmHWM") - before_mb,
            "commits": engine._commit.commits if engine._commit is not None else 0,
            "synchronous": engine.database.facts()["synchronous"],
        }


def _judge(engine: Engine, url: str, in_flight: int) -> int:
    draft = ProviderDraft(
        name="judge",
        kind=ProviderKind.OPENAI,
        base_url=url,
        default_model="judge",
        max_concurrency=in_flight,
        timeout_seconds=30,
    )
    return providers.create(engine, draft, actor=engines.ADMIN).id


def _status(engine: Engine, run_id: int) -> str:
    # One cell instead of the whole run with its counts: watching must not become part of what is measured.
    return str(_one(engine, f"SELECT status FROM runs WHERE id = {run_id}"))


def _one(engine: Engine, question: str) -> Any:
    with engine.database.reading() as connection:
        return connection.exec_driver_sql(question).scalar_one()


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()


if __name__ == "__main__":
    main()
