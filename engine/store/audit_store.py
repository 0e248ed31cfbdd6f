"""The audit trail: a chain of hashes, so that a row changed or taken out afterwards shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, func, insert, select, text

from engine.domain.base import Model, Page, Timestamp, utc_now
from engine.store.database import Database
from engine.store.tables import audit

START = "0" * 64
"""What the first row's `prev_hash` is."""

BATCH = 500


class AuditEntry(Model):
    """Who did what to which thing, and how it ended."""

    id: int
    at: Timestamp
    actor: str
    action: str
    object: str
    outcome: str
    request_id: str | None
    detail: dict[str, Any]
    prev_hash: str
    hash: str


class AuditStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self,
        *,
        actor: str,
        action: str,
        object: str,
        outcome: str = "ok",
        request_id: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> AuditEntry:
        """Add a row to the end of the chain."""
        values: dict[str, Any] = {
            "at": utc_now(),
            "actor": actor,
            "action": action,
            "object": object,
            "outcome": outcome,
            "request_id": request_id,
            "detail": json.dumps(dict(detail or {}), ensure_ascii=False, sort_keys=True),
        }
        with self._database.writing() as connection:
            last = connection.execute(select(audit.c.id, audit.c.hash).order_by(audit.c.id.desc()).limit(1)).first()
            values["prev_hash"] = START if last is None else last.hash
            values["hash"] = _hash(values)
            key = connection.execute(insert(audit).values(**values)).inserted_primary_key
            assert key is not None
        return AuditEntry(**{**values, "id": int(key[0]), "detail": json.loads(values["detail"])})

    def page(self, *, limit: int, offset: int) -> Page[AuditEntry]:
        """Newest first."""
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(audit)) or 0
            rows = connection.execute(select(audit).order_by(audit.c.id.desc()).limit(limit).offset(offset))
            return Page(items=tuple(_entry(row) for row in rows), total=total)

    def verify(self) -> int | None:
        """The id of the first row that was changed or is missing; None when the chain is whole."""
        expected, previous = 1, START
        with self._database.reading() as connection:
            while True:
                rows = connection.execute(
                    select(audit).where(audit.c.id >= expected).order_by(audit.c.id).limit(BATCH)
                ).all()
                for row in rows:
                    if row.id != expected or row.prev_hash != previous or _hash(row._asdict()) != row.hash:
                        return expected
                    expected, previous = expected + 1, row.hash
                if len(rows) < BATCH:
                    break
            # Ids are never reused, so SQLite remembers rows that were taken off the end.
            newest = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'audit'"))
        return expected if newest is not None and newest >= expected else None


def _hash(values: Mapping[str, Any]) -> str:
    names = ("at", "actor", "action", "object", "outcome", "request_id", "detail")
    parts = [values["prev_hash"], *(None if values[name] is None else str(values[name]) for name in names)]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(**{**row._mapping, "detail": json.loads(row.detail)})
