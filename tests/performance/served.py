"""A server as `magistrate serve` starts it, and a person's program signed in to its API."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from engine.settings import ROOT
from tests.performance.processes import MAGISTRATE, settings_of

PATIENCE_S = 60.0


class Served(NamedTuple):
    """`start_s` from the start of the process to the first healthy answer."""

    address: str
    pid: int
    start_s: float
    process: subprocess.Popen[bytes]

    def client(self) -> httpx.Client:
        """Signed in as the first account."""
        # No connection is kept: the server may close an idle one in the moment in which the next request takes it.
        limits = httpx.Limits(max_keepalive_connections=0)
        client = httpx.Client(base_url=f"{self.address}/api/v1", timeout=30, limits=limits)
        given = client.post("/auth/login", json={"username": "gly", "password": "maxta2026"})
        client.headers["Authorization"] = f"Bearer {_good(given)['access_token']}"
        return client

    def stop(self) -> float:
        """Seconds from SIGTERM to the end; ends the program when it does not stop cleanly."""
        asked = time.monotonic()
        self.process.terminate()
        code = self.process.wait(timeout=PATIENCE_S)
        if code not in (0, -15):
            sys.exit(f"the server ended with {code} when it was told to stop")
        return time.monotonic() - asked


@contextlib.contextmanager
def served(folder: Path, variables: Mapping[str, str]) -> Iterator[Served]:
    """A server on a free port; killed at the end when it still runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, **settings_of(folder), "HOST": "127.0.0.1", "PORT": str(port), **variables}
    with (folder / "server.log").open("ab") as log:
        started = time.monotonic()
        process = subprocess.Popen([MAGISTRATE, "serve"], cwd=ROOT, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        while not _is_healthy(address):
            if process.poll() is not None or time.monotonic() - started > PATIENCE_S:
                sys.exit(f"the server did not start:\n{(folder / 'server.log').read_text(errors='replace')[-4000:]}")
            time.sleep(0.02)
        yield Served(address, process.pid, time.monotonic() - started, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def start_run(client: httpx.Client, base_url: str, in_flight: int) -> int:
    """Configure the model server as a provider and start the profile `full` on it; the run's id."""
    provider = {
        "name": f"model {in_flight}",
        "kind": "openai",
        "base_url": base_url,
        "default_model": "scripted",
        "max_concurrency": in_flight,
        "timeout_seconds": 30,
    }
    provider_id = _good(client.post("/providers", json=provider))["id"]
    spec = {"profile": "full", "auto_judge": True, "provider_id": provider_id}
    return int(_good(client.post("/runs", json=spec, headers={"Idempotency-Key": provider["name"]}))["id"])


def get(client: httpx.Client, path: str) -> Any:
    """The JSON of a good answer; ends the program on any other."""
    return _good(client.get(path))


def _good(response: httpx.Response) -> Any:
    if not response.is_success:
        sys.exit(
            f"{response.request.method} {response.request.url.path} answered {response.status_code}: {response.text}"
        )
    return response.json()


def _is_healthy(address: str) -> bool:
    try:
        return httpx.get(f"{address}/api/v1/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
