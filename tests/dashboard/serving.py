"""The server as `magistrate serve` starts it, in a process of its own, on a scratch database."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(folder: Path, **environment: str) -> Iterator[str]:
    """The address of a server that answers; it is stopped, and must stop cleanly, at the end."""
    port = free_port()
    log = folder / "server.log"
    settings = {
        "PORT": str(port),
        "HOST": "127.0.0.1",
        "DATABASE_URL": f"sqlite:///{folder / 'platform.db'}",
        "AUTH_TOKEN_SECRET": "a scratch secret of more than thirty-two characters",
        "APP_ENV": "test",
    }
    command = Path(sys.executable).with_name("magistrate")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [command, "serve"],
            cwd=ROOT,
            env={**os.environ, **settings, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        address = f"http://127.0.0.1:{port}"
        try:
            _wait(process, address, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(f"the server ended with {process.returncode}:\n{log.read_text(errors='replace')}")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/api/v1/health").status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"the server did not answer:\n{log.read_text(errors='replace')}")
