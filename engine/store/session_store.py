"""Signed-in sessions, their refresh tokens and one-time codes, and failed sign-ins. Only hashes of secrets are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from engine.domain.base import Model, Timestamp, utc_now
from engine.errors import NotFoundError
from engine.store.database import Database
from engine.store.tables import login_failures, one_time_codes, refresh_tokens, sessions
from engine.store.user_store import require_user


class StoredSession(Model):
    """A session as stored; whether it is alive is for the accounts to say."""

    id: int
    user_id: int
    generation: int
    """0 for the tokens of the sign-in, one more with each rotation."""
    refresh_hash: str
    previous_refresh_hash: str | None
    cookie_hash: str | None
    access_expires: Timestamp
    refresh_expires: Timestamp
    replay_key: str | None
    replay_ciphertext: bytes | None = Field(repr=False)
    replay_until: Timestamp | None
    created_at: Timestamp
    revoked_at: Timestamp | None
    revoke_reason: str | None


class LoginFailures(Model):
    """Failed sign-ins of one account since the last good one."""

    count: int
    last_at: Timestamp | None


class SessionStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        user_id: int,
        *,
        refresh_hash: str,
        cookie_hash: str | None = None,
        access_expires: datetime,
        refresh_expires: datetime,
    ) -> StoredSession:
        """Raises NotFoundError, code `user_not_found`, when the user is gone."""
        with self._database.writing() as connection:
            require_user(connection, user_id)
            key = connection.execute(
                insert(sessions).values(
                    user_id=user_id,
                    refresh_hash=refresh_hash,
                    generation=0,
                    cookie_hash=cookie_hash,
                    access_expires=access_expires,
                    refresh_expires=refresh_expires,
                    created_at=utc_now(),
                )
            ).inserted_primary_key
            assert key is not None
            connection.execute(insert(refresh_tokens).values(hash=refresh_hash, session_id=int(key[0]), generation=0))
            return _get(connection, int(key[0]))

    def get(self, session_id: int) -> StoredSession:
        """Raises NotFoundError, code `session_not_found`."""
        with self._database.reading() as connection:
            return _get(connection, session_id)

    def by_cookie_hash(self, cookie_hash: str) -> StoredSession | None:
        with self._database.reading() as connection:
            row = connection.execute(select(sessions).where(sessions.c.cookie_hash == cookie_hash)).first()
        return None if row is None else _session(row)

    def by_refresh_hash(self, refresh_hash: str) -> StoredSession | None:
        """The session that has or ever had this token: compare with `refresh_hash` (current) and
        `previous_refresh_hash`; a token that is neither is older."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(sessions).join_from(sessions, refresh_tokens).where(refresh_tokens.c.hash == refresh_hash)
            ).first()
        return None if row is None else _session(row)

    def rotate(
        self,
        session_id: int,
        *,
        expected_current_hash: str,
        new_hash: str,
        replay_key: str,
        replay_ciphertext: bytes,
        replay_until: datetime,
        access_expires: datetime,
        refresh_expires: datetime,
    ) -> bool:
        """Replace the refresh token if it is still the expected one and the session is not revoked.

        Returns:
            Whether this call won; of simultaneous calls with one token exactly one does.
        """
        with self._database.writing() as connection:
            generation = connection.scalar(
                update(sessions)
                .where(
                    sessions.c.id == session_id,
                    sessions.c.refresh_hash == expected_current_hash,
                    sessions.c.revoked_at.is_(None),
                )
                .values(
                    refresh_hash=new_hash,
                    previous_refresh_hash=expected_current_hash,
                    generation=sessions.c.generation + 1,
                    replay_key=replay_key,
                    replay_ciphertext=replay_ciphertext,
                    replay_until=replay_until,
                    access_expires=access_expires,
                    refresh_expires=refresh_expires,
                )
                .returning(sessions.c.generation)
            )
            if generation is None:
                return False
            connection.execute(
                insert(refresh_tokens).values(hash=new_hash, session_id=session_id, generation=generation)
            )
            return True

    def slide(self, session_id: int, expires: datetime) -> bool:
        """Move the end of a session that is not revoked; whether there was one."""
        return self._update(session_id, refresh_expires=expires)

    def set_cookie(self, session_id: int, cookie_hash: str | None) -> bool:
        """Tie a cookie to a session that is not revoked; whether there was one."""
        return self._update(session_id, cookie_hash=cookie_hash)

    def revoke(self, session_id: int, *, reason: str = "") -> bool:
        """End the session and forget its replayable answer; whether it was alive."""
        return self._update(
            session_id,
            revoked_at=utc_now(),
            revoke_reason=reason,
            replay_key=None,
            replay_ciphertext=None,
            replay_until=None,
        )

    def revoke_all(self, user_id: int, *, except_id: int | None = None, reason: str = "") -> list[int]:
        """End every session of the user but one; the ids of those that were alive."""
        wanted = [sessions.c.user_id == user_id, sessions.c.revoked_at.is_(None)]
        if except_id is not None:
            wanted.append(sessions.c.id != except_id)
        with self._database.writing() as connection:
            ended = connection.scalars(
                update(sessions)
                .where(*wanted)
                .values(
                    revoked_at=utc_now(),
                    revoke_reason=reason,
                    replay_key=None,
                    replay_ciphertext=None,
                    replay_until=None,
                )
                .returning(sessions.c.id)
            ).all()
        return sorted(ended)

    def _update(self, session_id: int, **values: Any) -> bool:
        with self._database.writing() as connection:
            changed = connection.execute(
                update(sessions).where(sessions.c.id == session_id, sessions.c.revoked_at.is_(None)).values(**values)
            )
            return bool(changed.rowcount)

    def remove_expired(self, before: datetime) -> int:
        """Forget sessions that ended before then; how many."""
        with self._database.writing() as connection:
            return connection.execute(delete(sessions).where(sessions.c.refresh_expires < before)).rowcount

    def put_code(self, code_hash: str, session_id: int, expires: datetime) -> None:
        """A one-time code for this session."""
        with self._database.writing() as connection:
            connection.execute(insert(one_time_codes).values(hash=code_hash, session_id=session_id, expires=expires))

    def take_code(self, code_hash: str, now: datetime) -> StoredSession | None:
        """The session of a code that is still good, once: of simultaneous calls exactly one gets it."""
        with self._database.writing() as connection:
            taken = connection.execute(
                delete(one_time_codes)
                .where(one_time_codes.c.hash == code_hash)
                .returning(one_time_codes.c.session_id, one_time_codes.c.expires)
            ).first()
            connection.execute(delete(one_time_codes).where(one_time_codes.c.expires <= now))
            if taken is None or taken.expires <= now:
                return None
            return _get(connection, taken.session_id)

    def failures(self, account: str) -> LoginFailures:
        """Of a name as typed, whether there is such a user or not."""
        with self._database.reading() as connection:
            return _failures(connection, account)

    def add_failure(self, account: str, at: datetime | None = None) -> LoginFailures:
        """Count one more; the new count."""
        moment = at or utc_now()
        statement = insert_or(login_failures).values(account=account, count=1, last_at=moment)
        statement = statement.on_conflict_do_update(
            index_elements=[login_failures.c.account],
            set_={"count": login_failures.c.count + 1, "last_at": statement.excluded.last_at},
        )
        with self._database.writing() as connection:
            connection.execute(statement)
            return _failures(connection, account)

    def clear_failures(self, account: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(login_failures).where(login_failures.c.account == account))

    def remove_failures(self, before: datetime) -> int:
        """Forget accounts whose last failure is older than that; how many."""
        with self._database.writing() as connection:
            return connection.execute(delete(login_failures).where(login_failures.c.last_at < before)).rowcount


def _failures(connection: Connection, account: str) -> LoginFailures:
    row = connection.execute(
        select(login_failures.c["count"], login_failures.c.last_at).where(login_failures.c.account == account)
    ).first()
    return LoginFailures(count=0, last_at=None) if row is None else LoginFailures(count=row[0], last_at=row.last_at)


def _get(connection: Connection, session_id: int) -> StoredSession:
    row = connection.execute(select(sessions).where(sessions.c.id == session_id)).first()
    if row is None:
        raise NotFoundError(f"there is no session {session_id}", code="session_not_found")
    return _session(row)


def _session(row: Row[Any]) -> StoredSession:
    return StoredSession(**row._mapping)
