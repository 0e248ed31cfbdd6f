"""Sign in, stay signed in, sign out, change one's password. Every act is written to the audit trail."""

from __future__ import annotations

from engine.accounts.shapes import DashboardSession, Tokens
from engine.assembly import Engine
from engine.domain.accounts import User

__all__ = [
    "DashboardSession",
    "Tokens",
    "authenticate",
    "by_cookie",
    "by_session",
    "change_password",
    "close_session",
    "login",
    "logout",
    "open_session",
    "redeem_closing_code",
    "redeem_code",
    "refresh",
    "require_own_password",
    "warning",
]


def login(engine: Engine, username: str, password: str, *, client: str) -> Tokens:
    """Sign a program in.

    Raises:
        NotAuthenticated: `invalid_credentials`, the same for an unknown user, a wrong password, a disabled account.
        TooManyAttempts: too many failures before; says when to come back.
        InputError: `password_too_long`.
    """
    return engine.accounts.login(username, password, client=client)


def refresh(engine: Engine, refresh_token: str, *, idempotency_key: str | None) -> Tokens:
    """Renew both tokens; the same token and key answer the same again.

    Raises:
        InputError: `idempotency_key_required`, `bad_idempotency_key`.
        NotAuthenticated: `token_expired`, `session_revoked`, `refresh_reused`, `not_authenticated`.
        ConflictError: `refresh_not_due`.
    """
    return engine.accounts.sessions.refresh(refresh_token, idempotency_key=idempotency_key)


def authenticate(engine: Engine, access_token: str) -> tuple[User, int]:
    """Who holds this access token, and through which session.

    Raises:
        NotAuthenticated: `not_authenticated`, `token_expired` or `session_revoked`.
    """
    return engine.accounts.sessions.authenticate(access_token)


def require_own_password(engine: Engine, *, actor: User) -> None:
    """Raises PermissionDenied `password_change_required` in production while the default password is unchanged."""
    engine.accounts.require_own_password(actor)


def warning(engine: Engine, *, actor: User) -> str | None:
    """What the user should be told about their account, if anything."""
    return engine.accounts.warning(actor)


def logout(engine: Engine, session_id: int, *, actor: User) -> None:
    """End the session of a program: its access and refresh token are dead at once."""
    engine.accounts.logout(session_id, actor=actor)


def change_password(engine: Engine, current: str, new: str, *, actor: User) -> None:
    """Change one's own password; every session of that user ends, this one too.

    Raises:
        InputError: `wrong_password`, `weak_password`, `password_too_long`.
        TooManyAttempts: too many wrong ones before.
    """
    engine.accounts.change_password(current, new, actor=actor)


def open_session(engine: Engine, username: str, password: str, *, client: str) -> DashboardSession:
    """Sign a browser in; its `code` turns into the cookie at `GET /api/v1/auth/browser?code=`. Raises as `login`."""
    return engine.accounts.open_session(username, password, client=client)


def redeem_code(engine: Engine, code: str) -> str:
    """The cookie's value for the one-time code of a browser's session.

    Raises:
        NotAuthenticated: the code is unknown, used or too old, or its session has ended.
    """
    return engine.accounts.sessions.redeem_code(code)


def redeem_closing_code(engine: Engine, code: str) -> None:
    """Whether the browser's cookie may be removed.

    Raises:
        NotAuthenticated: the code is not one that `close_session` gave out a moment ago.
    """
    engine.accounts.sessions.redeem_closing_code(code)


def by_cookie(engine: Engine, value: str) -> DashboardSession | None:
    """The live session behind a browser's cookie, prolonged by being asked for; None when there is none."""
    return engine.accounts.sessions.by_cookie(value)


def by_session(engine: Engine, session_id: int) -> DashboardSession | None:
    """The same for a session that the dashboard has opened itself and whose cookie it cannot see yet."""
    return engine.accounts.sessions.by_id(session_id)


def close_session(engine: Engine, session_id: int, *, actor: User) -> str:
    """End a browser's session; the answer is the code for `GET /api/v1/auth/browser/end?code=`, good for a minute."""
    return engine.accounts.close_session(session_id, actor=actor)
