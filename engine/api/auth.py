"""Sign in, stay signed in, sign out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import Field, SecretStr

from engine.api.bodies import StrictRoute
from engine.api.dependencies import CallerDep, EngineDep, IdempotencyKey
from engine.api.problems import documented
from engine.domain.accounts import User
from engine.domain.base import Model
from engine.errors import PermissionDenied
from engine.services import accounts
from engine.services.accounts import Tokens

COOKIE = "__Host-magistrate"

ENDED = "not_authenticated token_expired session_revoked"

router = APIRouter(route_class=StrictRoute, prefix="/auth", tags=["auth"])


class Credentials(Model):
    username: str = Field(max_length=150)
    password: SecretStr


class RefreshRequest(Model):
    refresh_token: SecretStr


class PasswordChange(Model):
    current_password: SecretStr
    new_password: SecretStr


class Me(User):
    """The caller; `warning` is there while the default password is unchanged."""

    warning: str | None = None


@router.post(
    "/login",
    summary="Sign in",
    response_model_exclude_none=True,
    responses=documented(
        (401, "invalid_credentials"), 413, (422, "invalid_input password_too_long"), (429, "too_many_attempts")
    ),
)
def login(body: Credentials, request: Request, engine: EngineDep) -> Tokens:
    """An access token for an hour and a refresh token for eight.

    `401 invalid_credentials` says the same for an unknown user, a wrong password and a disabled account;
    `429 too_many_attempts` carries Retry-After.
    """
    client = request.client.host if request.client else "unknown"
    return accounts.login(engine, body.username, body.password.get_secret_value(), client=client)


@router.post(
    "/refresh",
    summary="Renew both tokens",
    response_model_exclude_none=True,
    responses=documented(
        (400, "idempotency_key_required bad_idempotency_key"),
        (401, "token_expired refresh_reused session_revoked not_authenticated"),
        (409, "refresh_not_due"),
        413,
    ),
)
def refresh(body: RefreshRequest, engine: EngineDep, idempotency_key: IdempotencyKey = None) -> Tokens:
    """A new access token and a new refresh token; the old refresh token is spent.

    One renewal and its network retries use one `Idempotency-Key`: the same token and key answer the same again. An
    old token with another key looks stolen and ends the whole session (`401 refresh_reused`).
    """
    return accounts.refresh(engine, body.refresh_token.get_secret_value(), idempotency_key=idempotency_key)


@router.get("/me", summary="Who am I", response_model_exclude_none=True, responses=documented((401, ENDED)))
def me(caller: CallerDep, engine: EngineDep) -> Me:
    return Me(**caller.user.model_dump(), warning=accounts.warning(engine, actor=caller.user))


@router.patch(
    "/password",
    summary="Change my password",
    status_code=204,
    responses=documented(
        (400, "wrong_password"),
        (401, ENDED),
        413,
        (422, "invalid_input weak_password password_too_long"),
        (429, "too_many_attempts"),
    ),
)
def change_password(body: PasswordChange, caller: CallerDep, engine: EngineDep) -> None:
    """Every token that was issued to this user before is dead afterwards, this one too."""
    accounts.change_password(
        engine,
        body.current_password.get_secret_value(),
        body.new_password.get_secret_value(),
        actor=caller.user,
    )


@router.post("/logout", summary="Sign out", status_code=204, responses=documented((401, ENDED)))
def logout(caller: CallerDep, engine: EngineDep) -> None:
    """Access and refresh token of this session are dead afterwards."""
    accounts.logout(engine, caller.session_id, actor=caller.user)


OneTimeCode = Annotated[str, Query(max_length=200)]

# The pages are loaded in a hidden frame of the dashboard, which is of our own origin.
_FRAME_POLICY = "default-src 'none'; frame-ancestors 'self'"
_DONE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Magistrate</title></head><body></body></html>'
)


def _from_our_own_page(sec_fetch_site: Annotated[str | None, Header(include_in_schema=False)] = None) -> None:
    """Refuses links on other sites: they could sign a browser in as somebody else. Older browsers do not say."""
    if sec_fetch_site not in (None, "same-origin"):
        raise PermissionDenied("this address is for the dashboard's own pages")


_browser = APIRouter(include_in_schema=False, dependencies=[Depends(_from_our_own_page)])


@_browser.get("/browser")
def open_browser_session(code: OneTimeCode, engine: EngineDep) -> HTMLResponse:
    """Turn a one-time code of the dashboard into the browser's cookie, which no script can read."""
    page = HTMLResponse(_DONE, headers={"Content-Security-Policy": _FRAME_POLICY})
    page.set_cookie(COOKIE, accounts.redeem_code(engine, code), path="/", secure=True, httponly=True, samesite="lax")
    return page


@_browser.get("/browser/end")
def end_browser_session(code: OneTimeCode, engine: EngineDep) -> HTMLResponse:
    """Remove the browser's cookie after signing out; the session behind it has ended already."""
    accounts.redeem_closing_code(engine, code)
    page = HTMLResponse(_DONE, headers={"Content-Security-Policy": _FRAME_POLICY})
    page.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return page


router.include_router(_browser)
