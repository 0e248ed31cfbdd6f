"""The engine on made-up single-turn instances and on the bundled bank, beside a bare client on the same load.

Ideal is ceil(instances / in flight) x latency. Judged by rules; every answer and verdict committed with
synchronous=FULL. Each load is a fresh process; the medians of three are shown.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from engine.settings import ROOT
from tests.performance.figures import Figure, finish, median_of
from tests.performance.processes import ModelServer, in_child, model_server
from tests.support import engines

CPU_LIMIT_MS = 1.5
OVER_IDEAL_LIMIT_S = 1.0
"""Of the bundled bank at 50 ms, 64 in flight."""


class Load(NamedTuple):
    """`wall_limit` is a share of the ideal; `growth_limit` is in MB over the process before the run."""

    instances: int
    latency_ms: int
    in_flight: int
    wall_limit: float | None = None
    growth_limit: float | None = None
    times: int = 3

    @property
    def name(self) -> str:
        return f"{self.instances:,} at {self.latency_ms} ms, {self.in_flight} in flight"

    def ideal_s(self, calls: int) -> float:
        return math.ceil(calls / self.in_flight) * self.latency_ms / 1000


LOADS = (
    Load(451, 500, 64, wall_limit=1.15),
    Load(5000, 50, 64, wall_limit=1.5),
    Load(5000, 50, 256),
    Load(10_000, 50, 16, wall_limit=1.2, growth_limit=150, times=1),
)
"""The last is J1."""


def main() -> None:
    figures: list[Figure] = []
    cpu_ms: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for load in LOADS:
            cases = [engines.case(number) for number in range(load.instances)]
            ours, bare = _both(engines.write_bank(Path(folder) / str(load.instances), cases), load)
            cpu_ms[load.in_flight] = ours["cpu_s"] / ours["instances"] * 1000
            # More in flight may not cost more; else the limit is the one of all loads.
            cpu_limit = cpu_ms[64] if load.in_flight == 256 else CPU_LIMIT_MS
            figures += _figures(load, ours, bare, cpu_limit)
        figures += _bundled()
    finish("loads: what the engine costs (in parentheses: a bare client)", figures)


def _both(bank: Path, load: Load) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ours and the bare client's, on the same server."""
    with model_server(load.latency_ms) as server:
        ours = median_of(load.times, lambda: _load(bank, server, load), key=_wall_s)
        bare = median_of(load.times, lambda: _bare(server, load), key=_wall_s)
    return ours, bare


def _wall_s(taken: dict[str, Any]) -> float:
    return float(taken["wall_s"])


def _figures(load: Load, ours: dict[str, Any], bare: dict[str, Any], cpu_limit: float) -> list[Figure]:
    if ours["synchronous"] != "full":
        sys.exit(f"the database is not synchronous=full but {ours['synchronous']}")
    ideal_s = load.ideal_s(load.instances)
    figures = [
        Figure(f"{load.name}: wall / ideal", ours["wall_s"] / ideal_s, "", load.wall_limit),
        Figure(f"  (wall / ideal, ideal {ideal_s:.2f} s)", bare["wall_s"] / ideal_s),
        Figure("  CPU an instance", ours["cpu_s"] / ours["instances"] * 1000, "ms", cpu_limit),
        Figure("  (CPU an instance)", bare["cpu_s"] / load.instances * 1000, "ms"),
        Figure("  planning and probing", ours["before_s"], "s"),
        Figure("  memory: the most at once", ours["peak_mb"], "MB"),
        Figure("  commits", ours["commits"]),
    ]
    if load.growth_limit is not None:
        figures.append(Figure("  memory: grown by", ours["grown_mb"], "MB", load.growth_limit))
    return figures


def _bundled() -> list[Figure]:
    """Its instances take one to several calls, so its ideal counts calls."""
    load = Load(451, 50, 64)
    with model_server(load.latency_ms) as server:
        ours = median_of(3, lambda: _load(ROOT / "data" / "dataset.json", server, load), key=_wall_s)
    name = f"bundled bank, {ours['instances']} instances, {ours['calls']} calls, {load.latency_ms} ms, {load.in_flight}"
    over_s = ours["before_s"] + ours["wall_s"] - load.ideal_s(ours["instances"])
    return [
        Figure(f"{name}: wall / ideal", ours["wall_s"] / load.ideal_s(ours["calls"])),
        Figure("  over ceil(instances / 64) x 0.05 s, probing included", over_s, "s", OVER_IDEAL_LIMIT_S),
        Figure("  CPU an instance", ours["cpu_s"] / ours["instances"] * 1000, "ms"),
        Figure("  CPU a call", ours["cpu_s"] / ours["calls"] * 1000, "ms"),
    ]


def _load(bank: Path, server: ModelServer, load: Load) -> dict[str, Any]:
    return in_child(
        "tests.performance.load", "--bank", bank, "--base-url", server.base_url, "--in-flight", load.in_flight
    )


def _bare(server: ModelServer, load: Load) -> dict[str, Any]:
    return in_child(
        "tests.performance.bare",
        "--instances", load.instances, "--base-url", server.base_url, "--in-flight", load.in_flight,
    )  # fmt: skip


if __name__ == "__main__":
    main()
