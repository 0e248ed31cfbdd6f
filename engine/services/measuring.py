"""A judge model measured beside the page that asked for it, so that the page can say how far it is and call it off."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import structlog

from engine.assembly import Engine
from engine.domain.accounts import User
from engine.domain.calibration import Calibration
from engine.errors import EngineError, UnavailableError
from engine.services import calibration
from engine.services.calibration import Columns, Judge, SourceFile

log = structlog.get_logger(__name__)

UNWATCHED_S = 180.0
"""Nobody waits any more when nobody has looked for so long: a browser asks a page it hides once a minute."""


class _CalledOffError(Exception):
    pass


class Measuring:
    """Starts at once, on a thread of its own; a call that is under way when it is called off may still cost money."""

    def __init__(
        self,
        engine: Engine,
        files: Sequence[SourceFile],
        columns: Columns,
        *,
        positive: Sequence[str],
        provider_id: int | None,
        model: str | None,
        actor: User,
    ) -> None:
        self.done = 0
        self.total: int | None = None
        """None until the files are read."""
        self._found: Calibration | None = None
        self._error: EngineError | None = None
        self._called_off = threading.Event()
        self._seen_at = time.monotonic()

        def work() -> None:
            try:
                self._found = calibration.measure(
                    engine,
                    Judge.LLM,
                    files,
                    columns,
                    positive=positive,
                    provider_id=provider_id,
                    model=model,
                    told=self._told,
                    actor=actor,
                )
            except _CalledOffError:
                self._called_off.set()
            except EngineError as error:
                self._error = error
            except Exception as error:  # noqa: BLE001
                kind = type(error).__name__  # the class only: the text may hold an answer
                log.error("measuring_failed", error=kind)
                self._error = UnavailableError(f"nothing was measured: unexpected {kind}")

        # A daemon: an interpreter that is to end does not wait for two thousand calls.
        self._thread = threading.Thread(target=work, name="measuring", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        self._seen_at = time.monotonic()
        return not self._thread.is_alive()

    @property
    def is_called_off(self) -> bool:
        return self._called_off.is_set()

    def call_off(self) -> None:
        """No call is made any more once this returns, and calls under way are given up."""
        self._called_off.set()
        self._thread.join()

    def result(self) -> Calibration | None:
        """The figures once it is over; None where it was called off. Raises what `calibration.measure` raises."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found

    def _told(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self._called_off.is_set() or time.monotonic() - self._seen_at > UNWATCHED_S:
            raise _CalledOffError
