from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.dashboard.serving import PATIENCE_S, served


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address) as client:
        yield client


PAGES = ("/", "/runs", "/results?run=1", "/api/v1/health", "/_stcore/health", "/static/none.js")


def test_one_process_serves_pages_and_api_and_runs_the_engine(client: httpx.Client) -> None:
    assert "<title>" in client.get("/").text
    assert client.get("/api/v1/health").json()["engine"] == "running"


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_carries_the_security_headers(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors" in headers["content-security-policy"]
    assert "unsafe-eval" not in headers["content-security-policy"]
    if not path.startswith("/static"):
        assert headers["cache-control"] == "no-store"


def test_a_page_may_load_from_its_own_origin_only(client: httpx.Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "http:" not in policy
    assert "https:" not in policy
    assert re.search(r"script-src 'self' 'sha256-[A-Za-z0-9+/=]{44}'(;|$)", policy)
    assert "img-src 'self' data: blob:" in policy


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_a_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    for path in ("/", "/api/v1/health"):
        assert client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8501", "127.0.0.1:1", "[::1]:8501", "192.168.3.4"])
def test_the_machine_itself_and_plain_addresses_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/api/v1/health", headers={"host": host}).status_code == 200


def socket_of(address: str) -> str:
    return address.replace("http", "ws", 1) + "/_stcore/stream"


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_a_socket_from_another_page_is_refused(address: str, origin: str | None) -> None:
    with pytest.raises(InvalidStatus), connect(socket_of(address), origin=origin):
        pass


def test_a_socket_of_our_own_page_is_opened(address: str) -> None:
    with connect(socket_of(address), origin=address) as socket, pytest.raises((TimeoutError, ConnectionClosed)):
        socket.recv(timeout=0.2)


def test_a_socket_for_a_foreign_host_is_refused(address: str) -> None:
    headers = {"Host": "evil.example"}
    with (
        pytest.raises(InvalidStatus),
        connect(socket_of(address), origin="http://evil.example", additional_headers=headers),
    ):
        pass


@pytest.mark.parametrize(
    "path", ["/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/interact", "/_stcore/upload_file/a/b"]
)
def test_what_the_product_does_not_use_is_closed(client: httpx.Client, path: str) -> None:
    for method in ("GET", "POST", "PUT"):
        assert client.request(method, path).status_code == 404


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_the_short_addresses_of_the_documentation_lead_to_it(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["location"] == f"/api{path}"
    assert client.get(answer.headers["location"]).status_code == 200


def test_the_api_takes_no_cookie_for_a_token(client: httpx.Client) -> None:
    answer = client.get("/api/v1/runs", headers={"cookie": "__Host-magistrate=anything"})
    assert answer.status_code == 401


def test_a_run_is_followed_live_through_every_layer_of_the_server(address: str) -> None:
    """Events come one by one: no layer holds them back to pack or compress them."""
    credentials = {"username": "gly", "password": "maxta2026"}
    api = f"{address}/api/v1"
    token = httpx.post(f"{api}/auth/login", json=credentials).json()["access_token"]
    headers = {"authorization": f"Bearer {token}", "accept-encoding": "gzip"}
    started = httpx.post(f"{api}/runs", json={"profile": "smoke", "auto_judge": False}, headers=headers).json()
    with httpx.stream("GET", f"{api}/runs/{started['id']}/events", headers=headers, timeout=PATIENCE_S) as answer:
        assert "content-encoding" not in answer.headers
        lines = (line for line in answer.iter_lines() if line.startswith("data: "))
        first = json.loads(next(lines).removeprefix("data: "))
        assert first["status"] != "completed", "it came while the run was still under way"
        assert json.loads(list(lines)[-1].removeprefix("data: "))["status"] == "completed"


def test_the_log_is_json_at_the_level_the_settings_ask_for(tmp_path: Path) -> None:
    for level, expected in (("INFO", ["run_ended"]), ("WARNING", [])):
        folder = tmp_path / level
        folder.mkdir()
        with served(folder, LOG_JSON="true", LOG_LEVEL_TEST=level, DEMO_ANSWER_SECONDS="0") as address:
            run_to_its_end(f"{address}/api/v1")
        lines = (folder / "server.log").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line)["event"] for line in lines if line.startswith("{")]
        assert events == expected


def run_to_its_end(api: str) -> None:
    credentials = {"username": "gly", "password": "maxta2026"}
    token = httpx.post(f"{api}/auth/login", json=credentials).json()["access_token"]
    with httpx.Client(headers={"authorization": f"Bearer {token}"}) as client:
        started = client.post(f"{api}/runs", json={"profile": "smoke", "auto_judge": False})
        assert started.status_code == 202, started.text
        deadline = time.monotonic() + PATIENCE_S
        while client.get(f"{api}/runs/{started.json()['id']}").json()["status"] != "completed":
            assert time.monotonic() < deadline
            time.sleep(0.1)
