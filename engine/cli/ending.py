"""How a command is told to end, by SIGTERM or Ctrl-C, and when it listens.

What a signal raises comes in the middle of anything. In the middle of a transaction the database's library takes it for
a fault of its own and logs it as one, and in a finalizer it is lost. So a command that works on runs only takes note of
it and looks, often, whether it was told to end; other commands are ended wherever they are.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

ENDS_WITHIN_S = 10.0
"""Until then the same word again does not cut the ending short."""


class Terminated(BaseException):
    """SIGTERM. No Exception, so that nobody who expects errors takes it for one; Ctrl-C is none either."""


class Ending:
    """What this process was told."""

    def __init__(self) -> None:
        self._told: type[BaseException] | None = None
        self._told_at = float("-inf")
        self._takes_note = False

    def listen(self) -> None:
        """From now on both signals come here. In the main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.tell)

    def tell(self, number: int, _frame: object) -> None:
        """The handler. Raises KeyboardInterrupt or Terminated where nobody takes note; a second Ctrl-C always does."""
        now = time.monotonic()
        told, again = self._told, now - self._told_at < ENDS_WITHIN_S
        self._told = KeyboardInterrupt if number == signal.SIGINT else Terminated
        if self._told is Terminated and again:
            self._told = told
            return
        self._told_at = now
        if not self._takes_note or again:
            raise self._told

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Within, a signal is taken note of; whoever goes on for long calls `look`."""
        self._takes_note = True
        try:
            yield
        finally:
            self._takes_note = False

    def look(self) -> None:
        """Raises what was told, if anything was."""
        if self._told is not None:
            raise self._told


ending = Ending()
