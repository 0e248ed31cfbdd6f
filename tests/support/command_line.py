"""The command line as a process of its own, in a scratch folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

MAGISTRATE = Path(sys.executable).with_name("magistrate")


class Process(subprocess.Popen[str]):
    """A command under way. A test that fails does not wait for its end."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, at)


class CommandLine:
    """Runs `magistrate` in `folder`, with settings from the environment as CI gives them."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.variables = {
            **{name: value for name, value in os.environ.items() if name.upper() == name},
            "DATABASE_URL": f"sqlite:///{folder / 'platform.db'}",
            "AUTH_TOKEN_SECRET": "test-secret-" + "x" * 32,
            "REQUEST_RETRY_COUNT": "1",
            "REQUEST_RETRY_DELAY_SECONDS": "0.01",
            "REQUEST_TIMEOUT_SECONDS": "60",
            "DEMO_ANSWER_SECONDS": "0",
            "AUDIT_SHARE": "0",
            "CONTROL_CASES_FILE": "",
            **variables,
        }

    @property
    def database(self) -> Path:
        return self.folder / "platform.db"

    def start(self, *arguments: object, stderr: int = subprocess.PIPE, **variables: str) -> Process:
        """The command under way; `stderr` may be a terminal's file descriptor."""
        return Process(
            [str(MAGISTRATE), *map(str, arguments)],
            cwd=self.folder,
            env={**self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, *arguments: object, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs to the end and checks the exit code."""
        with self.start(*arguments, **variables) as process:
            out, err = process.communicate(timeout=90)
        assert process.returncode == code, f"exit {process.returncode}, expected {code}\n{out}\n{err}"
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(list(map(str, arguments)), process.returncode, out, err)
