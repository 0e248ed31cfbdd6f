"""The engine lock: one process at a time runs the engine on a database. The system frees it when its holder dies."""

from __future__ import annotations

import os

from filelock import FileLock, Timeout

from engine.domain.base import rfc3339, utc_now
from engine.errors import UnavailableError
from engine.store.database import Database

LOOKS_TAKE_S = 0.2
"""A lock that is only looked at is free again by then."""


class EngineLock:
    """Lies beside the database file, as `<name>.engine-lock`; `<name>.engine-holder` says who has it.

    Args:
        name: What the holder does, for the others to read: `serve`, `run`.
    """

    def __init__(self, database: Database, *, name: str = "magistrate") -> None:
        self._name = name
        self._lock_file = database.path.with_name(database.path.name + ".engine-lock")
        self._holder_file = database.path.with_name(database.path.name + ".engine-holder")
        # thread_local would let only the thread that took the lock give it back.
        self._lock = FileLock(self._lock_file, thread_local=False, mode=0o600)

    def acquire(self, *, wait_s: float = LOOKS_TAKE_S) -> bool:
        """Take the lock if it is free; whether this object holds it now.

        It waits a little: somebody who looks whether it is free holds it for a moment, and must not keep an engine from
        starting.
        """
        try:
            self._lock.acquire(timeout=wait_s, poll_interval=0.02)
            self._holder_file.touch(mode=0o600)
            self._holder_file.write_text(
                f"process {os.getpid()} ({self._name}) since {rfc3339(utc_now())}", encoding="utf-8"
            )
        except Timeout:
            return False
        except OSError as error:
            self._lock.release(force=True)
            raise UnavailableError(
                f"the engine lock {self._lock_file} cannot be taken: {error.strerror}; make its folder writable",
                code="database_unavailable",
            ) from error
        return True

    def release(self) -> None:
        """Give the lock back; without holding it, nothing happens."""
        if self._lock.is_locked:
            self._holder_file.unlink(missing_ok=True)
            self._lock.release(force=True)

    def is_free(self) -> bool:
        """Whether nobody holds the lock: no process runs the engine now."""
        try:
            with FileLock(self._lock_file, thread_local=False, mode=0o600).acquire(timeout=0):
                return True
        except (Timeout, OSError):
            return False

    def holder(self) -> str:
        """Who holds the lock, such as `process 123 (serve) since 2026-01-02T03:04:05.678Z`; empty when unknown.

        Meaningful while somebody does: a holder that died leaves its line behind.
        """
        try:
            return self._holder_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
