"""`magistrate serve` as a process that tests may kill, and its API."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support.command_line import MAGISTRATE, CommandLine

PATIENCE_S = 60.0


class Server:
    """A server that answers, on a prepared installation; signed in as the first administrator."""

    def __init__(self, command: CommandLine) -> None:
        self.log = command.folder / "server.log"
        self._earlier = self.log.stat().st_size if self.log.exists() else 0
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [MAGISTRATE, "serve"],
                cwd=command.folder,
                env={**command.variables, "PORT": str(port)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        # Packed, a long answer would fit into the buffers of the system.
        plain = {"Accept-Encoding": "identity"}
        self.client = httpx.Client(base_url=f"{self.address}/api/v1", timeout=PATIENCE_S, headers=plain)
        try:
            self._sign_in()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop(signal.SIGKILL)

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self, number: int) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.client.close()

    def said(self) -> str:
        """What this server printed."""
        return self.log.read_bytes()[self._earlier :].decode(errors="replace")

    def get(self, path: str) -> Any:
        return self._answer(self.client.get(path))

    def post(self, path: str, body: Any = None) -> Any:
        return self._answer(self.client.post(path, json=body))

    def until(self, path: str, wanted: Any, *, patience_s: float = PATIENCE_S) -> Any:
        """What `path` answers as soon as `wanted(answer)` holds."""
        deadline = time.monotonic() + patience_s
        while not wanted(found := self.get(path)):
            assert time.monotonic() < deadline, f"{path} still answers {found}"
            time.sleep(0.05)
        return found

    @staticmethod
    def _answer(response: httpx.Response) -> Any:
        assert response.is_success, f"{response.status_code} {response.text}"
        return response.json()

    def _sign_in(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.said()}"
            try:
                if self.client.get("/health").status_code == 200:
                    break
            except httpx.TransportError:
                assert time.monotonic() < deadline, f"the server does not answer:\n{self.said()}"
            time.sleep(0.05)
        who = {"username": "gly", "password": "maxta2026"}
        self.client.headers["Authorization"] = f"Bearer {self.post('/auth/login', who)['access_token']}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fill_with_results(database: Path, count: int) -> int:
    """A completed run of so many results, stored without asking anybody; its id."""
    from engine.domain.runs import RunStatus
    from engine.store import Database, GroupCommit, Stores
    from tests.store.samples import answer, make_run

    opened = Database(f"sqlite:///{database}")
    stores, writer = Stores.over(opened), GroupCommit(opened)
    writer.start()
    run, ids = make_run(stores, count)
    for future in [writer.answered(key, answer(text=f"Answer {key}. " + "words " * 3000)) for key in ids]:
        future.result(60)
    stores.runs.set_status(run.id, RunStatus.COMPLETED)
    writer.stop()
    opened.close()
    return run.id
