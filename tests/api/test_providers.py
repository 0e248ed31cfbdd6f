"""Configured endpoints over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Authority
from tests.support.scripted_server import ScriptedServer, Step

from .conftest import Api, installed, problem

KEY = "sk-canary-0123456789-WXYZ"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(capable=True) as running:
        yield running


def _draft(server: ScriptedServer, name: str, **changes: Any) -> dict[str, Any]:
    draft = {"name": name, "kind": "openai", "base_url": server.base_url, "default_model": "scripted", "api_key": KEY}
    return draft | changes


def test_a_provider_is_added_changed_and_removed_and_its_key_never_shown(api: Api, server: ScriptedServer) -> None:
    made = api.post("/providers", _draft(server, "ours", max_concurrency=3, extra_headers={"X-Team": "red"}))
    assert made.status_code == 201
    provider = made.json()
    assert (provider["api_key_set"], provider["api_key_hint"]) == (True, "WXYZ")
    assert (provider["max_concurrency"], provider["extra_headers"]) == (3, {"X-Team": "red"})
    assert provider["created_at"].endswith("Z")
    path = f"/providers/{provider['id']}"

    changed = api.patch(path, {"name": "renamed", "timeout_seconds": 7.5})
    assert changed.status_code == 200
    assert changed.json() == provider | {"name": "renamed", "timeout_seconds": 7.5}
    short = api.patch(path, {"api_key": "short"}).json()
    assert (short["api_key_set"], short["api_key_hint"]) == (True, "")
    removed_key = api.patch(path, {"api_key": ""}).json()
    assert (removed_key["api_key_set"], removed_key["api_key_hint"]) == (False, "")

    listed = api.get("/providers")
    assert [each["name"] for each in listed.json()["items"]] == ["demo", "renamed"]
    assert listed.json()["total"] == 2
    second = api.get("/providers", params={"limit": 1, "offset": 1}).json()
    assert ([each["name"] for each in second["items"]], second["total"]) == (["renamed"], 2)

    gone = api.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    problem(api.patch(path, {"name": "again"}), 404, "provider_not_found")
    problem(api.delete(path), 404, "provider_not_found")
    for answer in (made, changed, listed):
        assert KEY not in answer.text
    folder = api.engine.database.path
    assert folder is not None
    for file in folder.parent.glob("platform.db*"):
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": ""}, "invalid_input"),
        ({"kind": "telepathy"}, "invalid_input"),
        ({"surprise": 1}, "invalid_input"),
        ({"max_concurrency": 0}, "invalid_input"),
        ({"max_concurrency": 10**30}, "invalid_input"),
        ({"requests_per_minute": 10**30}, "invalid_input"),
        ({"timeout_seconds": 0}, "invalid_input"),
        ({"default_model": ""}, "invalid_input"),
        ({"extra_headers": {"X": 1}}, "invalid_input"),
        ({"base_url": "file:///etc/passwd"}, "bad_base_url"),
        ({"base_url": ""}, "bad_base_url"),
        ({"base_url": "http://169.254.169.254/"}, "bad_base_url"),
    ],
)
def test_an_unusable_draft_is_refused(api: Api, server: ScriptedServer, changes: dict[str, Any], code: str) -> None:
    problem(api.post("/providers", _draft(server, "never") | changes), 422, code)
    assert all(each["name"] != "never" for each in api.get("/providers").json()["items"])


@pytest.mark.parametrize(
    "fields",
    [
        '"extra_body": {"stop": "\\ud800"}',
        '"api_key": "\\ud800-0123456789"',
        '"extra_body": {"x": NaN}',
        '"extra_body": {"x": 1e999}',
        '"timeout_seconds": NaN',
        '"extra_body": {"x": ' + "[" * 60 + "]" * 60 + "}",
        '"extra_body": {"\\ud800": 1}',
    ],
)
def test_text_and_numbers_that_cannot_be_kept_are_refused_and_are_no_server_error(api: Api, fields: str) -> None:
    body = (
        '{"name": "odd", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "default_model": "m", ' + fields + "}"
    )
    answer = api.call("POST", "/providers", content=body.encode(), headers={"Content-Type": "application/json"})
    problem(answer, 422, "invalid_input")


def test_a_name_is_taken_once(api: Api, server: ScriptedServer) -> None:
    problem(api.post("/providers", _draft(server, "demo")), 409, "name_taken")
    made = api.post("/providers", _draft(server, "second")).json()
    problem(api.patch(f"/providers/{made['id']}", {"name": "demo"}), 409, "name_taken")
    problem(api.patch(f"/providers/{made['id']}", {"base_url": "ftp://x"}), 422, "bad_base_url")
    assert api.delete(f"/providers/{made['id']}").status_code == 204


def test_a_check_says_what_is_wrong_in_words_and_is_never_a_server_error(api: Api, server: ScriptedServer) -> None:
    made = api.post("/providers", _draft(server, "checked")).json()
    path = f"/providers/{made['id']}/check"
    good = api.post(path)
    assert good.status_code == 200
    assert good.json()["ok"] is True
    assert good.json()["model"] == "scripted"
    assert good.json()["latency_ms"] >= 0
    assert api.post(path, {"model": "other"}).json()["model"] == "other"
    server.always(Step(status=401, body={"error": {"message": f"bad key {KEY}"}}))
    bad = api.post(path)
    server.always(None)
    assert bad.status_code == 200
    assert bad.json()["ok"] is False
    assert set(bad.json()["error"]) == {"code", "message", "hint"}
    assert bad.json()["error"]["code"] == "auth"
    assert KEY not in bad.text
    problem(api.post("/providers/4711/check"), 404, "provider_not_found")
    problem(api.post(path, {"model": ""}), 422, "invalid_input")
    api.delete(f"/providers/{made['id']}")


def test_models_are_the_endpoints_own_or_the_declared_one_or_502_when_it_is_down(
    api: Api, server: ScriptedServer
) -> None:
    made = api.post("/providers", _draft(server, "modelled")).json()
    path = f"/providers/{made['id']}"
    listed = api.get(f"{path}/models").json()
    assert listed["source"] in ("provider", "declared")
    assert all(set(each) == {"id"} for each in listed["items"])
    assert api.get("/providers/1/models").json()["items"]
    api.patch(path, {"base_url": "http://127.0.0.1:9/v1"})
    problem(api.get(f"{path}/models"), 502, "provider_unreachable")
    down = api.post(f"{path}/check").json()
    assert (down["ok"], down["error"]["code"]) == (False, "connection")
    problem(api.get("/providers/4711/models"), 404, "provider_not_found")
    api.delete(path)


@pytest.mark.parametrize("address", ["", "/openai/v1", "/openai/deployments/mine/chat/completions"])
def test_an_azure_provider_declares_its_deployment_whatever_could_be_deployed(
    api: Api, server: ScriptedServer, address: str
) -> None:
    """What such a resource lists are models one could deploy; none of them need be there to be asked."""
    base = f"http://127.0.0.1:{server.port}{address}"
    made = api.post(
        "/providers", _draft(server, "deployed", kind="azure", base_url=base, default_model="my-deployment")
    ).json()
    listed = api.get(f"/providers/{made['id']}/models", role="viewer")
    assert (listed.status_code, listed.json()) == (200, {"items": [{"id": "my-deployment"}], "source": "declared"})
    api.delete(f"/providers/{made['id']}")


def test_how_an_endpoint_is_reached_is_set_changed_and_shown(api: Api, server: ScriptedServer, tmp_path: Path) -> None:
    usual = api.post("/providers", _draft(server, "usual")).json()
    names = ("connect_timeout_seconds", "stream", "use_proxy", "ca_file", "verify_tls")
    assert [usual[name] for name in names] == [None, False, False, None, True]
    file = str(Authority(tmp_path).file)
    wanted = {"connect_timeout_seconds": 3, "stream": True, "use_proxy": True, "ca_file": file, "verify_tls": False}
    made = api.post("/providers", _draft(server, "reached", extra_body={"seed": 7}, **wanted)).json()
    assert {name: made[name] for name in names} == wanted
    path = f"/providers/{made['id']}"
    assert api.post(f"{path}/check").json()["ok"] is True
    assert (server.chats[-1].json["stream"], server.chats[-1].json["seed"]) == (True, 7)
    back = {"connect_timeout_seconds": None, "stream": False, "use_proxy": False, "ca_file": None, "verify_tls": True}
    assert api.patch(path, back).json() == made | back
    assert api.patch(path, {"ca_file": file}).json()["ca_file"] == file
    assert api.patch(path, {"ca_file": ""}).json()["ca_file"] is None
    problem(api.patch(path, {"ca_file": str(tmp_path / "none.pem")}), 422, "bad_ca_file")
    problem(api.patch(path, {"extra_headers": {"Host": "x"}}), 422, "bad_header")
    problem(api.patch(path, {"extra_body": {"stream": True}}), 422, "bad_extra_body")
    problem(api.patch(path, {"connect_timeout_seconds": 0}), 422, "invalid_input")
    for each in (usual, made):
        api.delete(f"/providers/{each['id']}")


def test_f3_checks_are_counted(tmp_path: Path, server: ScriptedServer) -> None:
    """F3."""
    with installed(tmp_path) as api:
        answers = [api.post("/providers/1/check") for _ in range(11)]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    problem(answers[10], 429, "too_many_attempts")
    assert 0 < int(answers[10].headers["Retry-After"]) <= 61


def test_a_provider_that_a_run_is_using_cannot_be_changed_or_removed(tmp_path: Path) -> None:
    with ScriptedServer(capable=True) as server, installed(tmp_path) as api:
        made = api.post("/providers", _draft(server, "busy")).json()
        server.always(Step(hang=True))
        run = api.post("/runs", {"profile": "full", "auto_judge": False, "provider_id": made["id"]}).json()
        problem(api.delete(f"/providers/{made['id']}"), 409, "provider_in_use")
        problem(api.patch(f"/providers/{made['id']}", {"name": "x"}), 409, "provider_in_use")
        assert api.patch(f"/runs/{run['id']}", {"status": "cancelled"}).status_code == 200
