"""What happened to accounts and sessions, for the audit trail. When it cannot be written, the act fails too."""

from __future__ import annotations

from typing import Any

import structlog

from engine.store import AuditStore

LONGEST_NAME = 150


class Trail:
    """The audit trail as seen from here: the actor may be a name that nobody has."""

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    def note(self, actor: str, action: str, target: str, *, outcome: str = "ok", **detail: Any) -> None:
        """Append one row, with the id of the request that caused it where there is one.

        Raises:
            UnavailableError: it cannot be written.
        """
        self._store.append(
            actor=_printable(actor),
            action=action,
            object=target,
            outcome=outcome,
            request_id=structlog.contextvars.get_contextvars().get("request_id"),
            detail=detail,
        )


def _printable(name: str) -> str:
    """A name somebody typed, on one line and without control characters."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:LONGEST_NAME])
