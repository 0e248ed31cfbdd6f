"""Configured endpoints. Keys come and go encrypted; nobody here can read them."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from engine.domain.base import utc_now
from engine.domain.providers import Provider, ProviderChange, ProviderDraft
from engine.errors import ConflictError, NotFoundError
from engine.store.database import Database
from engine.store.run_store import provider_in_use
from engine.store.tables import providers

FLAGS = ("is_default", "is_default_judge")


class ProviderStore:
    """At most one provider is the default, and at most one the default judge."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self) -> list[Provider]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return [_provider(row) for row in connection.execute(select(providers).order_by(providers.c.name))]

    def get(self, provider_id: int) -> Provider:
        """Raises NotFoundError, code `provider_not_found`."""
        with self._database.reading() as connection:
            return _get(connection, provider_id)

    def by_name(self, name: str) -> Provider | None:
        return self._first(providers.c.name == name)

    def default(self) -> Provider | None:
        return self._first(providers.c.is_default)

    def default_judge(self) -> Provider | None:
        return self._first(providers.c.is_default_judge)

    def _first(self, condition: Any) -> Provider | None:
        with self._database.reading() as connection:
            row = connection.execute(select(providers).where(condition)).first()
        return None if row is None else _provider(row)

    def create(self, draft: ProviderDraft, *, key_ciphertext: bytes | None = None, hint: str = "") -> Provider:
        """Raises ConflictError, code `name_taken`."""
        values = _columns(draft.model_dump(exclude={"api_key"}, mode="python"))
        with self._database.writing() as connection:
            _clear_flags(connection, values)
            try:
                key = connection.execute(
                    insert(providers).values(
                        **values, key_ciphertext=key_ciphertext, key_hint=hint, created_at=utc_now()
                    )
                ).inserted_primary_key
            except IntegrityError as error:
                raise _name_taken(draft.name) from error
            assert key is not None
            return _get(connection, int(key[0]))

    def change(
        self,
        provider_id: int,
        change: ProviderChange,
        *,
        key_ciphertext: bytes | None = None,
        hint: str = "",
    ) -> Provider:
        """Change what the change names. The key changes only if the change has an `api_key`: to `key_ciphertext`,
        and to no key if that is None.

        Raises:
            NotFoundError: code `provider_not_found`.
            ConflictError: code `name_taken`; code `provider_in_use` while a run that is not over asks it.
        """
        values = _columns(change.model_dump(exclude={"api_key"}, exclude_unset=True))
        if change.api_key is not None:
            values |= {"key_ciphertext": key_ciphertext, "key_hint": hint}
        with self._database.writing() as connection:
            _get(connection, provider_id)
            _require_idle(connection, provider_id)
            if values:
                _clear_flags(connection, values)
                try:
                    connection.execute(update(providers).where(providers.c.id == provider_id).values(**values))
                except IntegrityError as error:
                    raise _name_taken(str(change.name)) from error
            return _get(connection, provider_id)

    def delete(self, provider_id: int) -> None:
        """Raises as `change` does."""
        with self._database.writing() as connection:
            _get(connection, provider_id)
            _require_idle(connection, provider_id)
            connection.execute(delete(providers).where(providers.c.id == provider_id))

    def key_ciphertext(self, provider_id: int) -> bytes | None:
        """The encrypted key, None where there is none. Raises NotFoundError, code `provider_not_found`."""
        with self._database.reading() as connection:
            row = connection.execute(select(providers.c.key_ciphertext).where(providers.c.id == provider_id)).first()
        if row is None:
            raise _not_found(provider_id)
        return None if row.key_ciphertext is None else bytes(row.key_ciphertext)


NULLABLE = frozenset({"requests_per_minute", "timeout_seconds", "connect_timeout_seconds", "ca_file"})


def _columns(values: dict[str, Any]) -> dict[str, Any]:
    """Column values; a null where the column has none means "as it is"."""
    kept = {name: value for name, value in values.items() if value is not None or name in NULLABLE}
    for name in ("extra_headers", "extra_body"):
        if name in kept:
            kept[name] = to_json(kept[name]).decode()
    if "kind" in kept:
        kept["kind"] = kept["kind"].value
    return kept


def _clear_flags(connection: Connection, values: dict[str, Any]) -> None:
    for flag in FLAGS:
        if values.get(flag):
            connection.execute(update(providers).where(providers.c[flag]).values({flag: False}))


def _require_idle(connection: Connection, provider_id: int) -> None:
    if provider_in_use(connection, provider_id):
        raise ConflictError(
            f"a run that is not over uses provider {provider_id}; wait for it or cancel it", code="provider_in_use"
        )


def _name_taken(name: str) -> ConflictError:
    return ConflictError(f"there is a provider named {name!r} already; choose another name", code="name_taken")


def _not_found(provider_id: int) -> NotFoundError:
    return NotFoundError(f"there is no provider {provider_id}", code="provider_not_found")


def _get(connection: Connection, provider_id: int) -> Provider:
    row = connection.execute(select(providers).where(providers.c.id == provider_id)).first()
    if row is None:
        raise _not_found(provider_id)
    return _provider(row)


def _provider(row: Row[Any]) -> Provider:
    return Provider(
        id=row.id,
        name=row.name,
        kind=row.kind,
        base_url=row.base_url,
        default_model=row.default_model,
        is_default=row.is_default,
        is_default_judge=row.is_default_judge,
        max_concurrency=row.max_concurrency,
        requests_per_minute=row.requests_per_minute,
        timeout_seconds=row.timeout_seconds,
        connect_timeout_seconds=row.connect_timeout_seconds,
        stream=row.stream,
        use_proxy=row.use_proxy,
        ca_file=row.ca_file,
        verify_tls=row.verify_tls,
        extra_headers=from_json(row.extra_headers),
        extra_body=from_json(row.extra_body),
        api_key_set=row.key_ciphertext is not None,
        api_key_hint=row.key_hint,
        created_at=row.created_at,
    )
