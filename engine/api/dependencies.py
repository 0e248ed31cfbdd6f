"""What routes ask for: the engine, who is calling, and which slice of a list."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import Depends, Header, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from engine.assembly import Engine
from engine.domain.accounts import User
from engine.errors import NotAuthenticated, UnavailableError
from engine.services import accounts

LARGEST_ID = 2**31 - 1

_bearer = HTTPBearer(auto_error=False, description="The access token that `POST /v1/auth/login` answers with.")


def _engine(request: Request) -> Engine:
    engine: Engine | None = request.app.state.engine
    if engine is None:
        raise UnavailableError("the server is starting; try again in a moment", code="engine_starting")
    return engine


EngineDep = Annotated[Engine, Depends(_engine)]


class Caller(NamedTuple):
    """Who calls, and through which session."""

    user: User
    session_id: int


def _caller(engine: EngineDep, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
    if credentials is None:
        raise NotAuthenticated("sign in and send 'Authorization: Bearer <access_token>'")
    user, session_id = accounts.authenticate(engine, credentials.credentials)
    return Caller(user, session_id)


CallerDep = Annotated[Caller, Depends(_caller)]
"""Any live session, also one that may do nothing but change its password."""


def _user(engine: EngineDep, caller: CallerDep) -> User:
    accounts.require_own_password(engine, actor=caller.user)
    return caller.user


UserDep = Annotated[User, Depends(_user)]
"""A live session that may use the product."""


def _token(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> str:
    return credentials.credentials if credentials is not None else ""


TokenDep = Annotated[str, Depends(_token)]
"""The access token itself, for an answer that goes on long enough to make sure again that it is still good."""

Limit = Annotated[int, Query(ge=1, le=500, description="How many items at most.")]
Offset = Annotated[int, Query(ge=0, le=LARGEST_ID, description="How many items to leave out at the start.")]

RunId = Annotated[int, Path(ge=0, le=LARGEST_ID)]
ExecutionId = Annotated[int, Path(ge=0, le=LARGEST_ID)]
ProviderId = Annotated[int, Path(ge=0, le=LARGEST_ID)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Made by the caller, 1 to 255 visible ASCII characters; a retry sends the same one.",
    ),
]
