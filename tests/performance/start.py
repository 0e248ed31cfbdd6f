"""Starting the server a second time until it is healthy, and stopping it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.performance.figures import Figure, finish
from tests.performance.processes import memory_mb
from tests.performance.served import served

TIMES = 3
START_LIMIT_S = 10
"""`Second start: seconds`."""
STOP_LIMIT_S = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder, {}) as server:
            first_s = server.start_s
            server.stop()
        starts, stops, memory = [], [], 0.0
        for _ in range(TIMES):
            with served(folder, {}) as server:
                starts.append(server.start_s)
                memory = memory_mb(server.pid)
                stops.append(server.stop())
    finish(
        "start: magistrate serve",
        [
            Figure("first start, database made", first_s, "s"),
            Figure(f"second start until healthy, the slowest of {TIMES}", max(starts), "s", START_LIMIT_S),
            Figure("stop after SIGTERM, the slowest", max(stops), "s", STOP_LIMIT_S),
            Figure("memory of a server nobody has visited", memory, "MB"),
        ],
    )


if __name__ == "__main__":
    main()
