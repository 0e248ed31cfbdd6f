"""Tokens and sessions of programs (RELIABILITY E7 to E16)."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
import time_machine
from pydantic import SecretStr

from engine.accounts import Accounts, Tokens
from engine.accounts.sessions import CODE_LIFE
from engine.domain.accounts import User
from engine.errors import ConflictError, InputError, NotAuthenticated
from engine.store import Stores

from .conftest import PASSWORD, START

DUE = timedelta(minutes=30)
"""The shortest wait after which the access token may be renewed."""


@pytest.fixture
def tokens(accounts: Accounts, user: User) -> Tokens:
    return accounts.login(user.username, PASSWORD, client="127.0.0.1")


def _refresh(accounts: Accounts, tokens: Tokens, key: str = "key-1") -> Tokens:
    return accounts.sessions.refresh(tokens.refresh_token, idempotency_key=key)


def _refused(act: Callable[[], object]) -> str:
    with pytest.raises(NotAuthenticated) as caught:
        act()
    return caught.value.code


def _opens(accounts: Accounts, tokens: Tokens) -> bool:
    try:
        accounts.sessions.authenticate(tokens.access_token)
    except NotAuthenticated:
        return False
    return True


def _session_id(accounts: Accounts, tokens: Tokens) -> int:
    return accounts.sessions.authenticate(tokens.access_token)[1]


def test_signing_in_answers_with_both_tokens_and_the_user(accounts: Accounts, user: User, tokens: Tokens) -> None:
    assert (tokens.token_type, tokens.expires_in, tokens.refresh_expires_in) == ("bearer", 3600, 28800)
    assert tokens.user == user
    assert tokens.warning is None
    assert accounts.sessions.authenticate(tokens.access_token)[0] == user


@pytest.mark.parametrize(("after", "opens"), [(timedelta(minutes=59, seconds=59), True), (timedelta(hours=1), False)])
def test_an_access_token_lives_an_hour(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller, after: timedelta, opens: bool
) -> None:
    clock.shift(after)
    if opens:
        accounts.sessions.authenticate(tokens.access_token)
    else:
        assert _refused(lambda: accounts.sessions.authenticate(tokens.access_token)) == "token_expired"


def test_each_renewal_gives_an_hour_and_eight_hours_anew_with_no_fixed_end(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    for round_number in range(4):  # 32 hours in all
        clock.shift(timedelta(hours=7, minutes=59, seconds=59))
        tokens = _refresh(accounts, tokens, key=f"round-{round_number}")
        clock.shift(timedelta(minutes=59, seconds=59))
        accounts.sessions.authenticate(tokens.access_token)
        clock.shift(-timedelta(minutes=59, seconds=59))
    clock.shift(timedelta(hours=8, seconds=1))
    assert _refused(lambda: _refresh(accounts, tokens, key="late")) == "token_expired"
    assert _refused(lambda: _refresh(accounts, tokens, key="later")) == "token_expired"


def test_a_refresh_needs_a_sane_key_before_anything_else_is_looked_at(accounts: Accounts) -> None:
    for key, code in (
        (None, "idempotency_key_required"),
        ("", "idempotency_key_required"),
        ("  ", "idempotency_key_required"),
        ("x" * 256, "bad_idempotency_key"),
        ("schlüssel", "bad_idempotency_key"),
        ("two\nlines", "bad_idempotency_key"),
    ):
        with pytest.raises(InputError) as caught:
            accounts.sessions.refresh("unknown", idempotency_key=key)
        assert (caught.value.code, caught.value.bad_request) == (code, True)


def test_an_access_token_that_is_not_about_to_expire_is_not_renewed(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    clock.shift(DUE - timedelta(seconds=1))
    with pytest.raises(ConflictError) as caught:
        _refresh(accounts, tokens)
    assert caught.value.code == "refresh_not_due"
    clock.shift(timedelta(seconds=1))
    assert _refresh(accounts, tokens).refresh_token != tokens.refresh_token


def test_a_window_as_long_as_the_access_tokens_life_allows_a_renewal_at_once(
    build: Callable[..., Accounts], user: User
) -> None:
    accounts = build(refresh_window_s=3600)
    tokens = accounts.login(user.username, PASSWORD, client="127.0.0.1")
    renewed = _refresh(accounts, tokens)
    assert _refresh(accounts, renewed, key="key-2").refresh_token not in (tokens.refresh_token, renewed.refresh_token)


def test_the_same_token_and_key_answer_the_same_until_the_new_token_was_used(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    clock.shift(DUE)
    first = _refresh(accounts, tokens)
    for _ in range(3):
        clock.shift(timedelta(minutes=3))
        assert _refresh(accounts, tokens) == first
    assert _opens(accounts, first)
    clock.shift(DUE)
    second = _refresh(accounts, first, key="key-2")
    assert _opens(accounts, second)
    # Two generations back, with the key it had then: nobody honest still holds it.
    assert _refused(lambda: _refresh(accounts, tokens)) == "refresh_reused"
    assert not _opens(accounts, second)


def test_after_ten_minutes_the_same_answer_can_no_longer_be_had(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    clock.shift(DUE)
    first = _refresh(accounts, tokens)
    clock.shift(timedelta(minutes=10))
    assert _refused(lambda: _refresh(accounts, tokens)) == "refresh_reused"
    assert not _opens(accounts, first)


def test_an_old_token_with_another_key_ends_the_whole_session_and_is_written_down(
    accounts: Accounts, stores: Stores, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    clock.shift(DUE)
    renewed = _refresh(accounts, tokens)
    session_id = _session_id(accounts, renewed)
    assert _refused(lambda: _refresh(accounts, tokens, key="another")) == "refresh_reused"
    assert _refused(lambda: accounts.sessions.authenticate(renewed.access_token)) == "session_revoked"
    assert _refused(lambda: accounts.sessions.authenticate(tokens.access_token)) == "session_revoked"
    assert _refused(lambda: _refresh(accounts, renewed, key="third")) == "session_revoked"
    assert _refused(lambda: _refresh(accounts, tokens)) == "session_revoked"
    (row,) = [row for row in stores.audit.page(limit=50, offset=0).items if row.outcome == "refresh_reused"]
    assert (row.actor, row.object) == ("wang", f"session:{session_id}")


def test_ten_parallel_refreshes_with_one_key_are_one_rotation(
    accounts: Accounts, stores: Stores, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    clock.shift(DUE)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: _refresh(accounts, tokens), range(20)))
    assert len({answer.model_dump_json() for answer in answers}) == 1
    claims = jwt.decode(answers[0].access_token, options={"verify_signature": False})
    assert claims["gen"] == 1
    assert _opens(accounts, answers[0])


def test_two_clients_that_refresh_at_once_with_keys_of_the_token_are_never_signed_out(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    with ThreadPoolExecutor(2) as pool:
        for round_number in range(10):
            clock.shift(DUE)
            held = tokens
            one, two = pool.map(
                lambda _, h=held, n=round_number: _refresh(accounts, h, key=f"generation-{n}"), range(2)
            )
            assert one == two
            tokens = one
            assert _opens(accounts, tokens)


def test_a_client_that_lost_the_answer_gets_it_from_the_next_process(
    build: Callable[..., Accounts], tokens: Tokens, clock: time_machine.Traveller
) -> None:
    for crash in range(5):
        clock.shift(DUE)
        lost = _refresh(build(), tokens, key=f"crash-{crash}")
        restarted = build()
        assert _refresh(restarted, tokens, key=f"crash-{crash}") == lost
        assert _opens(restarted, lost)
        tokens = lost


def test_a_copy_of_the_database_holds_no_usable_token(
    accounts: Accounts, tokens: Tokens, clock: time_machine.Traveller, tmp_path: Path
) -> None:
    clock.shift(DUE)
    renewed = _refresh(accounts, tokens, key="a-client-made-key")
    browser = accounts.open_session("wang", PASSWORD, client="127.0.0.1")
    assert browser.code is not None
    cookie = accounts.sessions.redeem_code(browser.code)
    dump = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    secrets = (
        tokens.access_token,
        tokens.refresh_token,
        renewed.access_token,
        renewed.refresh_token,
        browser.code,
        cookie,
        PASSWORD,
        "a-client-made-key",
    )
    for secret in secrets:
        assert secret.encode() not in dump
    assert b"wang" in dump


def test_tokens_work_only_where_they_belong(accounts: Accounts, build: Callable[..., Accounts], tokens: Tokens) -> None:
    assert _refused(lambda: accounts.sessions.authenticate(tokens.refresh_token)) == "not_authenticated"
    assert _refused(lambda: _refresh(accounts, tokens.model_copy(update={"refresh_token": tokens.access_token}))) == (
        "not_authenticated"
    )
    elsewhere = build(token_secret=SecretStr("quite another secret of thirty-two characters"))
    assert _refused(lambda: elsewhere.sessions.authenticate(tokens.access_token)) == "not_authenticated"
    for empty in (build(token_secret=SecretStr("")), build(token_secret=SecretStr(""))):
        assert _refused(lambda it=empty: it.sessions.authenticate(tokens.access_token)) == "not_authenticated"


def test_a_token_signed_by_us_for_a_session_that_is_not_its_own_is_refused(
    accounts: Accounts, make_user: Callable[..., User], tokens: Tokens
) -> None:
    other = make_user("li")
    signer = accounts.sessions._signer
    claims = signer.read(tokens.access_token)
    for change in ({"sub": str(other.id)}, {"gen": 5}):
        assert _refused(lambda c=change: accounts.sessions.authenticate(signer.sign(claims.model_copy(update=c)))) == (
            "not_authenticated"
        )
    gone = signer.sign(claims.model_copy(update={"sid": 4711}))
    assert _refused(lambda: accounts.sessions.authenticate(gone)) == "session_revoked"


def test_signing_out_kills_both_tokens_of_this_session_and_no_other(
    accounts: Accounts, user: User, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    other = accounts.login(user.username, PASSWORD, client="127.0.0.1")
    accounts.logout(_session_id(accounts, tokens), actor=user)
    clock.shift(DUE)
    assert _refused(lambda: accounts.sessions.authenticate(tokens.access_token)) == "session_revoked"
    assert _refused(lambda: _refresh(accounts, tokens)) == "session_revoked"
    assert _opens(accounts, other)


def test_a_disabled_user_is_out_at_once_and_cannot_come_back(
    accounts: Accounts, stores: Stores, user: User, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    browser = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    stores.users.set_active(user.id, False)
    assert _refused(lambda: accounts.sessions.authenticate(tokens.access_token)) == "session_revoked"
    assert accounts.sessions.by_id(browser.session_id) is None
    clock.shift(DUE)
    assert _refused(lambda: _refresh(accounts, tokens)) == "session_revoked"
    assert _refused(lambda: accounts.login(user.username, PASSWORD, client="x")) == "invalid_credentials"


def test_a_clock_set_back_or_forward_revives_no_token_and_breaks_nothing(
    accounts: Accounts, user: User, tokens: Tokens, clock: time_machine.Traveller
) -> None:
    # Expired, seen dead, then the clock goes back half an hour: it stays dead.
    clock.shift(timedelta(minutes=61))
    assert not _opens(accounts, tokens)
    clock.shift(-timedelta(minutes=30))
    assert _refused(lambda: accounts.sessions.authenticate(tokens.access_token)) == "token_expired"
    renewed = _refresh(accounts, tokens)
    assert _opens(accounts, renewed)
    # Two hours back: the token is from the future. A second sign-in works all the same.
    clock.shift(-timedelta(hours=2))
    assert _refused(lambda: accounts.sessions.authenticate(renewed.access_token)) == "not_authenticated"
    assert _opens(accounts, accounts.login(user.username, PASSWORD, client="127.0.0.1"))
    # A day forward kills every session; back again they stay dead, refresh tokens too.
    clock.shift(timedelta(days=1))
    assert _refused(lambda: _refresh(accounts, renewed, key="k")) == "token_expired"
    clock.move_to(START + timedelta(minutes=31))
    assert _refused(lambda: _refresh(accounts, renewed, key="k")) == "token_expired"
    assert not _opens(accounts, renewed)


def test_what_is_remembered_of_refused_tokens_is_bounded(
    accounts: Accounts, user: User, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.accounts.sessions.REMEMBERED_EXPIRIES", 2)
    opened = [accounts.login(user.username, PASSWORD, client="127.0.0.1") for _ in range(4)]
    clock.shift(timedelta(hours=2))
    for tokens in opened:
        assert not _opens(accounts, tokens)
    assert len(accounts.sessions._refused) == 2


# browsers


def test_a_browsers_code_turns_into_its_cookie_once_and_soon(
    accounts: Accounts, user: User, clock: time_machine.Traveller
) -> None:
    opened = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    assert opened.code is not None
    assert opened.user == user
    cookie = accounts.sessions.redeem_code(opened.code)
    found = accounts.sessions.by_cookie(cookie)
    assert found is not None
    assert (found.user, found.session_id, found.code) == (user, opened.session_id, None)
    assert _refused(lambda: accounts.sessions.redeem_code(opened.code)) == "session_revoked"
    assert accounts.sessions.by_cookie(cookie) == found
    assert accounts.sessions.by_cookie("another") is None
    late = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    clock.shift(CODE_LIFE)
    assert _refused(lambda: accounts.sessions.redeem_code(late.code or "")) == "session_revoked"


def test_a_browsers_session_lives_as_long_as_it_is_used(
    accounts: Accounts, user: User, clock: time_machine.Traveller
) -> None:
    opened = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    cookie = accounts.sessions.redeem_code(opened.code or "")
    for _ in range(3):
        clock.shift(timedelta(hours=7, minutes=59))
        assert accounts.sessions.by_cookie(cookie) is not None
        assert accounts.sessions.by_id(opened.session_id) is not None
    clock.shift(timedelta(hours=8))
    assert accounts.sessions.by_cookie(cookie) is None
    clock.shift(-timedelta(hours=4))
    assert accounts.sessions.by_cookie(cookie) is None


def test_closing_a_browsers_session_ends_it_at_the_server_and_allows_its_cookie_to_be_removed(
    accounts: Accounts, user: User
) -> None:
    opened = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    assert _refused(lambda: accounts.sessions.redeem_closing_code(opened.code or "")) == "not_authenticated"
    opened = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    cookie = accounts.sessions.redeem_code(opened.code or "")
    code = accounts.close_session(opened.session_id, actor=user)
    assert accounts.sessions.by_cookie(cookie) is None
    assert accounts.sessions.by_id(opened.session_id) is None
    accounts.sessions.redeem_closing_code(code)
    assert _refused(lambda: accounts.sessions.redeem_closing_code(code)) == "not_authenticated"


def test_a_closing_code_opens_nothing(accounts: Accounts, user: User) -> None:
    opened = accounts.open_session(user.username, PASSWORD, client="127.0.0.1")
    code = accounts.close_session(opened.session_id, actor=user)
    assert _refused(lambda: accounts.sessions.redeem_code(code)) == "session_revoked"


def test_an_access_token_of_a_closed_session_says_nothing_of_the_user(accounts: Accounts, tokens: Tokens) -> None:
    payload = jwt.decode(tokens.access_token, options={"verify_signature": False})
    assert not re.search("wang|reviewer", str(payload))
