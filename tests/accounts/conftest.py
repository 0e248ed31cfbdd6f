"""A real database in a scratch folder, accounts over it, and a clock that stands still until it is moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from pydantic import SecretStr

from engine.accounts import Accounts
from engine.accounts.passwords import Passwords
from engine.domain.accounts import Role, User
from engine.store import Database, Stores

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECRET = SecretStr("a token secret of more than thirty-two characters")
PASSWORD = "correct horse battery"
ROUNDS = 1000


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def database(clock: time_machine.Traveller, tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'accounts.db'}")
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def stores(database: Database) -> Stores:
    """With an administrator nobody can sign in as: there must always be one."""
    stores = Stores.over(database)
    stores.users.create("root", password_hash="", role=Role.ADMIN)
    return stores


@pytest.fixture
def build(stores: Stores) -> Callable[..., Accounts]:
    """Accounts over the same database, as another process or with other settings."""

    def make(**changes: object) -> Accounts:
        settings = {
            "token_secret": SECRET,
            "access_ttl_s": 3600,
            "refresh_window_s": 1800,
            "refresh_ttl_s": 28800,
            "production": False,
            "password_rounds": ROUNDS,
        }
        return Accounts(stores, **(settings | changes))  # type: ignore[arg-type]

    return make


@pytest.fixture
def accounts(build: Callable[..., Accounts]) -> Accounts:
    return build()


@pytest.fixture
def make_user(stores: Stores) -> Callable[..., User]:
    hasher = Passwords(rounds=ROUNDS)

    def make(username: str = "wang", *, role: Role = Role.REVIEWER, password: str = PASSWORD, **more: object) -> User:
        return stores.users.create(
            username,
            display_name=username.title(),
            role=role,
            password_hash=hasher.hash(password),
            must_change_password=bool(more.get("must_change_password", False)),
        )

    return make


@pytest.fixture
def user(make_user: Callable[..., User]) -> User:
    return make_user()
