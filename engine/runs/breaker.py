"""Tells a provider that is down, or refuses the key, from items that fail by themselves.

An item that could not reach its provider is held back, not stored. One that was asked after it and got through shows
that the failure was the item's own, and it is stored as an error; an answer to what was asked before shows nothing.
Several failures in a row raise a suspicion, which one small trial call settles: answered, the provider is up and the
items are asked once more; not answered, the circuit is open: no item is taken until a later trial call, after a growing
pause, is answered. What was held during an outage is then asked anew, as if nothing had happened.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from engine.domain.base import utc_now
from engine.domain.runs import Attempt, Execution, Waiting, WaitingReason
from engine.errors import ProviderError

KEY_REFUSED = "auth"
UNREACHED = ("connection", "tls", "timeout", "server_error")
"""Codes of errors that may mean that the provider is down."""

KEY_REFUSALS = 3
"""So many refused keys in a row end the run instead of burning the bank."""

SUSPICIOUS_ITEMS = 3
SUSPICIOUS_CALLS = 5
"""So many items, or calls with their repetitions, in a row without an answer ask for a trial; where few calls are made
at once, fewer, so that it does not take minutes of repetitions to find out."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""Between trial calls while the circuit is open: doubling from the one to the other."""

PATIENCE_AFTER_ANSWER_S = 10.0
"""A trial that was answered clears the provider for so long, whatever single calls do."""

OWN_FAULTS = 2
"""An item that fails so often while the provider answers others fails by itself."""

Failed = tuple[Execution, Attempt]


class _Held(NamedTuple):
    """`at`: when it came back, by the breaker's clock."""

    execution: Execution
    attempt: Attempt
    at: float


class Settled(NamedTuple):
    """What becomes of items that were held back."""

    store: list[Failed]
    """These failed by themselves."""
    ask_again: list[Execution]
    """These failed because nobody was there."""


NOTHING = Settled([], [])


class Breaker:
    """One run's view of its provider. No I/O; the clock is monotonic and can be given."""

    def __init__(self, *, at_once: int, pause_max_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`at_once`: how many items are in flight at most; `pause_max_s`: how long an outage is waited out."""
        self._suspicious_calls = min(SUSPICIOUS_CALLS, at_once + 2)
        self._pause_max_s = pause_max_s
        self._clock = clock
        self._held: list[_Held] = []
        self._faults: Counter[int] = Counter()
        self._refused = 0
        self._failed_items = 0
        self._cleared_until = -math.inf
        self._last_failure = -math.inf
        self._open_since: float | None = None
        self._waiting: Waiting | None = None
        self._next_trial = math.inf
        self._pause_s = FIRST_PAUSE_S
        self.reason_to_stop: str | None = None
        """Why the run has to end, once it has to."""

    @property
    def is_open(self) -> bool:
        return self._open_since is not None

    @property
    def holds(self) -> int:
        """Items held back."""
        return len(self._held)

    def waiting(self) -> Waiting | None:
        return self._waiting

    # -- what happened ----------------------------------------------------------------------------------------------

    def item(self, execution: Execution, attempt: Attempt, *, out_s: float) -> Settled:
        """An item came back from its provider: what may be stored now, this one included, and what is asked anew.

        `out_s`: how long ago its first call was asked for.
        """
        code = None if attempt.error is None else attempt.error.code
        now = self._clock()
        if code == KEY_REFUSED or code in UNREACHED:
            self._held.append(_Held(execution, attempt, now))
            self._last_failure = now
            if code == KEY_REFUSED:
                self._refuse(attempt.error.message if attempt.error is not None else "")
            else:
                self._failed_items += 1
            return NOTHING
        settled = self._answered(asked_at=now - out_s)
        return Settled([*settled.store, (execution, attempt)], settled.ask_again)

    def tick(self, calls_failed: int, *, idle: bool) -> bool:
        """Whether a trial call is due. `calls_failed` counts calls in a row without an answer.

        `idle`: nothing is in flight and no item is left but those held back, so that only a trial can tell.
        """
        now = self._clock()
        if self._open_since is not None:
            if now - self._open_since >= self._pause_max_s and self.reason_to_stop is None:
                told = self._waiting.message if self._waiting is not None else "the provider is down"
                self.reason_to_stop = f"{told}; given up after {self._pause_max_s:g} s, resume to go on"
            return now >= self._next_trial
        if idle and self._held:
            return True
        suspicious = self._failed_items >= SUSPICIOUS_ITEMS or calls_failed >= self._suspicious_calls
        return suspicious and now >= self._cleared_until

    def trial(self, error: ProviderError | None) -> Settled:
        """A trial call was answered (None), or failed."""
        now = self._clock()
        if error is not None and error.code in UNREACHED:
            self._open(error, now)
            return NOTHING
        if error is not None and error.code == KEY_REFUSED:
            self._close()
            self._refuse(error.message)
            return NOTHING
        self._cleared_until = now + PATIENCE_AFTER_ANSWER_S
        return self._answered(asked_at=math.inf)

    # -- what follows -----------------------------------------------------------------------------------------------

    def _answered(self, *, asked_at: float) -> Settled:
        """Somebody was there at `asked_at` or later. Decides about what had come back by then."""
        if self._open_since is not None and asked_at < self._open_since:
            return NOTHING
        held = [each for each in self._held if each.at <= asked_at]
        self._held = [each for each in self._held if each.at > asked_at]
        was_open, few = self.is_open, self._failed_items < SUSPICIOUS_ITEMS
        self._close()
        if self._last_failure <= asked_at:
            self._refused = self._failed_items = 0
        if was_open:
            return Settled([], [each.execution for each in held])
        if few:
            return Settled([(each.execution, each.attempt) for each in held], [])
        store: list[Failed] = []
        again: list[Execution] = []
        for execution, attempt, _ in held:
            self._faults[execution.execution_id] += 1
            if self._faults[execution.execution_id] >= OWN_FAULTS:
                store.append((execution, attempt))
            else:
                again.append(execution)
        return Settled(store, again)

    def _open(self, error: ProviderError, now: float) -> None:
        if self._open_since is None:
            self._open_since, self._pause_s = now, FIRST_PAUSE_S
            since = utc_now()
            until = _later(since, self._pause_max_s)
        else:
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
            assert self._waiting is not None
            since, until = self._waiting.since, self._waiting.until
        self._next_trial = now + self._pause_s
        self._waiting = Waiting(reason=WaitingReason.PROVIDER_DOWN, since=since, until=until, message=error.message)

    def _close(self) -> None:
        self._open_since = self._waiting = None
        self._next_trial = math.inf

    def _refuse(self, message: str) -> None:
        self._refused += 1
        if self._refused >= KEY_REFUSALS:
            self.reason_to_stop = f"the key was refused {KEY_REFUSALS} times in a row (key_refused): {message}"


def _later(moment: datetime, seconds: float) -> datetime | None:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return None
