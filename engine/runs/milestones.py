"""Named moments in a run's life at which a test can have the process killed, as a power cut would do it.

The wish is `NAME` or `NAME:COUNT`: at the first, or at the COUNT-th time the moment is reached in this process.
Without a wish, passing a moment costs one comparison.
"""

from __future__ import annotations

import os
import signal
import threading

from engine.errors import InputError

PLANNED = "planned"
"""The run and its plan are stored; nothing was asked."""
PROBED = "probed"
"""What the model can do is known and not yet stored."""
CLAIMED = "claimed"
"""An item was taken; its first call is not sent."""
ANSWERED = "answered"
"""An item's answer came and is not yet handed to the writer."""
COMMITTING = "committing"
"""The writer's transaction is full; COMMIT is not said."""
COMMITTED = "committed"
"""COMMIT is through; nobody who waits for it has been told."""
JUDGING = "judging"
"""A stored answer is about to be judged."""
JUDGED = "judged"
"""A conclusion was reached and is not yet handed to the writer."""
FINISHING = "finishing"
"""Every item is done; the run's last status is not stored."""

NAMES = (PLANNED, PROBED, CLAIMED, ANSWERED, COMMITTING, COMMITTED, JUDGING, JUDGED, FINISHING)


class _Wish:
    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self._left = count
        self._mutex = threading.Lock()

    def passed(self) -> None:
        with self._mutex:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


_wish: _Wish | None = None


def arm(wish: str) -> None:
    """Kill this process at a moment; an empty wish takes an earlier one back.

    Raises:
        InputError: code `bad_setting`; there is no such moment, or the count is not a positive whole number.
    """
    global _wish
    if not wish:
        _wish = None
        return
    name, separator, count = wish.partition(":")
    if name not in NAMES or (separator and not (count.isascii() and count.isdigit() and int(count) > 0)):
        raise InputError(
            f"MAGISTRATE_KILL_AT: {wish!r} is no moment of a run; write one of {', '.join(NAMES)}, with :COUNT for the "
            "COUNT-th time",
            code="bad_setting",
        )
    _wish = _Wish(name, int(count or 1))


def reached(name: str) -> None:
    """The process is at this moment now; does not return where a test wished it dead here."""
    if _wish is not None and _wish.name == name:
        _wish.passed()
