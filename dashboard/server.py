"""The one ASGI process: dashboard, REST API, and the engine's start and stop.

Started with `streamlit run dashboard/server.py` by `magistrate serve`. The only module outside the engine that may
import `engine.api` and `engine.assembly`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ipaddress
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard import session, uploads
from dashboard.components import errors
from engine import assembly
from engine import settings as settings_module
from engine.api import create_api

INDEX = Path(st.__file__).parent / "static" / "index.html"

CLOSED = ("/_stcore/metrics", "/_stcore/agent")
"""Parts of Streamlit that this product does not use and that answer without a session."""

OPEN_ANSWERS_END_S = 3
"""So long may answers under way take once the process is told to end."""

CHECKED = frozenset({"http", "websocket"})


def inline_script_hashes(page: str) -> list[str]:
    """CSP source expressions for the scripts that stand in the page itself, so that no other may run."""
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]


def content_security_policy(page: str) -> str:
    """What a page of ours may load: its own origin and nothing else, no eval, no foreign frame around it."""
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("script-src 'self'", *inline_script_hashes(page))),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "frame-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


def host_of(netloc: str) -> str:
    """The host of `host:port`, lower case, brackets of an IPv6 address removed; empty when it cannot be read."""
    try:
        return (urlsplit(f"//{netloc}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_address(host: str) -> bool:
    """Whether the host is an IP address; a foreign name cannot be made to point at one we did not mean."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Gate:
    """Refuses foreign hosts and origins, closes what is not used, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, *, policy: str, names: frozenset[str]) -> None:
        self.app = app
        self.policy = policy
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in CHECKED:
            await self.app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem is not None and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
            return
        sending = self._with_headers(scope, send)
        if problem is not None:
            await PlainTextResponse(problem[1], status_code=problem[0])(scope, receive, sending)
            return
        if scope["path"].startswith(uploads.ROUTE) and not await asyncio.to_thread(
            uploads.allowed, scope.get("method", ""), scope["path"]
        ):
            await PlainTextResponse("not found\n", status_code=404)(scope, receive, sending)
            return
        await self.app(scope, receive, sending)

    def _problem(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        netloc = headers.get("host", "")
        host = host_of(netloc)
        if host not in self.names and not is_address(host):
            return 400, "this server does not answer to that host name\n"
        if scope["type"] == "websocket" and urlsplit(headers.get("origin", "")).netloc.lower() != netloc.lower():
            return 403, "the page was not loaded from this server\n"
        if scope["path"].startswith(CLOSED):
            return 404, "not found\n"
        return None

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", self.policy)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                if not scope["path"].startswith("/static/"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        return sending


async def to_documentation(request: Request) -> RedirectResponse:
    """The short addresses of the API's documentation."""
    return RedirectResponse(f"/api{request.url.path}")


def host_names(host: str) -> frozenset[str]:
    """The names this server answers to, beside any IP address: loopback, the machine's own, and the one it binds."""
    machine = socket.gethostname().lower()
    return frozenset({"localhost", machine, machine.partition(".")[0], host.lower()})


def end_in_time(engine: assembly.Engine) -> None:
    """Make SIGTERM and Ctrl-C end the process within seconds, whoever still reads. On the server's loop only.

    uvicorn, as Streamlit starts it, waits for open answers without an end, and the engine would stop only after that.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        theirs = signal.getsignal(number)
        server = getattr(theirs, "__self__", None)
        if not callable(theirs) or not isinstance(server, uvicorn.Server):
            continue

        def told(
            signal_: int, frame: FrameType | None, theirs: Callable[..., Any] = theirs, server: uvicorn.Server = server
        ) -> None:
            engine.stopping.set()
            loop.call_soon_threadsafe(loop.call_later, OPEN_ANSWERS_END_S, hang_up, server)
            theirs(signal_, frame)

        signal.signal(number, told)


def hang_up(server: uvicorn.Server) -> None:
    """Cut the connections that are left. Cancelling their tasks instead would fill the log with tracebacks."""
    for connection in list(server.server_state.connections):
        transport = getattr(connection, "transport", None)
        if transport is not None:
            transport.abort()


settings = settings_module.load()
assembly.configure_logging(settings)
api = create_api(allow_origins=[origin.strip() for origin in settings.cors_allow_origins.split(",") if origin.strip()])


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Open the engine with the server and close it with it; off the loop, because both wait for the disk."""
    engine = await asyncio.to_thread(assembly.open_engine, settings, run_worker=True, name="serve")
    api.state.engine = engine
    session.attach(engine)
    end_in_time(engine)
    try:
        yield {}
    finally:
        session.detach()
        api.state.engine = None
        await asyncio.to_thread(engine.close)


routes: list[BaseRoute] = [
    Mount("/api", api),
    *(Route(path, to_documentation) for path in ("/docs", "/redoc", "/openapi.json")),
]

app = st.App(
    Path(__file__).with_name("app.py"),
    lifespan=lifespan,
    routes=routes,
    middleware=[
        Middleware(
            Gate, policy=content_security_policy(INDEX.read_text(encoding="utf-8")), names=host_names(settings.host)
        )
    ],
    on_script_error=errors.unexpected,
)
