"""A server with a run going on: how much it grows over itself, and how long people wait meanwhile."""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
import time
from pathlib import Path

import httpx

from tests.performance.figures import Figure, finish, p95
from tests.performance.processes import Peak, memory_mb, model_server
from tests.performance.served import Served, get, served, start_run
from tests.support import engines

LATENCY_MS = 50
GROWTH_LIMIT_MB = 120
WAIT_LIMIT_S = 1.0
USERS, USERS_P95_LIMIT_S = 5, 0.3
THINK_S = 0.5
SHOWN = ("/runs", "/runs/{run}", "/runs/{run}/results?limit=50", "/runs/{run}/results?limit=50&verdict=pass")


def main() -> None:
    figures = [
        *_measured(5000, 256, users=1, growth_limit=GROWTH_LIMIT_MB, wait_limit=WAIT_LIMIT_S, p95_limit=None),
        # J1 and J2 in one: ten thousand items, five people.
        *_measured(10_000, 16, users=USERS, growth_limit=150, wait_limit=None, p95_limit=USERS_P95_LIMIT_S),
    ]
    finish("server: memory and answers while a run goes on", figures)


def _measured(
    instances: int,
    in_flight: int,
    *,
    users: int,
    growth_limit: float,
    wait_limit: float | None,
    p95_limit: float | None,
) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name, model_server(LATENCY_MS) as model:
        folder = Path(name)
        bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(instances)])
        with served(folder, {"BANK_FILE": str(bank)}) as server:
            client = server.client()
            get(client, "/runs")
            httpx.get(server.address)
            before_mb = memory_mb(server.pid)
            peak = Peak(server.pid, "VmRSS")
            run_id = start_run(client, model.base_url, in_flight)
            waits = _looked_at(server, run_id, users)
            grown_mb = peak.stop() - before_mb
            run = get(client, f"/runs/{run_id}")
            server.stop()
    if run["status"] != "completed" or run["completed_count"] != instances:
        raise SystemExit(f"the run did not complete: {run}")
    ideal_s = math.ceil(instances / in_flight) * LATENCY_MS / 1000
    return [
        Figure(f"{instances:,} at {LATENCY_MS} ms, {in_flight} in flight: grown by", grown_mb, "MB", growth_limit),
        Figure("  memory before", before_mb, "MB"),
        Figure(f"  answers to {users} at once: the slowest", max(waits), "s", wait_limit),
        Figure(f"  95 % of {len(waits)} within", p95(waits), "s", p95_limit),
        Figure("  wall / ideal, planning and probing included", _wall_s(run) / ideal_s),
    ]


def _looked_at(server: Served, run_id: int, users: int) -> list[float]:
    """Seconds that each answer took, until the run is over."""
    waits: list[float] = []
    over = threading.Event()

    def look() -> None:
        with contextlib.closing(server.client()) as client:
            while not over.is_set():
                for path in SHOWN:
                    began = time.monotonic()
                    shown = get(client, path.format(run=run_id))
                    waits.append(time.monotonic() - began)
                    if shown.get("finished_at"):
                        over.set()
                over.wait(THINK_S)

    people = [threading.Thread(target=look) for _ in range(users)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    return waits


def _wall_s(run: dict[str, str]) -> float:
    times = [time.strptime(run[key].partition(".")[0], "%Y-%m-%dT%H:%M:%S") for key in ("started_at", "finished_at")]
    return time.mktime(times[1]) - time.mktime(times[0])


if __name__ == "__main__":
    main()
