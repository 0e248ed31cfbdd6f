"""What surrounds every request: its id, its size and time limits, safe headers, and an end to unexpected errors."""

from __future__ import annotations

import asyncio
import re
import traceback
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api import problems

MAX_BODY_BYTES = 2 * 1024 * 1024
BODY_TIMEOUT_S = 30.0
"""How long a client may take to send its body."""

REQUEST_ID = "X-Request-ID"
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z")

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Set unless the route says otherwise."""

log = structlog.get_logger(__name__)


class Envelope:
    """The outermost layer; pure ASGI, so that streamed answers stay streams."""

    def __init__(
        self, app: ASGIApp, *, max_body_bytes: int = MAX_BODY_BYTES, body_timeout_s: float = BODY_TIMEOUT_S
    ) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._body_timeout_s = body_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = sent_id if _SANE_ID.match(sent_id) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            if _announced_length(scope) > self._max_body_bytes:
                await problems.response(
                    request_id,
                    status=413,
                    code="body_too_large",
                    detail=self._too_large(),
                    headers={"Connection": "close"},
                )(scope, receive, send_with_headers)
                return
            await self._app(scope, self._limited(receive), send_with_headers)
        except Exception as error:
            # Stack lines only: a message may quote a prompt, an answer or a key.
            log.error(
                "unexpected error",
                path=scope["path"],
                error=type(error).__name__,
                stack="".join(traceback.format_tb(error.__traceback__)),
            )
            if started:
                raise  # half an answer is out; cutting the connection is the only honest end
            await problems.response(
                request_id, status=500, code="internal_error", detail="something went wrong; the log has this id"
            )(scope, receive, send_with_headers)
        finally:
            structlog.contextvars.unbind_contextvars("request_id")

    def _limited(self, receive: Receive) -> Receive:
        """The body up to our limits; past them an HTTPException, which the application turns into a problem."""
        total, complete = 0, False

        async def limited() -> Message:
            nonlocal total, complete
            if complete:  # from here on it only reports that the client has gone
                return await receive()
            try:
                async with asyncio.timeout(self._body_timeout_s):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body did not arrive in time", {"Connection": "close"}) from None
            total += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if total > self._max_body_bytes:
                raise HTTPException(413, self._too_large(), {"Connection": "close"})
            return message

        return limited

    def _too_large(self) -> str:
        return f"a request body has at most {self._max_body_bytes} bytes"


def _announced_length(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length[:20]) if length.isascii() and length.isdigit() else 0
