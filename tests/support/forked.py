"""`magistrate` in processes of their own that start within milliseconds.

One process imports the product, opens nothing, and forks a child a command; the child is a process like any other, to
its database and to SIGKILL. As a process of its own: `python -m tests.support.forked`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from engine.settings import ROOT
from tests.support.command_line import CommandLine


class Forked:
    """One command, with the part of `subprocess.Popen` that tests need. Its output is known when it has ended."""

    def __init__(self, forker: Forker, pid: int, out: Path, err: Path) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._forker = forker
        self._out, self._err = out, err

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.poll() is None:
            self.kill()
        self.wait()

    def poll(self) -> int | None:
        if self.returncode is None and (line := self._forker.line(0)) is not None:
            self.returncode = int(line)
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        if self.returncode is None:
            line = self._forker.line(timeout)
            if line is None:
                raise subprocess.TimeoutExpired("magistrate", timeout)
            self.returncode = int(line)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 60) -> tuple[str, str]:
        self.wait(timeout)
        return self._out.read_text(encoding="utf-8"), self._err.read_text(encoding="utf-8")


class Forker:
    """The process that forks; one command at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._buffer = b""

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def start(
        self, command: CommandLine, arguments: list[str], variables: dict[str, str], *, user: int | None = None
    ) -> Forked:
        out, err = (command.folder / f"forked-{self._process.pid}.{name}" for name in ("out", "err"))
        told = {"arguments": arguments, "variables": variables, "out": str(out), "err": str(err), "user": user}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**told, "folder": str(command.folder)}).encode() + b"\n")
        self._process.stdin.flush()
        pid = self.line(60)
        assert pid is not None, "the forking process does not answer"
        return Forked(self, int(pid), out, err)

    def line(self, timeout: float) -> str | None:
        """The next line of the forking process; None when it has not come in time."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            more = os.read(self._process.stdout.fileno(), 4096)
            assert more, "the forking process has ended"
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()


class ForkedCommandLine(CommandLine):
    """A `CommandLine` whose commands cost no start of an interpreter; after `-c` comes Python instead of a command.

    As `user`, where that is set: permissions mean nothing to root.
    """

    user: int | None = None

    def __init__(self, forker: Forker, folder: Path, **variables: str) -> None:
        super().__init__(folder, **variables)
        self._forker = forker

    def start(self, *arguments: object, **variables: str) -> Forked:  # type: ignore[override]
        return self._forker.start(self, list(map(str, arguments)), {**self.variables, **variables}, user=self.user)


@contextlib.contextmanager
def forking() -> Iterator[Forker]:
    forker = Forker()
    try:
        yield forker
    finally:
        forker.close()


def main() -> None:
    """Read a command a line; print its process id, then, when it has ended, its exit code."""
    _import_the_product()
    for line in sys.stdin.buffer:
        told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(told)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _import_the_product() -> None:
    import engine

    for module in pkgutil.walk_packages(engine.__path__, "engine."):
        if not module.name.startswith(("engine.api", "engine.store.migrations")) and not module.name.endswith(
            "__main__"
        ):
            importlib.import_module(module.name)
    for name in ("rich.progress", "rich.console", "httpx_aiohttp", "aiohttp"):
        importlib.import_module(name)


def _become(told: dict[str, object]) -> None:
    """The child: another folder, environment and output, and then the command itself."""
    from engine.cli import main as magistrate

    code: object = 1
    try:
        os.chdir(str(told["folder"]))
        os.environ.clear()
        os.environ.update(told["variables"])  # type: ignore[call-overload]
        for number, name in ((1, "out"), (2, "err")):
            descriptor = os.open(str(told[name]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if told["user"] is not None:
            os.setuid(int(str(told["user"])))
        sys.argv = ["magistrate", *told["arguments"]]  # type: ignore[misc]
        if sys.argv[1] == "-c":
            exec(sys.argv[2], {"__name__": "__main__"})
        else:
            magistrate()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - the child must end here and not go on as the parent
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
