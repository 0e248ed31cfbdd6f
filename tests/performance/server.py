"""A server with a run going on: how much it grows over itself, and how long people wait meanwhile."""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tests.performance.dashboard_page import open_page, sign_in
from tests.performance.figures import Figure, finish, p95
from tests.performance.processes import Peak, memory_mb, model_server
from tests.performance.served import Served, get, served, start_run
from tests.support import engines

LATENCY_MS = 50
THINK_S = 2.0
"""Between two pages of one person."""
LISTS = ("/runs", "/runs/{run}", "/runs/{run}/results?limit=50", "/runs/{run}/results?limit=50&verdict=pass")
PAGES = ("", "runs", "results", "review")


class Load(NamedTuple):
    """`growth_limit` in MB; the others in seconds, on the slowest page or on 95 % of pages and of lists."""

    instances: int
    in_flight: int
    people: int
    growth_limit: float
    slowest_page_limit: float | None = None
    p95_page_limit: float | None = None
    p95_list_limit: float | None = None


LOADS = (
    Load(5000, 256, people=1, growth_limit=120, slowest_page_limit=1),
    Load(10_000, 16, people=5, growth_limit=150, p95_page_limit=2, p95_list_limit=0.3),
)
"""The second is J1 and J2."""


def main() -> None:
    figures = [figure for load in LOADS for figure in _measured(load)]
    finish("server: memory, and how long people wait while a run goes on", figures)


def _measured(load: Load) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name, model_server(LATENCY_MS) as model:
        folder = Path(name)
        bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(load.instances)])
        with served(folder, {"BANK_FILE": str(bank)}) as server:
            client, cookie = server.client(), sign_in(server, folder)
            get(client, "/runs")
            for page in PAGES:  # not counted: what the first visitor of a server waits for
                open_page(server, page, cookie)
            before_mb = memory_mb(server.pid)
            peak = Peak(server.pid, "VmRSS")
            run_id = start_run(client, model.base_url, load.in_flight)
            pages, lists = _looked_at(server, run_id, cookie, load.people)
            grown_mb = peak.stop() - before_mb
            run = get(client, f"/runs/{run_id}")
            server.stop()
    if run["status"] != "completed" or run["completed_count"] != load.instances:
        raise SystemExit(f"the run did not complete: {run}")
    ideal_s = math.ceil(load.instances / load.in_flight) * LATENCY_MS / 1000
    wall = datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])
    title = f"{load.instances:,} at {LATENCY_MS} ms, {load.in_flight} in flight, {load.people} looking on"
    return [
        Figure(f"{title}: grown by", grown_mb, "MB", load.growth_limit),
        Figure("  memory before", before_mb, "MB"),
        Figure(f"  {len(pages)} pages: the slowest", max(pages), "s", load.slowest_page_limit),
        Figure("  95 % of them within", p95(pages), "s", load.p95_page_limit),
        Figure(f"  {len(lists)} lists from the API: the slowest", max(lists), "s"),
        Figure("  95 % of them within", p95(lists), "s", load.p95_list_limit),
        Figure("  wall / ideal, planning and probing included", wall.total_seconds() / ideal_s),
    ]


def _looked_at(server: Served, run_id: int, cookie: str, people: int) -> tuple[list[float], list[float]]:
    """Seconds that each page and each list took, until the run is over."""
    pages: list[float] = []
    lists: list[float] = []
    over = threading.Event()

    def look() -> None:
        with contextlib.closing(server.client()) as client:
            while not over.is_set():
                for page, path in zip(PAGES, LISTS, strict=True):
                    began = time.monotonic()
                    shown = get(client, path.format(run=run_id))
                    lists.append(time.monotonic() - began)
                    pages.append(open_page(server, page, cookie)[0])
                    if shown.get("finished_at"):
                        over.set()
                    over.wait(THINK_S)

    with ThreadPoolExecutor(people) as pool:
        for looking in [pool.submit(look) for _ in range(people)]:
            looking.result()
    return pages, lists


if __name__ == "__main__":
    main()
