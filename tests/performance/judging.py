"""Answers judged by a model beside the answering: with equal latencies the two stages overlap."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from tests.performance.figures import Figure, finish
from tests.performance.processes import in_child, model_server
from tests.support import engines

WALL_LIMIT = 1.25
LOADS = ((451, 500, 64), (1000, 200, 32))
"""Instances, latency of model and judge in ms, in flight at each."""


def main() -> None:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for instances, latency_ms, in_flight in LOADS:
            bank = engines.write_bank(Path(folder) / str(instances), [engines.case(n) for n in range(instances)])
            with model_server(latency_ms) as server, model_server(latency_ms, "--judging") as judge:
                taken = in_child(
                    "tests.performance.load", "--bank", bank, "--base-url", server.base_url,
                    "--in-flight", in_flight, "--judge-url", judge.base_url,
                )  # fmt: skip
            slower = max(taken["calls"], taken["opinions"])
            ideal_s = math.ceil(slower / in_flight) * latency_ms / 1000
            figures += [
                Figure(
                    f"{instances:,} at {latency_ms} ms, {in_flight} in flight: wall / ideal of the slower stage",
                    taken["wall_s"] / ideal_s,
                    "",
                    WALL_LIMIT,
                ),
                Figure("  opinions of the judge model", taken["opinions"], "", instances, at_least=True),
                Figure("  CPU an instance", taken["cpu_s"] / taken["instances"] * 1000, "ms"),
            ]
    finish("judging: a judge model that takes as long as the model", figures)


if __name__ == "__main__":
    main()
