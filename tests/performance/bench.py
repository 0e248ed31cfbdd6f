"""`make bench`: what the engine costs, beside a bare client on the same load.

    python -m tests.performance.bench [--instances 2000] [--latency-ms 50] [--in-flight 64]

The server is a process of its own on 127.0.0.1 and answers deterministically. Wall is the run's own time from start to
finish, probing included; ideal is ceil(instances / in flight) x latency. CPU is this process's user and system time:
engine, store and judging by rules, every answer and verdict committed with synchronous=FULL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from httpx_aiohttp import AiohttpTransport

from engine.domain.runs import RunSpec
from engine.services import runs
from engine.settings import ROOT
from tests.support import engines


class Figures(NamedTuple):
    """`wall_s` and `cpu_s` of one load."""

    name: str
    instances: int
    ideal_s: float
    wall_s: float
    cpu_s: float
    commits: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the engine against a local server.")
    parser.add_argument("--instances", type=int, default=2000, help="size of the larger, made-up bank")
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--in-flight", type=int, default=64)
    options = parser.parse_args()
    latency_s = options.latency_ms / 1000
    with tempfile.TemporaryDirectory() as folder, _server(options.latency_ms) as base_url:
        bundled = ROOT / "data" / "dataset.json"
        made_up = engines.write_bank(
            Path(folder) / "bank", [engines.case(number) for number in range(options.instances)]
        )
        # Not counted: the server learns once to read the probes' pictures, and both sides load what they load lazily.
        warm_up = engines.write_bank(Path(folder) / "warm-up", [engines.case(0)])
        _engine("warm-up", Path(folder) / "0", warm_up, base_url, latency_s, 1)
        rows = [
            _engine("bundled bank", Path(folder) / "1", bundled, base_url, latency_s, options.in_flight),
            _engine("made-up bank", Path(folder) / "2", made_up, base_url, latency_s, options.in_flight),
            _bare(options.instances, base_url, latency_s, options.in_flight),
        ]
    print(f"{options.latency_ms:g} ms a call, {options.in_flight} in flight")
    for row in rows:
        commits = f", {row.commits} commits" if row.commits is not None else ""
        print(
            f"{row.name:13} {row.instances:6} instances: wall {row.wall_s:.3f} s, ideal {row.ideal_s:.3f} s, "
            f"wall / ideal {row.wall_s / row.ideal_s:.2f}, over ideal {row.wall_s - row.ideal_s:+.3f} s, "
            f"CPU {row.cpu_s / row.instances * 1000:.2f} ms an instance{commits}"
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _engine(name: str, folder: Path, bank: Path, base_url: str, latency_s: float, in_flight: int) -> Figures:
    folder.mkdir()
    with engines.opened(folder, bank_file=bank) as engine:
        spec = RunSpec(profile="full", auto_judge=True)
        endpoint = engines.endpoint(base_url, max_concurrency=in_flight)
        engine.bank()
        cpu = time.process_time()
        started = runs.start(engine, spec, actor=engines.ADMIN, endpoint=endpoint)
        while not engine.stores.runs.get(started.id).status.is_over:
            time.sleep(0.05)
        cpu = time.process_time() - cpu
        run = runs.get(engine, started.id, actor=engines.ADMIN)
        commits = engine._commit.commits if engine._commit is not None else None
    if run.status != "completed" or run.completed_count + run.skipped_count != run.total_count:
        sys.exit(f"the {name} run did not complete: {run.model_dump_json()}")
    assert run.started_at is not None and run.finished_at is not None
    asked = run.completed_count
    wall_s = (run.finished_at - run.started_at).total_seconds()
    return Figures(name, asked, math.ceil(asked / in_flight) * latency_s, wall_s, cpu, commits)


def _bare(instances: int, base_url: str, latency_s: float, in_flight: int) -> Figures:
    """The floor: the same HTTP client, one request an instance, nothing stored."""
    cpu, wall = time.process_time(), time.monotonic()
    asyncio.run(_ask_all(instances, base_url, in_flight))
    return Figures(
        "bare client",
        instances,
        math.ceil(instances / in_flight) * latency_s,
        time.monotonic() - wall,
        time.process_time() - cpu,
        None,
    )


async def _ask_all(instances: int, base_url: str, in_flight: int) -> None:
    numbers = iter(range(instances))
    limits = httpx.Limits(max_connections=in_flight)
    async with httpx.AsyncClient(transport=AiohttpTransport(limits=limits), timeout=30) as client:

        async def worker() -> None:
            for number in numbers:
                body = {"model": "scripted", "messages": [{"role": "user", "content": f"Question number {number}"}]}
                answer = await client.post(f"{base_url}/chat/completions", json=body)
                json.loads(answer.content)["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(in_flight)))


@contextmanager
def _server(latency_ms: float) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.scripted_server", "--latency-ms", str(latency_ms), "--capable"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


if __name__ == "__main__":
    main()
