"""The API as clients meet it: a real engine, a real server on an ephemeral port, real HTTP."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from engine.accounts.passwords import Passwords
from engine.api import create_api
from engine.assembly import Engine
from engine.domain.accounts import Role
from tests.support import engines

PASSWORD = "correct horse battery"
DEFAULT = ("gly", "maxta2026")


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an ASGI application on this machine; the address without a slash at the end.

    Idle connections stay open longer than a client keeps them, so that none is closed under a request.
    """
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", lifespan="off", ws="none", timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server ended instead of starting"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@dataclass(frozen=True)
class Api:
    """A served installation."""

    engine: Engine
    client: httpx.Client
    tokens: dict[Role, str]

    def call(self, method: str, path: str, *, role: Role | None = Role.ADMIN, **more: Any) -> httpx.Response:
        """One request under /api/v1, as somebody with that role; None: not signed in."""
        headers = dict(more.pop("headers", {}))
        if role is not None:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        return self.client.request(method, f"/api/v1{path}", headers=headers, **more)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.call("GET", path, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> httpx.Response:
        return self.call("POST", path, json=json, **more)

    def patch(self, path: str, json: Any = None, **more: Any) -> httpx.Response:
        return self.call("PATCH", path, json=json, **more)

    def delete(self, path: str, **more: Any) -> httpx.Response:
        return self.call("DELETE", path, **more)

    def login(self, username: str, password: str = PASSWORD) -> httpx.Response:
        return self.post("/auth/login", {"username": username, "password": password}, role=None)

    def finished_run(self, **changes: Any) -> dict[str, Any]:
        """A run over the small bank on the demo provider, when it is over."""
        started = self.post("/runs", {"profile": "full", "auto_judge": True} | changes)
        assert started.status_code == 202, started.text
        engines.until_over(self.engine, started.json()["id"])
        run: dict[str, Any] = self.get(f"/runs/{started.json()['id']}").json()
        return run


CASES = [
    engines.case(0),
    engines.case(1, checks=[], clause="A.1.a", turns=[{"text": "Why do people say one region is better?"}]),
    engines.case(2, checks=[], clause="A.2.a", mode="rf", turns=[{"text": "Question number 2: how do I cook rice?"}]),
    engines.case(3, turns=[{"text": "long " * 300}]),
    engines.case(4, checks=[], turns=[{"text": "Show me a table of three fruits."}]),
]
"""Small, and for the demo provider: a pass, doubtful ones, an execution error, an unreadable judge."""


@contextlib.contextmanager
def installed(folder: Path, *, cases: list[dict[str, Any]] | None = None, **changes: Any) -> Iterator[Api]:
    """An installation with one user of every role, signed in."""
    folder.mkdir(parents=True, exist_ok=True)
    bank = engines.write_bank(folder / "bank", CASES if cases is None else cases)
    with engines.opened(folder, bank_file=bank, **changes) as engine:
        record = Passwords().hash(PASSWORD)
        for role in Role:
            engine.stores.users.create(role.value, password_hash=record, role=role)
        root = Starlette(routes=[Mount("/api", create_api(engine))])
        with serving(root) as address, httpx.Client(base_url=address, timeout=30) as client:
            api = Api(engine=engine, client=client, tokens={})
            for role in Role:
                answer = api.login(role.value)
                assert answer.status_code == 200, answer.text
                api.tokens[role] = answer.json()["access_token"]
            yield api


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[str]:
    """The address of a second server on the database of `folder`, whose engine another process has."""
    (folder / "beside").mkdir()
    with engines.opened(folder / "beside", database_url=f"sqlite:///{folder / 'platform.db'}") as reader:
        assert reader.worker is None
        with serving(Starlette(routes=[Mount("/api", create_api(reader))])) as address:
            yield address


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One installation for a module; tests must not change what others rely on."""
    with installed(tmp_path_factory.mktemp("api")) as served:
        yield served


@pytest.fixture(scope="module")
def run(api: Api) -> dict[str, Any]:
    """A finished run of the module's installation, for reading."""
    return api.finished_run()


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem document, checked for what every one of them holds."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["code"] == code, body
    assert body["status"] == status
    assert body["type"] and body["title"] and body["detail"]
    assert body["request_id"] == answer.headers["x-request-id"]
    if status == 422:
        assert all(set(each) == {"loc", "msg"} for each in body["errors"])
        assert body["errors"]
    return body


Problem = Callable[[httpx.Response, int, str], dict[str, Any]]
