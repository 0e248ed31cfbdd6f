"""How fast a run goes."""

from __future__ import annotations

import time
from collections import deque

WINDOW = 200
"""Items over which the rate is taken."""


class Rate:
    """Counts items from when it is made; may be asked from any thread."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._finished_at: deque[float] = deque(maxlen=WINDOW)

    def finished(self) -> None:
        """One more item is done."""
        self._finished_at.append(time.monotonic())

    def per_s(self) -> float | None:
        """Items finished per second over the last ones, or since the beginning while they are few."""
        times = tuple(self._finished_at)
        if not times:
            return None
        whole = len(times) < WINDOW
        since, count = (self._began, len(times)) if whole else (times[0], len(times) - 1)
        return count / (times[-1] - since) if times[-1] > since else None
