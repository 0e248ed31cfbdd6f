"""How long an account must wait after failed sign-ins. It slows guessing; it never touches a session that is open."""

from __future__ import annotations

from datetime import datetime, timedelta

FREE_FAILURES = 5
"""So many may fail before the first wait."""

FIRST_WAIT_S = 15.0
LONGEST_WAIT_S = 900.0

FORGOTTEN_AFTER = timedelta(hours=24)


def wait_s(failures: int) -> float:
    """Seconds to wait after so many failures in a row: none, then 15, doubling, at most 15 minutes."""
    if failures < FREE_FAILURES:
        return 0.0
    # 2 ** 6 is past the cap already; without the bound a patient attacker makes us raise 2 to the thousands.
    return min(FIRST_WAIT_S * 2.0 ** min(failures - FREE_FAILURES, 6), LONGEST_WAIT_S)


def remaining_s(failures: int, *, last_at: datetime, now: datetime) -> float:
    """Seconds still to wait; never negative, and never longer than the whole wait when the clock went back."""
    elapsed_s = max(0.0, (now - last_at).total_seconds())
    return max(0.0, wait_s(failures) - elapsed_s)
