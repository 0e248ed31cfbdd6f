"""What every route has in common: errors, ids, headers, limits, documentation (RELIABILITY F4 to F7, F11, F12)."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import fastapi
import httpx
import pytest
import structlog
from starlette.applications import Starlette
from starlette.routing import Mount

from engine import errors
from engine.api import create_api, problems
from engine.api.envelope import Envelope
from engine.assembly import open_engine
from engine.services import installation
from tests.support import engines

from .conftest import Api, problem, serving


def test_every_answer_carries_an_id_the_callers_own_when_it_is_sane(api: Api) -> None:
    made = api.get("/health").headers["x-request-id"]
    assert len(made) == 32
    assert api.get("/health").headers["x-request-id"] != made
    assert api.get("/health", headers={"X-Request-ID": "ci-42:a.b_c"}).headers["x-request-id"] == "ci-42:a.b_c"
    for odd in ("", "two words", "x" * 129, 'quote"', "a/b"):
        assert api.get("/health", headers={"X-Request-ID": odd}).headers["x-request-id"] not in ("", odd)
    assert problem(api.get("/nowhere", headers={"X-Request-ID": "mine"}), 404, "not_found")["request_id"] == "mine"


def test_every_answer_has_safe_headers(api: Api) -> None:
    for answer in (api.get("/health"), api.get("/nowhere"), api.get("/runs"), api.get("/runs", role=None)):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_unknown_addresses_and_methods_are_problems_too(api: Api) -> None:
    problem(api.get("/nowhere"), 404, "not_found")
    problem(api.get("/runs/"), 404, "not_found")
    problem(api.client.get("/api/"), 404, "not_found")
    refused = api.call("PUT", "/runs")
    assert "PUT" in problem(refused, 405, "method_not_allowed")["detail"]
    assert {"GET", "POST"} & {each.strip() for each in refused.headers["allow"].split(",")}


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b"", b'{"profile": "\xff"}', b"[" * 100_000, b'{"seed": 1' + b"0" * 5000 + b"}"],
    ids=["broken", "list", "null", "empty", "not UTF-8", "deep", "huge number"],
)
def test_a_body_that_cannot_be_read_is_invalid_input(api: Api, body: bytes) -> None:
    answer = api.call("POST", "/runs", content=body, headers={"Content-Type": "application/json"})
    problem(answer, 422, "invalid_input")


def test_an_invalid_request_says_what_is_wrong_where_and_repeats_no_input(api: Api) -> None:
    answer = api.post(
        "/auth/login", {"username": "gly", "password": ["hunter2-hunter2"], "extra": "hunter3"}, role=None
    )
    body = problem(answer, 422, "invalid_input")
    assert {tuple(each["loc"]) for each in body["errors"]} == {("body", "password"), ("body", "extra")}
    assert "hunter" not in answer.text
    form = api.call("POST", "/auth/login", role=None, data={"username": "gly", "password": "maxta2026"})
    problem(form, 422, "invalid_input")  # a form that another site could post is not read


def test_a_body_over_two_megabytes_is_cut_off_announced_or_not(api: Api) -> None:
    small = {"content": b" " * (2 * 1024 * 1024 - 2) + b"{}", "headers": {"Content-Type": "application/json"}}
    problem(api.call("POST", "/runs", **small), 422, "invalid_input")
    for path in ("/runs", "/auth/login", "/providers", "/health"):
        problem(api.call("POST", path, content=b"x" * 3_000_000), 413, "body_too_large")
    chunks = iter([b"x" * 100_000] * 30)
    answer = api.call("POST", "/runs", content=chunks, headers={"Content-Type": "application/json"})
    problem(answer, 413, "body_too_large")
    assert api.get("/health").status_code == 200


PROMPT = "the " + "secret" + " of a prompt"


def _toy() -> fastapi.FastAPI:
    """A small application inside our envelope, for what no real route does."""
    app = fastapi.FastAPI()
    problems.install(app)

    @app.get("/explode")
    def explode() -> None:
        raise ValueError(PROMPT)

    @app.get("/half")
    def half() -> fastapi.responses.StreamingResponse:
        def chunks():
            yield b"first half"
            raise ValueError(PROMPT)

        return fastapi.responses.StreamingResponse(chunks())

    @app.post("/echo")
    def echo(body: dict) -> dict:
        return body

    @app.get("/teapot")
    def teapot() -> None:
        raise fastapi.HTTPException(418, "short and stout")

    @app.get("/raise/{name}")
    def throw(name: str) -> None:
        raise {
            "input": errors.InputError("wrong", code="odd", fields=(("body.name", "too odd"),)),
            "plain_input": errors.InputError("wrong"),
            "bad_request": errors.InputError("wrong", code="odd", bad_request=True),
            "bank": errors.BankError("case 7 is broken"),
            "missing": errors.NotFoundError("no such thing", code="run_not_found"),
            "nobody": errors.NotAuthenticated("sign in"),
            "denied": errors.PermissionDenied("not you"),
            "conflict": errors.ConflictError("not now", code="run_terminal"),
            "slow": errors.TooManyAttempts("slow down", retry_after_s=2.4),
            "down": errors.UnavailableError("storage full", code="storage_full"),
            "provider": errors.ProviderError("no connection", code="connection", retryable=True),
            "judge": errors.JudgeError("unreadable"),
            "other": errors.EngineError("something"),
        }[name]

    app.add_middleware(Envelope, body_timeout_s=0.2)
    return app


@pytest.fixture(scope="module")
def toy():
    with serving(_toy()) as address, httpx.Client(base_url=address, timeout=20) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("input", 422, "odd"),
        ("plain_input", 422, "invalid_input"),
        ("bad_request", 400, "odd"),
        ("bank", 422, "invalid_bank"),
        ("missing", 404, "run_not_found"),
        ("nobody", 401, "not_authenticated"),
        ("denied", 403, "forbidden"),
        ("conflict", 409, "run_terminal"),
        ("slow", 429, "too_many_attempts"),
        ("down", 503, "storage_full"),
        ("provider", 502, "provider_unreachable"),
        ("judge", 502, "judge_format_error"),
        ("other", 500, "engine_error"),
    ],
)
def test_one_table_turns_our_errors_into_statuses(toy: httpx.Client, name: str, status: int, code: str) -> None:
    answer = toy.get(f"/raise/{name}")
    body = problem(answer, status, code)
    assert answer.headers.get("retry-after") == ("3" if name == "slow" else None)
    assert answer.headers.get("www-authenticate") == ("Bearer" if name == "nobody" else None)
    if name == "input":
        assert body["errors"] == [{"loc": ["body", "name"], "msg": "too odd"}]


def test_every_error_of_the_tree_has_a_status() -> None:
    def below(kind: type[errors.EngineError]) -> set[type[errors.EngineError]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    for kind in below(errors.EngineError):
        assert any(each in problems.STATUSES for each in kind.__mro__)


def test_an_unexpected_error_says_an_id_and_nothing_else(toy: httpx.Client) -> None:
    with structlog.testing.capture_logs() as logs:
        answer = toy.get("/explode")
    body = problem(answer, 500, "internal_error")
    assert PROMPT not in answer.text and "Traceback" not in answer.text and ".py" not in answer.text
    (line,) = logs
    assert line["error"] == "ValueError"
    assert "explode" in line["stack"]
    assert PROMPT not in json.dumps(line)
    assert body["request_id"]


def test_an_error_in_the_middle_of_an_answer_cuts_the_connection(toy: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        toy.get("/half")
    problem(toy.get("/teapot"), 418, "http_error")


def test_what_is_no_request_passes_through_untouched() -> None:
    seen: list[tuple[object, ...]] = []

    async def inner(*call: object) -> None:
        seen.append(call)

    call = ({"type": "lifespan"}, object(), object())
    asyncio.run(Envelope(inner)(*call))  # type: ignore[arg-type]
    assert seen == [call]


def test_a_body_that_does_not_arrive_is_not_waited_for(toy: httpx.Client) -> None:
    with socket.create_connection((toy.base_url.host, toy.base_url.port or 0), timeout=20) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b""))  # up to the end: the server hangs up
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert b'"code":"request_timeout"' in answer
    assert toy.post("/echo", json={"a": 1}).json() == {"a": 1}


def test_the_documentation_comes_from_this_server_alone_and_runs_no_inline_script(api: Api) -> None:
    for page, script in (("docs", "swagger-ui-bundle.js"), ("redoc", "redoc.standalone.js")):
        answer = api.client.get(f"/api/{page}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert "http" not in answer.text
        assert "<script>" not in answer.text
        assert f'src="docs-assets/{script}"' in answer.text
    for name, kind in (
        ("swagger-ui-bundle.js", "text/javascript"),
        ("swagger-ui.css", "text/css"),
        ("redoc.standalone.js", "text/javascript"),
        ("favicon.png", "image/png"),
        ("start-swagger.js", "text/javascript"),
    ):
        asset = api.client.get(f"/api/docs-assets/{name}")
        assert asset.status_code == 200
        assert asset.headers["content-type"].startswith(kind)
    assert "cdn.redoc" not in api.client.get("/api/docs-assets/redoc.standalone.js").text
    problem(api.client.get("/api/docs-assets/core.py"), 404, "not_found")
    problem(api.client.get("/api/docs-assets/..%2fcore.py"), 404, "not_found")


ROUTES = {
    ("GET", "/v1/health"),
    ("POST", "/v1/auth/login"),
    ("POST", "/v1/auth/refresh"),
    ("GET", "/v1/auth/me"),
    ("PATCH", "/v1/auth/password"),
    ("POST", "/v1/auth/logout"),
    ("GET", "/v1/providers"),
    ("POST", "/v1/providers"),
    ("PATCH", "/v1/providers/{provider_id}"),
    ("DELETE", "/v1/providers/{provider_id}"),
    ("POST", "/v1/providers/{provider_id}/check"),
    ("GET", "/v1/providers/{provider_id}/models"),
    ("POST", "/v1/runs"),
    ("GET", "/v1/runs"),
    ("GET", "/v1/runs/{run_id}"),
    ("POST", "/v1/runs/{run_id}/resume"),
    ("POST", "/v1/runs/{run_id}/retry-errors"),
    ("POST", "/v1/runs/{run_id}/results/{execution_id}/retry"),
    ("POST", "/v1/runs/{run_id}/judge"),
    ("GET", "/v1/runs/{run_id}/events"),
    ("PATCH", "/v1/runs/{run_id}"),
    ("DELETE", "/v1/runs/{run_id}"),
    ("GET", "/v1/runs/{run_id}/results"),
    ("GET", "/v1/runs/{run_id}/results/{execution_id}"),
    ("GET", "/v1/runs/{run_id}/export"),
    ("GET", "/v1/review-queue"),
    ("POST", "/v1/runs/{run_id}/results/{execution_id}/reviews"),
}


def test_the_schema_lists_every_route_with_its_answers_and_says_nothing_of_this_installation(api: Api) -> None:
    answer = api.client.get("/api/openapi.json")
    schema = answer.json()
    found = {(method.upper(), path) for path, operations in schema["paths"].items() for method in operations}
    assert found == ROUTES
    assert schema["servers"] == [{"url": "/api"}]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            assert {"422", "500", "503"} <= set(answers)
            for status, each in answers.items():
                if status >= "400":
                    assert set(each["content"]) == {"application/problem+json"}
            open_to_all = path in ("/v1/health", "/v1/auth/login", "/v1/auth/refresh")
            assert bool(operation.get("security")) is not open_to_all
            assert open_to_all or "401" in answers
    refresh = schema["paths"]["/v1/auth/refresh"]["post"]
    assert [each["name"] for each in refresh["parameters"]] == ["Idempotency-Key"]
    for word in ("platform.db", "127.0.0.1", "localhost", "/tmp"):
        assert word not in answer.text
    assert api.client.get("/api/openapi.json").json() == schema


def test_other_sites_may_call_only_when_the_settings_name_them(tmp_path: Path) -> None:
    settings = engines.settings(tmp_path, cors_allow_origins="http://localhost:3000, https://ci.example")
    installation.prepare(settings)
    engine = open_engine(settings, run_worker=False, name="test")
    try:
        with serving(create_api(engine)) as address, httpx.Client(base_url=address) as client:
            preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
            for origin, allowed in (("https://ci.example", True), ("https://evil.example", False)):
                asked = client.options("/v1/runs", headers=preflight | {"Origin": origin})
                assert (asked.headers.get("access-control-allow-origin") == origin) is allowed
                got = client.get("/v1/health", headers={"Origin": origin})
                assert (got.headers.get("access-control-allow-origin") == origin) is allowed
                assert "access-control-allow-credentials" not in got.headers
        with serving(create_api(engine, allow_origins=[])) as address:
            got = httpx.get(f"{address}/v1/health", headers={"Origin": "https://ci.example"})
            assert "access-control-allow-origin" not in got.headers
            problem(
                httpx.options(f"{address}/v1/runs", headers={"Origin": "https://ci.example"}), 405, "method_not_allowed"
            )
    finally:
        engine.close()


def test_until_the_engine_is_there_the_api_says_so_and_its_documentation_works(tmp_path: Path) -> None:
    app = create_api()
    with serving(Starlette(routes=[Mount("/api", app)])) as address, httpx.Client(base_url=address) as client:
        problem(client.get("/api/v1/health"), 503, "engine_starting")
        problem(client.post("/api/v1/auth/login", json={"username": "a", "password": "b"}), 503, "engine_starting")
        assert client.get("/api/docs").status_code == 200
        with engines.opened(tmp_path, run_worker=False) as engine:
            app.state.engine = engine
            assert client.get("/api/v1/health").json()["engine"] == "locked_elsewhere"


def test_health_is_open_and_says_when_the_database_does_not_answer(api: Api, tmp_path: Path) -> None:
    well = {"status": "ok", "version": "0.1.0", "database": "ok", "engine": "running"}
    assert api.get("/health", role=None).json() == well
    with engines.opened(tmp_path, run_worker=False) as engine, serving(create_api(engine)) as address:
        assert httpx.get(f"{address}/v1/health").json() == well | {"engine": "locked_elsewhere"}
        engine.database.close()
        (tmp_path / "platform.db").rename(tmp_path / "elsewhere.db")
        problem(httpx.get(f"{address}/v1/health"), 503, "database_unavailable")
