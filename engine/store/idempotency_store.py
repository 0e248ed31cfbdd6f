"""Idempotency keys: a request that is sent again is answered again, not done again."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, delete, insert, select, update

from engine.domain.base import Model, utc_now
from engine.store.database import Database
from engine.store.tables import idempotency_keys

KEY_LIFE = timedelta(hours=24)
ABANDONED_AFTER = timedelta(minutes=2)
"""A request still in progress after this has died with its process; the same request may try again."""

RUNS_ROUTE = "runs"


class IdempotencyKey(Model):
    """A key as one user sent it; another user's same key is another key."""

    user_id: int
    key: str
    body_hash: str


class KeyStatus(StrEnum):
    NEW = "new"
    """Nobody has done this yet: do it, then `finish` or `abandon`."""
    IN_PROGRESS = "in_progress"
    DONE = "done"
    CONFLICT = "conflict"
    """The key was used with another body."""


class KeyState(Model):
    status: KeyStatus
    response: str | None = None
    """The answer given, where the status is done."""
    run_id: int | None = None


class IdempotencyStore:
    """For routes other than creating runs, which keeps its key in the transaction that makes the run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, user_id: int, route: str, key: str, body_hash: str) -> KeyState:
        """Claim the key, or say what became of it. Of simultaneous callers exactly one gets `new`."""
        now = utc_now()
        with self._database.writing() as connection:
            connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at <= now - KEY_LIFE))
            row = connection.execute(select(idempotency_keys).where(*_is(user_id, route, key))).first()
            if row is not None and row.body_hash != body_hash:
                return KeyState(status=KeyStatus.CONFLICT)
            if row is not None and row.status == KeyStatus.DONE:
                return KeyState(status=KeyStatus.DONE, response=row.response, run_id=row.run_id)
            if row is not None and row.created_at > now - ABANDONED_AFTER:
                return KeyState(status=KeyStatus.IN_PROGRESS)
            connection.execute(delete(idempotency_keys).where(*_is(user_id, route, key)))
            connection.execute(
                insert(idempotency_keys).values(
                    user_id=user_id,
                    route=route,
                    key=key,
                    body_hash=body_hash,
                    status=KeyStatus.IN_PROGRESS.value,
                    created_at=now,
                )
            )
            return KeyState(status=KeyStatus.NEW)

    def finish(self, user_id: int, route: str, key: str, *, response: str, run_id: int | None = None) -> None:
        """Keep the answer for whoever sends the request again."""
        with self._database.writing() as connection:
            connection.execute(
                update(idempotency_keys)
                .where(*_is(user_id, route, key))
                .values(status=KeyStatus.DONE.value, response=response, run_id=run_id)
            )

    def abandon(self, user_id: int, route: str, key: str) -> None:
        """The request failed and left nothing: the key is free again. An answer that was kept stays."""
        with self._database.writing() as connection:
            connection.execute(
                delete(idempotency_keys).where(
                    *_is(user_id, route, key), idempotency_keys.c.status == KeyStatus.IN_PROGRESS.value
                )
            )


def _is(user_id: int, route: str, key: str) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency_keys.c.user_id == user_id,
        idempotency_keys.c.route == route,
        idempotency_keys.c.key == key,
    )
