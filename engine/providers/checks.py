"""What keeps the check of a connection from being a scanner of ports: few at a time, and closed looks like filtered."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import Final

import httpx

from engine.domain.chat import Connection
from engine.domain.providers import CheckReport
from engine.errors import TooManyAttempts
from engine.providers import check
from engine.providers.addresses import is_ours

CHECKS_A_MINUTE: Final = 10
"""For each person."""

CONNECT_S: Final = 3.0
"""A check gives up connecting after so long, and says no sooner that an address elsewhere cannot be reached."""


class CheckBudget:
    """Who checked how often in the last minute. May be used from any thread; forgotten when the process ends."""

    def __init__(self) -> None:
        self._made: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def spend(self, who: str) -> None:
        """Count one check. Raises TooManyAttempts, and then it is not made."""
        now = time.monotonic()
        with self._lock:
            made = self._made.setdefault(who, deque())
            while made and made[0] <= now - 60:
                made.popleft()
            if len(made) >= CHECKS_A_MINUTE:
                left_s = made[0] + 60 - now
                raise TooManyAttempts(
                    f"{CHECKS_A_MINUTE} checks a minute are allowed; wait {left_s:.0f} s", retry_after_s=left_s
                )
            made.append(now)


async def discreet_check(model: Connection, name: str, *, base_url: str) -> CheckReport:
    """`check`, telling nothing by its time about an address elsewhere that cannot be reached.

    This machine answers at once: there nothing is filtered, and a wrong port is the most common mistake.
    """
    started = time.monotonic()
    report = await check(model, name)
    if report.error is None or report.error.code != "connection" or is_ours(httpx.URL(base_url).host, ()):
        return report
    await asyncio.sleep(max(0.0, started + CONNECT_S - time.monotonic()))
    return report.model_copy(update={"latency_ms": None})
