"""Processes to measure, and the model server they talk to, each a process of its own. Reads /proc, so Linux only."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from engine.settings import ROOT

MAGISTRATE = Path(sys.executable).with_name("magistrate")
LOOK_EVERY_S = 0.02


class ModelServer(NamedTuple):
    """A scripted server in a process of its own."""

    base_url: str

    def stats(self) -> dict[str, Any]:
        counted: dict[str, Any] = httpx.get(self.base_url.removesuffix("/v1") + "/stats", timeout=30).json()
        return counted


@contextlib.contextmanager
def model_server(latency_ms: float, *options: str) -> Iterator[ModelServer]:
    """A deterministic model that answers every call after `latency_ms`."""
    command = [sys.executable, "-m", "tests.support.scripted_server", "--latency-ms", str(latency_ms), "--capable"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield ModelServer(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.terminate()


class Cost(NamedTuple):
    """What a whole process took: CPU is user and system time, memory the most that was resident at once."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    code: int
    output: str
    errors: str


def measured(command: Sequence[object], *, variables: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Cost:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command], stdout=out, stderr=err, cwd=cwd, env={**os.environ, **(variables or {})}
        )
        peak = Peak(process.pid)
        # wait4, because only it tells what this one child cost.
        _pid, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
        peak_mb = peak.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Cost(usage.ru_utime + usage.ru_stime, wall_s, peak_mb, process.returncode, out.read(), err.read())


def checked(cost: Cost) -> Cost:
    """The same; ends the program, saying why, when the command failed."""
    if cost.code:
        sys.exit(f"a measured command ended with {cost.code}:\n{cost.output[-2000:]}\n{cost.errors[-4000:]}")
    return cost


def in_child(module: str, *arguments: object) -> dict[str, Any]:
    """Measure in a fresh process: `module` prints its figures as JSON, as its last line."""
    cost = checked(measured([sys.executable, "-m", module, *arguments]))
    figures: dict[str, Any] = json.loads(cost.output.splitlines()[-1])
    return figures


def memory_mb(pid: int | str, field: str = "VmRSS") -> float:
    """`VmRSS`: resident now, `VmHWM`: the most so far. Not ru_maxrss, which begins with what the parent held."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0.0  # it has just ended


class Peak:
    """Watches how much memory of a process is resident."""

    def __init__(self, pid: int, field: str = "VmHWM") -> None:
        self._pid = pid
        self._field = field
        self._most = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> float:
        """The most that was seen, in MB."""
        self._stopped.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(OSError):
                self._most = max(self._most, memory_mb(self._pid, self._field))
            self._stopped.wait(LOOK_EVERY_S)


def settings_of(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a scratch installation in `folder`."""
    return {
        "DATABASE_URL": f"sqlite:///{folder / 'platform.db'}",
        "AUTH_TOKEN_SECRET": "a scratch secret of more than thirty-two characters",
        "APP_ENV": "test",
        "LOG_LEVEL_TEST": "WARNING",
        **more,
    }
