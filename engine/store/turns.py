"""Taking turns, first come first served."""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A lock that is handed on in the order of asking.

    With an ordinary lock, a thread that writes all the time takes it again before those who wait have woken up.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def acquire(self, *, timeout: float) -> bool:
        """Whether the turn came within `timeout` seconds."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        if gate.acquire(timeout=timeout):
            return True
        with self._guard:
            if gate in self._waiting:
                self._waiting.remove(gate)
                return False
            return True  # handed over in the moment the wait ended

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
