"""The frozen bytes of fixtures, once per content."""

from __future__ import annotations

from sqlalchemy import select

from engine.errors import NotFoundError
from engine.store.database import Database
from engine.store.run_store import require_run
from engine.store.tables import blobs, run_blobs


class BlobStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, sha256: str) -> bytes:
        """Raises NotFoundError, code `fixture_not_found`."""
        with self._database.reading() as connection:
            content = connection.scalar(select(blobs.c.content).where(blobs.c.sha256 == sha256))
        return _found(content, sha256)

    def of_run(self, run_id: int, sha256: str) -> bytes:
        """Only what the run was frozen with. Raises NotFoundError, code `fixture_not_found`."""
        with self._database.reading() as connection:
            content = connection.scalar(
                select(blobs.c.content)
                .join_from(blobs, run_blobs)
                .where(run_blobs.c.run_id == run_id, blobs.c.sha256 == sha256)
            )
        return _found(content, sha256)

    def many(self, run_id: int) -> dict[str, bytes]:
        """All the run was frozen with, by SHA-256. Raises NotFoundError, code `run_not_found`."""
        with self._database.reading() as connection:
            require_run(connection, run_id)
            rows = connection.execute(select(blobs).join_from(blobs, run_blobs).where(run_blobs.c.run_id == run_id))
            return {row.sha256: bytes(row.content) for row in rows}


def _found(content: bytes | None, sha256: str) -> bytes:
    if content is None:
        raise NotFoundError(f"there is no fixture with SHA-256 {sha256}", code="fixture_not_found")
    return bytes(content)
