"""People with accounts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from engine.domain.accounts import Role, User
from engine.domain.base import Page, utc_now
from engine.errors import ConflictError, NotFoundError
from engine.store.database import Database
from engine.store.tables import users


class UserStore:
    """There is always an active admin: what would take the last one away raises ConflictError, code `last_admin`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        username: str,
        *,
        password_hash: str,
        role: Role,
        display_name: str = "",
        must_change_password: bool = False,
    ) -> User:
        """Raises ConflictError, code `username_taken`."""
        now = utc_now()
        with self._database.writing() as connection:
            try:
                key = connection.execute(
                    insert(users).values(
                        username=username,
                        display_name=display_name or username,
                        role=role.value,
                        is_active=True,
                        must_change_password=must_change_password,
                        password_hash=password_hash,
                        created_at=now,
                        password_changed_at=now,
                    )
                ).inserted_primary_key
            except IntegrityError as error:
                raise ConflictError(
                    f"there is a user {username!r} already; choose another name", code="username_taken"
                ) from error
            assert key is not None
            return _get(connection, int(key[0]))

    def by_name(self, username: str) -> User | None:
        with self._database.reading() as connection:
            row = connection.execute(select(users).where(users.c.username == username)).first()
        return None if row is None else _user(row)

    def by_id(self, user_id: int) -> User:
        """Raises NotFoundError, code `user_not_found`."""
        with self._database.reading() as connection:
            return _get(connection, user_id)

    def page(self, *, limit: int, offset: int) -> Page[User]:
        """By name."""
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(users)) or 0
            rows = connection.execute(select(users).order_by(users.c.username).limit(limit).offset(offset))
            return Page(items=tuple(_user(row) for row in rows), total=total)

    def password_hash(self, user_id: int) -> str:
        """Raises NotFoundError, code `user_not_found`."""
        return str(self._value(user_id, "password_hash"))

    def password_changed_at(self, user_id: int) -> datetime:
        """Raises NotFoundError, code `user_not_found`."""
        changed: datetime = self._value(user_id, "password_changed_at")
        return changed

    def _value(self, user_id: int, column: str) -> Any:
        with self._database.reading() as connection:
            found = connection.scalar(select(users.c[column]).where(users.c.id == user_id))
        if found is None:
            raise _not_found(user_id)
        return found

    def set_password(self, user_id: int, password_hash: str, *, must_change: bool = False) -> None:
        """A new password; ending sessions is the caller's."""
        self._change(
            user_id, password_hash=password_hash, must_change_password=must_change, password_changed_at=utc_now()
        )

    def upgrade_hash(self, user_id: int, password_hash: str) -> None:
        """The same password under better parameters."""
        self._change(user_id, password_hash=password_hash)

    def set_role(self, user_id: int, role: Role) -> User:
        return self._change(user_id, role=role.value)

    def set_active(self, user_id: int, is_active: bool) -> User:
        return self._change(user_id, is_active=is_active)

    def set_display_name(self, user_id: int, display_name: str) -> User:
        return self._change(user_id, display_name=display_name)

    def change(
        self,
        user_id: int,
        *,
        role: Role | None = None,
        display_name: str | None = None,
        is_active: bool | None = None,
    ) -> User:
        """Several at once; None leaves as it is."""
        values = {"role": None if role is None else role.value, "display_name": display_name, "is_active": is_active}
        return self._change(user_id, **{name: value for name, value in values.items() if value is not None})

    def delete(self, user_id: int) -> None:
        """With the sessions; what the user did stays, under the name."""
        with self._database.writing() as connection:
            _get(connection, user_id)
            connection.execute(delete(users).where(users.c.id == user_id))
            _require_admin(connection, user_id)

    def _change(self, user_id: int, **values: Any) -> User:
        with self._database.writing() as connection:
            _get(connection, user_id)
            if values:
                connection.execute(update(users).where(users.c.id == user_id).values(**values))
                _require_admin(connection, user_id)
            return _get(connection, user_id)


def _require_admin(connection: Connection, user_id: int) -> None:
    """Raises ConflictError, which undoes the change, when nobody active is an admin now."""
    if (
        connection.scalar(select(users.c.id).where(users.c.role == Role.ADMIN.value, users.c.is_active).limit(1))
        is None
    ):
        raise ConflictError(f"user {user_id} is the last active admin; make another one first", code="last_admin")


def require_user(connection: Connection, user_id: int) -> None:
    """Raises NotFoundError, code `user_not_found`."""
    _get(connection, user_id)


def _not_found(user_id: int) -> NotFoundError:
    return NotFoundError(f"there is no user {user_id}", code="user_not_found")


def _get(connection: Connection, user_id: int) -> User:
    row = connection.execute(select(users).where(users.c.id == user_id)).first()
    if row is None:
        raise _not_found(user_id)
    return _user(row)


def _user(row: Row[Any]) -> User:
    return User(
        id=row.id,
        username=row.username,
        display_name=row.display_name,
        role=Role(row.role),
        is_active=row.is_active,
        must_change_password=row.must_change_password,
        created_at=row.created_at,
    )
