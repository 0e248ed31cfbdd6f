"""Signing in and changing the password (RELIABILITY E2, E3, E6, E15, I4, I7)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog
import time_machine
from pydantic import SecretStr

from engine.accounts import Accounts
from engine.accounts.passwords import Passwords
from engine.domain.accounts import Role, User
from engine.errors import EngineError, InputError, NotAuthenticated, PermissionDenied, TooManyAttempts, UnavailableError
from engine.store import Stores

from .conftest import PASSWORD, ROUNDS

NEW_PASSWORD = "staple battery horse"


def _fails(accounts: Accounts, username: str, password: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        accounts.login(username, password, client="10.0.0.1")
    return caught.value


def _rows(stores: Stores, action: str) -> list[tuple[str, str, str]]:
    items = stores.audit.page(limit=500, offset=0).items
    return [(row.actor, row.object, row.outcome) for row in items if row.action == action]


def test_the_first_start_creates_the_default_administrator_and_later_ones_leave_it_alone(
    accounts: Accounts, stores: Stores
) -> None:
    assert accounts.ensure_default_admin()
    tokens = accounts.login("gly", "maxta2026", client="127.0.0.1")
    assert tokens.user.role is Role.ADMIN
    assert tokens.user.must_change_password
    assert tokens.warning is not None
    accounts.change_password("maxta2026", NEW_PASSWORD, actor=tokens.user)
    assert not accounts.ensure_default_admin()
    assert _fails(accounts, "gly", "maxta2026").code == "invalid_credentials"
    tokens = accounts.login("gly", NEW_PASSWORD, client="127.0.0.1")
    assert not tokens.user.must_change_password
    assert tokens.warning is None
    assert list(_rows(stores, "user.create")) == [("system", f"user:{tokens.user.id}", "ok")]


def test_processes_that_start_together_create_one_administrator(build: Callable[..., Accounts], stores: Stores) -> None:
    # Slow enough that all of them have looked before the first has written.
    processes = [build(password_rounds=200_000) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        created = list(pool.map(lambda process: process.ensure_default_admin(), processes))
    assert sorted(created) == [False, False, False, True]
    assert [user.username for user in stores.users.page(limit=9, offset=0).items] == ["gly", "root"]


def test_in_production_the_default_password_allows_nothing_but_to_change_it(build: Callable[..., Accounts]) -> None:
    accounts = build(production=True)
    accounts.ensure_default_admin()
    user = accounts.login("gly", "maxta2026", client="127.0.0.1").user
    with pytest.raises(PermissionDenied) as caught:
        accounts.require_own_password(user)
    assert caught.value.code == "password_change_required"
    build(production=False).require_own_password(user)
    accounts.change_password("maxta2026", NEW_PASSWORD, actor=user)
    accounts.require_own_password(accounts.login("gly", NEW_PASSWORD, client="127.0.0.1").user)


@pytest.mark.parametrize("secret", ["", "x" * 31])
def test_production_refuses_a_weak_secret(build: Callable[..., Accounts], secret: str) -> None:
    with pytest.raises(InputError) as caught:
        build(production=True, token_secret=SecretStr(secret))
    assert caught.value.code == "weak_secret"
    assert "AUTH_TOKEN_SECRET" in caught.value.message


def test_every_reason_to_refuse_a_sign_in_looks_the_same(
    accounts: Accounts, stores: Stores, user: User, make_user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    disabled = make_user("gone")
    stores.users.set_active(disabled.id, False)
    checked: list[bool] = []
    verify = Passwords.verify

    def counting(self: Passwords, password: str, record: str | None) -> bool:
        checked.append(record is None)
        return verify(self, password, record)

    monkeypatch.setattr(Passwords, "verify", counting)
    refused = [
        _fails(accounts, "nobody", PASSWORD),
        _fails(accounts, user.username, "wrong"),
        _fails(accounts, disabled.username, PASSWORD),
    ]
    assert all(isinstance(error, NotAuthenticated) for error in refused)
    assert len({(error.code, error.message) for error in refused}) == 1
    assert checked == [True, False, False]


def test_an_account_is_throttled_after_five_failures_whoever_tries_and_an_open_session_goes_on(
    accounts: Accounts, user: User, clock: time_machine.Traveller
) -> None:
    open_tokens = accounts.login(user.username, PASSWORD, client="127.0.0.1")
    for client in range(5):
        with pytest.raises(NotAuthenticated):
            accounts.login(user.username, "wrong", client=f"10.0.0.{client}")
    for expected_s in (15, 30, 60, 120, 240, 480, 900, 900):
        with pytest.raises(TooManyAttempts) as caught:
            accounts.login(user.username, PASSWORD, client="10.9.9.9")  # even the right one: it could be a guess
        assert caught.value.retry_after_s == expected_s
        accounts.sessions.authenticate(open_tokens.access_token)
        clock.shift(expected_s)
        assert _fails(accounts, user.username, "wrong").code == "invalid_credentials"
    clock.shift(900)
    accounts.login(user.username, PASSWORD, client="127.0.0.1")
    assert _fails(accounts, user.username, "wrong").code == "invalid_credentials"


def test_an_unknown_name_is_throttled_like_a_known_one_however_it_is_spelled(accounts: Accounts) -> None:
    for spelling in ("nobody", "Nobody", " nobody ", "ｎｏｂｏｄｙ", "NOBODY"):
        assert _fails(accounts, spelling, "wrong").code == "invalid_credentials"
    assert _fails(accounts, "nobody", "wrong").code == "too_many_attempts"
    assert _fails(accounts, "somebody", "wrong").code == "invalid_credentials"


def test_failures_are_forgotten_after_a_day(accounts: Accounts, user: User, clock: time_machine.Traveller) -> None:
    for _ in range(5):
        _fails(accounts, user.username, "wrong")
    clock.shift(86_400 + 1)
    for _ in range(4):
        assert _fails(accounts, user.username, "wrong").code == "invalid_credentials"
    accounts.login(user.username, PASSWORD, client="127.0.0.1")


def test_a_right_password_forgives_the_failures_before_it(accounts: Accounts, user: User) -> None:
    for _ in range(3):
        for _ in range(4):
            assert _fails(accounts, user.username, "wrong").code == "invalid_credentials"
        accounts.login(user.username, PASSWORD, client="127.0.0.1")


def test_a_record_with_fewer_rounds_is_upgraded_at_the_next_sign_in(
    accounts: Accounts, stores: Stores, make_user: Callable[..., User], build: Callable[..., Accounts]
) -> None:
    user = make_user("old")
    before = accounts.login("old", PASSWORD, client="127.0.0.1")
    build(password_rounds=2 * ROUNDS).login("old", PASSWORD, client="127.0.0.1")
    record = stores.users.password_hash(user.id)
    assert record is not None
    assert record.split("$")[1] == str(2 * ROUNDS)
    accounts.login("old", PASSWORD, client="127.0.0.1")
    accounts.sessions.authenticate(before.access_token)  # an upgrade is no change of the password


def test_a_megabyte_is_no_password(accounts: Accounts, user: User) -> None:
    assert _fails(accounts, user.username, "x" * 1_000_000).code == "password_too_long"


def test_changing_the_password_kills_every_token_of_that_user_and_of_nobody_else(
    accounts: Accounts, user: User, make_user: Callable[..., User], stores: Stores
) -> None:
    make_user("li")
    other = accounts.login("li", PASSWORD, client="127.0.0.1")
    mine = [accounts.login(user.username, PASSWORD, client="127.0.0.1") for _ in range(2)]
    browser = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    accounts.change_password(PASSWORD, NEW_PASSWORD, actor=user)
    for tokens in mine:
        with pytest.raises(NotAuthenticated) as caught:
            accounts.sessions.authenticate(tokens.access_token)
        assert caught.value.code == "session_revoked"
    assert accounts.sessions.by_id(browser.session_id) is None
    accounts.sessions.authenticate(other.access_token)
    assert _fails(accounts, user.username, PASSWORD).code == "invalid_credentials"
    accounts.login(user.username, NEW_PASSWORD, client="127.0.0.1")
    assert _rows(stores, "user.change_password") == [("wang", f"user:{user.id}", "ok")]


@pytest.mark.parametrize(
    ("current", "new", "code"),
    [
        ("wrong", NEW_PASSWORD, "wrong_password"),
        (PASSWORD, "short", "weak_password"),
        (PASSWORD, PASSWORD, "weak_password"),
        (PASSWORD, "maxta2026", "weak_password"),
        (PASSWORD, "x" * 2000, "password_too_long"),
        ("x" * 2000, NEW_PASSWORD, "password_too_long"),
    ],
)
def test_a_password_change_that_is_refused_changes_nothing(
    accounts: Accounts, user: User, current: str, new: str, code: str
) -> None:
    tokens = accounts.login(user.username, PASSWORD, client="127.0.0.1")
    with pytest.raises(InputError) as caught:
        accounts.change_password(current, new, actor=user)
    assert caught.value.code == code
    assert caught.value.bad_request is (code == "wrong_password")
    accounts.sessions.authenticate(tokens.access_token)
    accounts.login(user.username, PASSWORD, client="127.0.0.1")


def test_guessing_the_current_password_is_throttled_without_locking_the_sign_in(
    accounts: Accounts, user: User, clock: time_machine.Traveller
) -> None:
    for _ in range(5):
        with pytest.raises(InputError):
            accounts.change_password("wrong", NEW_PASSWORD, actor=user)
    with pytest.raises(TooManyAttempts):
        accounts.change_password(PASSWORD, NEW_PASSWORD, actor=user)
    accounts.login(user.username, PASSWORD, client="127.0.0.1")
    clock.shift(15)
    accounts.change_password(PASSWORD, NEW_PASSWORD, actor=user)


def test_signing_in_and_out_leaves_rows_that_name_who_from_where_and_by_which_request(
    accounts: Accounts, stores: Stores, user: User
) -> None:
    with structlog.contextvars.bound_contextvars(request_id="request-1"):
        tokens = accounts.login(user.username, PASSWORD, client="10.1.2.3")
    session_id = accounts.sessions.authenticate(tokens.access_token)[1]
    accounts.logout(session_id, actor=user)
    _fails(accounts, "evil\nname\x1b[31m", "wrong")
    login, logout, failure = sorted(stores.audit.page(limit=10, offset=0).items, key=lambda row: row.id)
    assert (login.actor, login.action, login.object, login.outcome) == (
        "wang",
        "session.login",
        f"session:{session_id}",
        "ok",
    )
    assert login.request_id == "request-1"
    assert login.detail["client"] == "10.1.2.3"
    assert (logout.action, logout.object, logout.request_id) == ("session.logout", f"session:{session_id}", None)
    assert failure.outcome == "invalid_credentials"
    assert failure.actor == "evil\N{REPLACEMENT CHARACTER}name\N{REPLACEMENT CHARACTER}[31m"
    assert stores.audit.verify() is None


def test_without_an_audit_row_nobody_is_signed_in(
    accounts: Accounts, stores: Stores, user: User, database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise UnavailableError("storage full", code="storage_full")

    monkeypatch.setattr(type(stores.audit), "append", full)
    assert _fails(accounts, user.username, PASSWORD).code == "storage_full"
    with pytest.raises(UnavailableError):
        accounts.change_password(PASSWORD, NEW_PASSWORD, actor=user)
    monkeypatch.undo()
    accounts.login(user.username, PASSWORD, client="127.0.0.1")
