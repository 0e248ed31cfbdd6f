"""Asking again and judging again over HTTP, and what a lost reply may not do."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from engine.domain.accounts import Role
from tests.support import engines, running
from tests.support.scripted_server import ScriptedServer, Step

from .conftest import Api, beside, installed, problem

BODY = {"profile": "full", "auto_judge": True}
CASES = 10
LOST_REPLIES = 10
"""RELIABILITY asks for 100."""


class Bench(NamedTuple):
    """An installation whose provider does as it is told."""

    api: Api
    server: ScriptedServer
    provider_id: int

    def finished(self, **changes: Any) -> dict[str, Any]:
        return self.api.finished_run(provider_id=self.provider_id, **changes)

    def over(self, run_id: int) -> dict[str, Any]:
        engines.until_over(self.api.engine, run_id)
        return self.api.get(f"/runs/{run_id}").json()

    def rows(self, run_id: int, **where: Any) -> list[dict[str, Any]]:
        return self.api.get(f"/runs/{run_id}/results", params=where).json()["items"]


@contextlib.contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    with ScriptedServer(capable=True) as server:
        cases = [engines.case(number) for number in range(CASES)]
        with installed(folder, cases=cases) as api:
            draft = {"name": "scripted", "kind": "openai", "base_url": server.base_url, "default_model": "m"}
            yield Bench(api, server, api.post("/providers", draft).json()["id"])


def test_only_errors_are_asked_again_and_their_history_is_shown(tmp_path: Path) -> None:
    """B10 over HTTP, with 3 failed of 10."""
    with bench(tmp_path) as b:
        running.questions_meet(b.server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 3 else None)
        run = b.finished()
        assert (run["status"], run["error_count"], run["completed_count"]) == ("completed", 3, 7)
        failed = {row["execution_id"] for row in b.rows(run["id"], execution_status="error")}
        kept = b.rows(run["id"], execution_status="completed")
        asked = len(running.questions(b.server))
        again = b.api.post(f"/runs/{run['id']}/retry-errors", role=Role.REVIEWER)
        assert again.status_code == 202, again.text
        assert again.json()["id"] == run["id"]
        after = b.over(run["id"])
        assert (after["status"], after["error_count"], after["completed_count"]) == ("completed", 0, 10)
        assert len(running.questions(b.server)) == asked + 3
        rows = b.rows(run["id"])
        assert [row for row in rows if row["execution_id"] not in failed] == kept
        for execution_id in failed:
            detail = b.api.get(f"/runs/{run['id']}/results/{execution_id}").json()
            assert [each["execution_status"] for each in detail["attempts_history"]] == ["error", "completed"]
        problem(b.api.post(f"/runs/{run['id']}/retry-errors"), 409, "nothing_to_retry")


def test_one_result_is_asked_again_whatever_it_is(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        run = b.finished()
        chosen = b.rows(run["id"])[4]["execution_id"]
        asked = len(running.questions(b.server))
        assert b.api.post(f"/runs/{run['id']}/results/{chosen}/retry").status_code == 202
        after = b.over(run["id"])
        assert (after["status"], after["completed_count"]) == ("completed", 10)
        assert len(running.questions(b.server)) == asked + 1
        assert b.api.get(f"/runs/{run['id']}/results/{chosen}").json()["attempts"] == 2
        problem(b.api.post(f"/runs/{run['id']}/results/{2**31 - 1}/retry"), 404, "result_not_found")
        problem(b.api.post(f"/runs/4711/results/{chosen}/retry"), 404, "run_not_found")


def test_answers_are_judged_again_without_asking_the_model(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        run = b.finished(auto_judge=False)
        assert run["verdict_counts"]["none"] == 10
        asked = len(b.server.chats)
        path = f"/runs/{run['id']}/judge"
        assert b.api.post(path, {"only_missing": True}).status_code == 202
        judged = b.over(run["id"])
        assert judged["status"] == "completed" and judged["verdict_counts"]["none"] == 0
        assert len(b.server.chats) == asked
        named = b.api.post(path, {"judge_provider_id": b.provider_id, "judge_model": "m"})
        assert named.status_code == 202
        assert any("judges itself" in text for text in b.over(run["id"])["warnings"])
        assert b.api.post(path).status_code == 202, "no body at all: the run's own judge, everything"
        b.over(run["id"])
        problem(b.api.post(path, {"judge_provider_id": 4711}), 404, "provider_not_found")
        problem(b.api.post("/runs/4711/judge", {}), 404, "run_not_found")
        for body in (
            {"only_missing": "perhaps"},
            {"judge_model": ""},
            {"judge_model": "x" * 201},
            {"judge_provider_id": 10**30},
            {"surprise": 1},
            [],
        ):
            problem(b.api.post(path, body), 422, "invalid_input")
        b.over(run["id"])


def test_a_run_under_way_is_asked_again_by_nobody(tmp_path: Path) -> None:
    """B11 over HTTP: what is being done already is refused, not done twice."""
    with bench(tmp_path) as b:
        run = b.finished()
        chosen = b.rows(run["id"])[0]["execution_id"]
        b.server.always(Step(hang=True))
        assert b.api.post(f"/runs/{run['id']}/results/{chosen}/retry").status_code == 202
        for path, body in (("retry-errors", None), (f"results/{chosen}/retry", None), ("judge", {})):
            problem(b.api.post(f"/runs/{run['id']}/{path}", body), 409, "run_not_terminal")
        problem(b.api.post(f"/runs/{run['id']}/resume"), 409, "run_not_resumable")
        problem(b.api.delete(f"/runs/{run['id']}"), 409, "run_not_terminal")
        assert b.api.patch(f"/runs/{run['id']}", {"status": "cancelled"}).status_code == 200
        assert b.over(run["id"])["completed_count"] == 10, "the answer that was there counts until there is a newer one"


def test_a_server_without_the_engine_says_who_has_it(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        run = b.finished()
        chosen = b.rows(run["id"])[0]["execution_id"]
        headers = {"Authorization": f"Bearer {b.api.tokens[Role.ADMIN]}"}
        with beside(tmp_path) as address:
            for path in ("resume", "retry-errors", f"results/{chosen}/retry", "judge"):
                answer = b.api.client.post(f"{address}/api/v1/runs/{run['id']}/{path}", headers=headers)
                assert "(test)" in problem(answer, 503, "engine_locked_elsewhere")["detail"]


def test_a_reply_that_was_lost_is_asked_for_again_and_makes_no_second_run(api: Api) -> None:
    """B5: the client is cut off after it sent its request."""
    body = json.dumps(BODY | {"note": "lost"}).encode()
    host = urlsplit(str(api.client.base_url))
    for number in range(LOST_REPLIES):
        before = api.get("/runs").json()["total"]
        head = (
            f"POST /api/v1/runs HTTP/1.1\r\nHost: {host.netloc}\r\nAuthorization: Bearer {api.tokens[Role.ADMIN]}\r\n"
            f"Idempotency-Key: lost-{number}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((host.hostname or "", host.port or 0), timeout=10) as line:
            line.sendall(head.encode() + body)
        sent = {"headers": {"Idempotency-Key": f"lost-{number}"}}
        answers = [api.post("/runs", BODY | {"note": "lost"}, **sent) for _ in range(2)]
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["id"] for answer in answers}) == 1
        engines.until_over(api.engine, answers[0].json()["id"])
        assert api.get("/runs").json()["total"] == before + 1


def test_a_key_is_good_from_one_sign_to_255(api: Api) -> None:
    """B4: 400 with a reason outside of that; without a key nothing makes a repeated request safe."""
    for key in ("k", "x" * 255):
        assert api.post("/runs", BODY, headers={"Idempotency-Key": key}).status_code == 202
    for key in ("", "x" * 256):
        refused = api.post("/runs", BODY, headers={"Idempotency-Key": key})
        assert "255" in problem(refused, 400, "bad_idempotency_key")["detail"]
    assert api.post("/runs", BODY).status_code == 202
    for run in api.get("/runs").json()["items"]:
        engines.until_over(api.engine, run["id"])


def test_a_refused_request_leaves_its_key_free(api: Api) -> None:
    """B8"""
    sent = {"headers": {"Idempotency-Key": "corrected"}}
    for body in (BODY | {"profile": "smok"}, BODY | {"bank": "none"}, BODY | {"surprise": 1}, {}):
        assert api.post("/runs", body, **sent).status_code in (404, 422)
    started = api.post("/runs", BODY, **sent)
    assert started.status_code == 202
    engines.until_over(api.engine, started.json()["id"])
    problem(api.post("/runs", BODY | {"note": "other"}, **sent), 422, "idempotency_key_conflict")


@pytest.mark.parametrize("route", ["retry-errors", "results/{execution_id}/retry", "judge", "events"])
def test_the_new_routes_are_documented_with_their_codes(api: Api, route: str) -> None:
    paths = api.client.get("/api/openapi.json").json()["paths"]
    (operation,) = paths[f"/v1/runs/{{run_id}}/{route}"].values()
    answers = operation["responses"]
    assert "`run_not_found`" in answers["404"]["description"]
    if route == "events":
        assert list(answers["200"]["content"]) == ["text/event-stream"]
        assert "`too_many_streams`" in answers["429"]["description"]
    else:
        assert "`run_not_terminal`" in answers["409"]["description"]
        assert "`engine_locked_elsewhere`" in answers["503"]["description"]
