"""What signing in answers with."""

from __future__ import annotations

from typing import Literal

from engine.domain.accounts import User
from engine.domain.base import Model


class Tokens(Model):
    """The answer of login and refresh. Lives are in seconds."""

    access_token: str
    refresh_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105
    expires_in: int
    refresh_expires_in: int
    user: User
    warning: str | None = None
    """There while the password must be changed."""


class DashboardSession(Model):
    """A browser's session: who, and through which session."""

    user: User
    session_id: int
    code: str | None = None
    """Only in the answer to signing in: turns into the browser's cookie at the API, once and soon."""
    warning: str | None = None
