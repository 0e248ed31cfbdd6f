"""`magistrate run` as CI starts it: what one instance costs in all, and how much memory a large run needs."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

from tests.performance.figures import Figure, finish, median_of
from tests.performance.processes import MAGISTRATE, Cost, ModelServer, checked, measured, model_server, settings_of
from tests.support import engines

ONE_CPU_LIMIT_S = 1.2
PEAK_LIMIT_MB = 200
LARGE, IN_FLIGHT = 5000, 256
HEAVY = re.compile(r"\| +(streamlit|pandas)$", re.MULTILINE)


def main() -> None:
    with tempfile.TemporaryDirectory() as name, model_server(50) as server:
        folder = Path(name)
        one = engines.write_bank(folder / "one", [engines.case(0)])
        many = engines.write_bank(folder / "many", [engines.case(number) for number in range(LARGE)])
        settings = settings_of(folder, BANK_FILE=str(one))
        checked(measured([MAGISTRATE, "init-db"], variables=settings))
        _run(server, settings, 1)  # the server's first look at the probes' pictures
        single = median_of(5, lambda: _run(server, settings, 1), key=lambda cost: cost.cpu_s)
        listing = median_of(
            5,
            lambda: checked(measured([MAGISTRATE, "runs", "--json"], variables=settings)),
            key=lambda cost: cost.cpu_s,
        )
        traced = checked(
            measured([sys.executable, "-X", "importtime", MAGISTRATE, *_arguments(server, 1)], variables=settings)
        )
        large = _run(server, {**settings, "BANK_FILE": str(many)}, IN_FLIGHT)
    finish(
        "command line: magistrate run",
        [
            Figure("one instance: CPU in all", single.cpu_s, "s", ONE_CPU_LIMIT_S),
            Figure("  wall", single.wall_s, "s"),
            Figure("  memory: the most at once", single.peak_mb, "MB"),
            Figure("  imports of streamlit and pandas", len(HEAVY.findall(traced.errors)), "", 0),
            Figure("magistrate runs: CPU in all", listing.cpu_s, "s"),
            Figure(f"{LARGE:,} at 50 ms, {IN_FLIGHT} in flight: memory", large.peak_mb, "MB", PEAK_LIMIT_MB),
            Figure("  CPU an instance, start-up included", large.cpu_s / LARGE * 1000, "ms"),
        ],
    )


def _run(server: ModelServer, settings: dict[str, str], in_flight: int) -> Cost:
    cost = checked(measured([MAGISTRATE, *_arguments(server, in_flight)], variables=settings))
    ended = json.loads(cost.output.splitlines()[-1])
    if ended["completed_count"] != ended["total_count"]:
        sys.exit(f"not every instance was answered: {ended}")
    return cost


def _arguments(server: ModelServer, in_flight: int) -> list[str]:
    return [
        "run", "--profile", "full", "--base-url", server.base_url, "--model", "scripted",
        "--concurrency", str(in_flight), "--json",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
