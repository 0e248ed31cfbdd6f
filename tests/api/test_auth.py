"""Signing in over HTTP (RELIABILITY E2 to E9, E14, E15, F6)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import jwt
import pytest

from engine.domain.accounts import Role
from engine.services import accounts

from .conftest import DEFAULT, PASSWORD, Api, installed, problem

NEW_PASSWORD = "staple battery horse"


@pytest.fixture(scope="module")
def renewable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An installation whose access tokens may be renewed at once."""
    with installed(tmp_path_factory.mktemp("renewable"), auth_token_refresh_window_seconds=3600) as served:
        yield served


def _refresh(api: Api, token: str, key: str | None = "key-1") -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return api.post("/auth/refresh", {"refresh_token": token}, role=None, headers=headers)


def _me(api: Api, token: str) -> httpx.Response:
    return api.get("/auth/me", role=None, headers={"Authorization": f"Bearer {token}"})


def test_login_answers_as_the_contract_says(api: Api) -> None:
    answer = api.login("viewer")
    body = answer.json()
    assert set(body) == {"access_token", "refresh_token", "token_type", "expires_in", "refresh_expires_in", "user"}
    assert (body["token_type"], body["expires_in"], body["refresh_expires_in"]) == ("bearer", 3600, 28800)
    assert body["user"]["username"] == "viewer"
    assert body["user"]["role"] == "viewer"
    assert body["user"]["created_at"].endswith("Z")
    assert not {"password", "password_hash"} & set(body["user"])
    me = _me(api, body["access_token"])
    assert me.status_code == 200
    assert me.json() == body["user"]


def test_a_wrong_password_and_an_unknown_user_look_the_same(api: Api) -> None:
    wrong = problem(api.login("lead", "wrong"), 401, "invalid_credentials")
    unknown = problem(api.login("nobody", "wrong"), 401, "invalid_credentials")
    assert {key: wrong[key] for key in wrong if key != "request_id"} == {
        key: unknown[key] for key in unknown if key != "request_id"
    }


def test_a_megabyte_of_password_is_refused_and_odd_ones_are_just_wrong(api: Api) -> None:
    problem(api.login("nobody-2", "x" * 1_000_000), 422, "password_too_long")
    problem(api.login("nobody-2", "密" * 300), 401, "invalid_credentials")
    problem(api.login("nobody-2", PASSWORD + " "), 401, "invalid_credentials")
    problem(api.login("x" * 151), 422, "invalid_input")
    odd = api.call(
        "POST",
        "/auth/login",
        role=None,
        content=b'{"username": "nobody-2", "password": "\\ud800"}',
        headers={"Content-Type": "application/json"},
    )
    problem(odd, 422, "invalid_input")


def test_the_sixth_guess_at_an_account_is_throttled_and_told_when_to_come_back(api: Api) -> None:
    for _ in range(5):
        problem(api.login("reviewer", "wrong"), 401, "invalid_credentials")
    for password in ("wrong", PASSWORD):
        throttled = api.login("reviewer", password)
        problem(throttled, 429, "too_many_attempts")
        assert 1 <= int(throttled.headers["retry-after"]) <= 15
    assert api.get("/auth/me", role=Role.REVIEWER).status_code == 200


def test_only_a_live_access_token_opens_the_api(renewable: Api) -> None:
    tokens = renewable.login("lead").json()
    header, payload, signature = tokens["access_token"].split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    forged = [
        tokens["refresh_token"],
        f"{part({'alg': 'none', 'typ': 'JWT'})}.{payload}.",
        jwt.encode(claims, "another secret of at least thirty-two characters", algorithm="HS256"),
        f"{header}.{part(claims | {'sub': '1'})}.{signature}",
        "nonsense",
    ]
    for token in forged:
        answer = _me(renewable, token)
        problem(answer, 401, "not_authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
    for scheme in ("Basic", "Token"):
        answer = renewable.get("/auth/me", role=None, headers={"Authorization": f"{scheme} {tokens['access_token']}"})
        problem(answer, 401, "not_authenticated")
    problem(renewable.get("/auth/me", role=None), 401, "not_authenticated")
    problem(_refresh(renewable, tokens["access_token"]), 401, "not_authenticated")


def test_refresh_checks_in_the_order_of_the_contract(api: Api, renewable: Api) -> None:
    tokens = api.login("viewer").json()
    problem(_refresh(api, "unknown", key=None), 400, "idempotency_key_required")
    problem(_refresh(api, tokens["refresh_token"], key=""), 400, "idempotency_key_required")
    problem(_refresh(api, tokens["refresh_token"], key="x" * 256), 400, "bad_idempotency_key")
    problem(_refresh(api, "unknown"), 401, "not_authenticated")
    problem(_refresh(api, tokens["refresh_token"]), 409, "refresh_not_due")

    first = renewable.login("viewer").json()
    renewed = _refresh(renewable, first["refresh_token"])
    assert renewed.status_code == 200
    assert set(renewed.json()) == set(first)
    assert _refresh(renewable, first["refresh_token"]).json() == renewed.json()
    assert _me(renewable, renewed.json()["access_token"]).status_code == 200
    problem(_refresh(renewable, first["refresh_token"], key="another"), 401, "refresh_reused")
    problem(_me(renewable, renewed.json()["access_token"]), 401, "session_revoked")
    problem(_refresh(renewable, renewed.json()["refresh_token"], key="k3"), 401, "session_revoked")


def test_ten_clients_with_one_key_renew_once(renewable: Api) -> None:
    tokens = renewable.login("viewer").json()
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: _refresh(renewable, tokens["refresh_token"]), range(10)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert _me(renewable, answers[0].json()["access_token"]).status_code == 200


def test_logout_kills_both_tokens(renewable: Api) -> None:
    tokens = renewable.login("viewer").json()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    answer = renewable.post("/auth/logout", role=None, headers=bearer)
    assert (answer.status_code, answer.content) == (204, b"")
    problem(_me(renewable, tokens["access_token"]), 401, "session_revoked")
    problem(_refresh(renewable, tokens["refresh_token"]), 401, "session_revoked")
    problem(renewable.post("/auth/logout", role=None, headers=bearer), 401, "session_revoked")


def test_a_password_change_is_checked_and_kills_every_token_issued_before(tmp_path: Path) -> None:
    with installed(tmp_path) as api:
        tokens = [api.login("viewer").json()["access_token"] for _ in range(2)]
        bearer = {"Authorization": f"Bearer {tokens[0]}"}

        def change(current: str, new: str) -> httpx.Response:
            body = {"current_password": current, "new_password": new}
            return api.patch("/auth/password", body, role=None, headers=bearer)

        problem(change("wrong", NEW_PASSWORD), 400, "wrong_password")
        for weak in ("short", "maxta2026", PASSWORD):
            problem(change(PASSWORD, weak), 422, "weak_password")
        assert _me(api, tokens[1]).status_code == 200
        assert change(PASSWORD, NEW_PASSWORD).status_code == 204
        for token in (*tokens, api.tokens[Role.VIEWER]):
            problem(_me(api, token), 401, "session_revoked")
        assert api.get("/auth/me", role=Role.LEAD).status_code == 200
        problem(api.login("viewer"), 401, "invalid_credentials")
        assert api.login("viewer", NEW_PASSWORD).status_code == 200


def test_the_default_password_is_warned_about_in_test_until_it_is_changed(api: Api) -> None:
    body = api.login(*DEFAULT).json()
    assert "password" in body["warning"]
    assert body["user"]["must_change_password"] is True
    me = _me(api, body["access_token"]).json()
    assert me["warning"] == body["warning"]
    bearer = {"Authorization": f"Bearer {body['access_token']}"}
    assert api.get("/runs", role=None, headers=bearer).status_code == 200


def test_in_production_the_default_password_allows_only_to_look_change_it_and_leave(tmp_path: Path) -> None:
    with installed(tmp_path, app_env="production") as api:
        token = api.login(*DEFAULT).json()["access_token"]
        bearer = {"role": None, "headers": {"Authorization": f"Bearer {token}"}}
        assert _me(api, token).status_code == 200
        refused = [
            api.get("/runs", **bearer),
            api.get("/providers", **bearer),
            api.get("/review-queue", **bearer),
            api.post("/runs", {"profile": "full", "auto_judge": True}, **bearer),
            api.delete("/providers/1", **bearer),
        ]
        for answer in refused:
            problem(answer, 403, "password_change_required")
        body = {"current_password": DEFAULT[1], "new_password": NEW_PASSWORD}
        assert api.patch("/auth/password", body, **bearer).status_code == 204
        token = api.login(DEFAULT[0], NEW_PASSWORD).json()["access_token"]
        assert api.get("/runs", role=None, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert "warning" not in _me(api, token).json()


def test_a_one_time_code_becomes_the_browsers_cookie_and_another_removes_it(api: Api) -> None:
    opened = accounts.open_session(api.engine, "lead", PASSWORD, client="127.0.0.1")
    page = api.get("/auth/browser", role=None, params={"code": opened.code})
    assert page.status_code == 200
    assert page.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'self'"
    assert page.headers["cache-control"] == "no-store"
    assert opened.code not in page.text
    cookie = page.headers["set-cookie"]
    name, _, rest = cookie.partition("=")
    value, *attributes = [each.strip() for each in rest.split(";")]
    assert name == "__Host-magistrate"
    assert {each.lower() for each in attributes} == {"httponly", "path=/", "samesite=lax", "secure"}
    found = accounts.by_cookie(api.engine, value)
    assert found is not None
    assert (found.user.username, found.session_id) == ("lead", opened.session_id)
    assert accounts.by_session(api.engine, opened.session_id) == found

    problem(api.get("/auth/browser", role=None, params={"code": opened.code}), 401, "session_revoked")
    problem(api.get("/auth/browser", role=None), 422, "invalid_input")
    problem(api.get("/auth/browser/end", role=None, params={"code": "made up"}), 401, "not_authenticated")
    assert "set-cookie" not in api.get("/auth/browser/end", role=None, params={"code": "made up"}).headers

    code = accounts.close_session(api.engine, opened.session_id, actor=found.user)
    ended = api.get("/auth/browser/end", role=None, params={"code": code})
    assert ended.status_code == 200
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert accounts.by_cookie(api.engine, value) is None


@pytest.mark.parametrize(("site", "allowed"), [("same-origin", True), ("cross-site", False), ("none", False)])
def test_a_link_on_another_site_cannot_sign_a_browser_in(api: Api, site: str, allowed: bool) -> None:
    opened = accounts.open_session(api.engine, "lead", PASSWORD, client="127.0.0.1")
    page = api.get("/auth/browser", role=None, params={"code": opened.code}, headers={"Sec-Fetch-Site": site})
    assert ("set-cookie" in page.headers) is allowed
    if not allowed:
        problem(page, 403, "forbidden")


def test_a_cookie_opens_nothing_at_the_api(api: Api) -> None:
    opened = accounts.open_session(api.engine, "admin", PASSWORD, client="127.0.0.1")
    value = accounts.redeem_code(api.engine, opened.code or "")
    for method, path in (("GET", "/runs"), ("POST", "/runs"), ("POST", "/auth/logout"), ("DELETE", "/providers/1")):
        answer = api.call(method, path, role=None, headers={"Cookie": f"__Host-magistrate={value}"})
        problem(answer, 401, "not_authenticated")
    assert accounts.by_cookie(api.engine, value) is not None


def test_sign_ins_are_audited_with_the_id_of_the_request(api: Api) -> None:
    body = {"username": "viewer", "password": PASSWORD}
    api.post("/auth/login", body, role=None, headers={"X-Request-ID": "audited-1"})
    rows = api.engine.stores.audit.page(limit=500, offset=0).items
    (row,) = [row for row in rows if row.request_id == "audited-1"]
    assert (row.actor, row.action, row.outcome, row.detail["client"]) == ("viewer", "session.login", "ok", "127.0.0.1")
