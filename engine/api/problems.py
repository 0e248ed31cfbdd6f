"""Errors as RFC 9457 problem documents, and the one table from our error tree to HTTP statuses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from engine import errors

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[type[errors.EngineError], int] = {
    errors.InputError: 422,
    errors.NotFoundError: 404,
    errors.NotAuthenticated: 401,
    errors.PermissionDenied: 403,
    errors.ConflictError: 409,
    errors.TooManyAttempts: 429,
    errors.UnavailableError: 503,
    errors.ItemError: 502,
    errors.EngineError: 500,
}
"""Found by walking up the error's ancestors; `InputError.bad_request` turns 422 into 400."""

HTTP_CODES = {
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "body_too_large",
}
"""Codes of the errors that the web framework raises by itself."""


class FieldProblem(BaseModel):
    """One thing that is wrong with a request, and where."""

    loc: list[str | int]
    msg: str


class Problem(BaseModel):
    """RFC 9457, with a stable `code` for programs and the request's id for the log."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldProblem] | None = None


class Outline(BaseModel):
    """A problem told inside a stream that is under way: what is left of the document."""

    code: str
    detail: str


def documented(*answers: int | tuple[int, str]) -> dict[int | str, dict[str, Any]]:
    """The `responses=` of a route: these statuses answer with a problem document, some with these codes."""
    documents: dict[int | str, dict[str, Any]] = {}
    for answer in answers:
        status, codes = (answer, "") if isinstance(answer, int) else answer
        listed = ", ".join(f"`{code}`" for code in codes.split())
        phrase = HTTPStatus(status).phrase
        documents[status] = {"model": Problem, "description": f"{phrase}: {listed}" if listed else phrase}
    return documents


GUARDED = documented(
    (401, "not_authenticated token_expired session_revoked"), (403, "forbidden password_change_required")
)
"""Of every route that needs somebody."""


def response(
    request_id: str,
    *,
    status: int,
    code: str,
    detail: str,
    fields: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id,
        errors=list(fields) or None,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True), status_code=status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def status_of(error: errors.EngineError) -> int:
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return 400 if isinstance(error, errors.InputError) and error.bad_request else status


def install(app: FastAPI) -> None:
    """Answer every error of this application with a problem document."""
    app.add_exception_handler(errors.EngineError, _from_engine)
    app.add_exception_handler(RequestValidationError, _from_validation)
    app.add_exception_handler(HTTPException, _from_http)


def _from_engine(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.EngineError)
    status = status_of(error)
    headers = {}
    if isinstance(error, errors.TooManyAttempts):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, errors.NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    fields: list[FieldProblem] = []
    if isinstance(error, errors.InputError):
        fields = [FieldProblem(loc=list(where.split(".")), msg=message) for where, message in error.fields]
    if status == 422 and not fields:
        fields = [FieldProblem(loc=["body"], msg=error.message)]
    code = "provider_unreachable" if isinstance(error, errors.ProviderError) else error.code
    return response(
        request.state.request_id, status=status, code=code, detail=error.message, fields=fields, headers=headers
    )


def _from_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Only place and message: the refused input may be a password or a key.
    fields = [FieldProblem(loc=list(each["loc"]), msg=each["msg"]) for each in error.errors()]
    return _invalid(request, fields)


def _invalid(request: Request, fields: Sequence[FieldProblem]) -> JSONResponse:
    where = ", ".join(".".join(str(part) for part in field.loc) for field in fields[:5])
    return response(
        request.state.request_id,
        status=422,
        code="invalid_input",
        detail=f"the request is invalid: {where}",
        fields=fields,
    )


def _from_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 400:
        return _invalid(
            request, [FieldProblem(loc=["body"], msg="not JSON in UTF-8 with ordinary text, numbers and depth")]
        )
    code = HTTP_CODES.get(error.status_code, "http_error")
    detail = {
        404: "there is nothing at this address",
        405: f"{request.method} is not possible here",
    }.get(error.status_code, str(error.detail))
    return response(request.state.request_id, status=error.status_code, code=code, detail=detail, headers=error.headers)
