"""Runs, results, exports and reviews over HTTP."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.api.results import _attachment
from engine.domain.accounts import Role
from engine.services import reports
from tests.support import engines
from tests.support.scripted_server import ScriptedServer, Step

from .conftest import Api, installed, problem

BODY = {"profile": "full", "auto_judge": True}

RUN_FIELDS = {
    "id", "status", "profile", "bank", "auto_judge", "provider_id", "provider_name", "model", "judge_model",
    "total_count", "completed_count", "error_count", "skipped_count", "verdict_counts", "capabilities", "waiting",
    "dataset_sha256", "seed", "created_at", "started_at", "finished_at", "created_by",
}  # fmt: skip
RESULT_FIELDS = {
    "execution_id", "run_id", "instance_id", "case_id", "clause", "mode", "execution_status", "verdict",
    "automatic_verdict", "review", "judgements", "messages", "output", "error", "latency_ms", "attempts", "usage",
    "created_at",
}  # fmt: skip


@contextlib.contextmanager
def _hanging(folder: Path) -> Iterator[tuple[Api, dict[str, Any]]]:
    """An installation with a run that is under way and stays so."""
    with ScriptedServer(capable=True) as server, installed(folder) as api:
        draft = {"name": "slow", "kind": "openai", "base_url": server.base_url, "default_model": "m"}
        provider = api.post("/providers", draft).json()
        server.always(Step(hang=True))
        started = api.post("/runs", BODY | {"provider_id": provider["id"], "auto_judge": False})
        assert started.status_code == 202, started.text
        yield api, started.json()
        api.patch(f"/runs/{started.json()['id']}", {"status": "cancelled"})


def test_a_run_is_accepted_followed_and_adds_up(api: Api, run: dict[str, Any]) -> None:
    assert set(run) >= RUN_FIELDS
    assert run["status"] == "completed"
    assert set(run["verdict_counts"]) == {"pass", "fail", "needs_human_review", "judge_format_error", "none"}
    assert sum(run["verdict_counts"].values()) == run["completed_count"]
    assert run["completed_count"] + run["error_count"] + run["skipped_count"] == run["total_count"]
    assert all(run[field].endswith("Z") for field in ("created_at", "started_at", "finished_at"))
    assert run["created_by"] == "admin"
    problem(api.get("/runs/4711"), 404, "run_not_found")
    problem(api.get("/runs/seven"), 422, "invalid_input")
    problem(api.get(f"/runs/{10**30}"), 422, "invalid_input")


def test_runs_are_listed_newest_first_a_slice_at_a_time_and_filtered(api: Api, run: dict[str, Any]) -> None:
    newer = api.finished_run(note="the newer one")
    listed = api.get("/runs").json()
    ids = [each["id"] for each in listed["items"]]
    assert ids == sorted(ids, reverse=True)
    assert listed["total"] == len(ids)
    assert api.get("/runs", params={"limit": 1, "offset": 1}).json()["items"][0]["id"] == ids[1]
    assert api.get("/runs", params={"offset": 10_000}).json() == {"items": [], "total": len(ids)}
    for params, expected in (
        ({"status": "completed", "profile": "full", "provider_id": run["provider_id"]}, len(ids)),
        ({"status": "failed"}, 0),
        ({"profile": "smoke"}, 0),
        ({"provider_id": 4711}, 0),
    ):
        assert api.get("/runs", params=params).json()["total"] == expected
    for params in (
        {"limit": 0},
        {"limit": 501},
        {"limit": "many"},
        {"offset": -1},
        {"offset": 10**30},
        {"status": "sleeping"},
        {"provider_id": "x"},
    ):
        problem(api.get("/runs", params=params), 422, "invalid_input")
    assert api.delete(f"/runs/{newer['id']}").status_code == 204


AT_ONCE, OTHER_BODIES = 5, 3
"""RELIABILITY asks for 50 and 20."""


def test_the_same_key_and_body_are_the_same_run(api: Api) -> None:
    """B1, B2, B3."""

    def start(key: str | None, role: Role = Role.ADMIN, **changes: Any) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return api.post("/runs", BODY | changes, headers=headers, role=role)

    before = api.get("/runs").json()["total"]
    together = threading.Barrier(AT_ONCE)

    def start_together(_: int) -> httpx.Response:
        together.wait(20)
        return start("run-key-1")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(start_together, range(AT_ONCE)))
    for answer in made:
        if answer.status_code != 202:
            problem(answer, 409, "idempotency_in_progress")
    (first,) = {answer.json()["id"] for answer in made if answer.status_code == 202}
    assert api.get("/runs").json()["total"] == before + 1
    for number in range(OTHER_BODIES):
        problem(start("run-key-1", note=f"another body {number}"), 422, "idempotency_key_conflict")
    again = start("run-key-1")
    assert (again.status_code, again.json()["id"], again.json()["note"]) == (202, first, None)
    assert api.get("/runs").json()["total"] == before + 1
    others = start("run-key-1", role=Role.LEAD)
    assert others.json()["id"] != first and others.json()["created_by"] == "lead"
    assert start(None).json()["id"] != start(None).json()["id"]
    for key in ("", "x" * 256):
        problem(start(key), 400, "bad_idempotency_key")
    sent = {"Idempotency-Key": "schlüssel".encode("latin-1"), "Authorization": f"Bearer {api.tokens[Role.ADMIN]}"}
    problem(api.client.post("/api/v1/runs", json=BODY, headers=sent), 400, "bad_idempotency_key")
    # A refused body is not remembered: the corrected one may use the key.
    problem(start("run-key-2", profile="smok"), 404, "unknown_profile")
    assert start("run-key-2").status_code == 202
    for each in api.get("/runs").json()["items"]:
        engines.until_over(api.engine, each["id"])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_input"),
        ({"profile": "full"}, 422, "invalid_input"),
        (BODY | {"surprise": 1}, 422, "invalid_input"),
        (BODY | {"seed": 10**30}, 422, "invalid_input"),
        (BODY | {"note": "x" * 2001}, 422, "invalid_input"),
        (BODY | {"provider_id": 10**30}, 422, "invalid_input"),
        (BODY | {"profile": "x" * 201}, 422, "invalid_input"),
        (BODY | {"bank": "x" * 201}, 422, "invalid_input"),
        *(
            (BODY | {field: name}, 422, "invalid_input")
            for field in ("model", "judge_model")
            for name in ("", "x" * 201)
        ),
        (BODY | {"profile": "smok"}, 404, "unknown_profile"),
        (BODY | {"bank": "other"}, 404, "unknown_bank"),
        (BODY | {"provider_id": 4711}, 404, "provider_not_found"),
        (BODY | {"judge_provider_id": 4711}, 404, "provider_not_found"),
    ],
)
def test_a_run_that_cannot_be_is_refused(api: Api, body: dict[str, Any], status: int, code: str) -> None:
    before = api.get("/runs").json()["total"]
    problem(api.post("/runs", body), status, code)
    assert api.get("/runs").json()["total"] == before


def test_a_run_under_way_can_only_be_watched_and_cancelled(tmp_path: Path) -> None:
    with _hanging(tmp_path) as (api, run):
        path = f"/runs/{run['id']}"
        assert run["status"] in ("pending", "probing", "running")
        problem(api.delete(path), 409, "run_not_terminal")
        problem(api.get(f"{path}/export"), 409, "run_not_terminal")
        problem(api.post(f"{path}/resume"), 409, "run_not_resumable")
        for body in ({"status": "completed"}, {"status": "cancelled", "note": "x"}, {"note": "x"}, {}, "cancelled"):
            problem(api.patch(path, body), 422, "invalid_input")
        assert api.patch(path, {"status": "cancelled"}).status_code == 200
        assert engines.until_over(api.engine, run["id"]).status == "cancelled"
        problem(api.patch(path, {"status": "cancelled"}), 409, "run_terminal")
        problem(api.patch("/runs/4711", {"status": "cancelled"}), 404, "run_not_found")


def test_a_cancelled_run_goes_on_and_a_completed_one_does_not(tmp_path: Path) -> None:
    with ScriptedServer(capable=True) as server, installed(tmp_path) as api:
        draft = {"name": "slow", "kind": "openai", "base_url": server.base_url, "default_model": "m"}
        provider = api.post("/providers", draft).json()
        server.always(Step(hang=True))
        run = api.post("/runs", BODY | {"provider_id": provider["id"], "auto_judge": False}).json()
        api.patch(f"/runs/{run['id']}", {"status": "cancelled"})
        engines.until_over(api.engine, run["id"])
        server.always(None)
        resumed = api.post(f"/runs/{run['id']}/resume")
        assert resumed.status_code == 202
        assert resumed.json()["id"] == run["id"]
        assert engines.until_over(api.engine, run["id"]).status == "completed"
        problem(api.post(f"/runs/{run['id']}/resume"), 409, "run_not_resumable")
        problem(api.post("/runs/4711/resume"), 404, "run_not_found")


def test_a_removed_run_takes_its_results_along_and_stays_in_the_audit_trail(api: Api) -> None:
    """B14. That no row is left behind is counted in the tests of the store."""
    run = api.finished_run()
    execution = api.get(f"/runs/{run['id']}/results").json()["items"][0]["execution_id"]
    gone = api.delete(f"/runs/{run['id']}")
    assert (gone.status_code, gone.content) == (204, b"")
    for path in ("", "/results", f"/results/{execution}", "/export"):
        problem(api.get(f"/runs/{run['id']}{path}"), 404, "run_not_found")
    problem(api.delete(f"/runs/{run['id']}"), 404, "run_not_found")
    rows = api.engine.stores.audit.page(limit=500, offset=0).items
    actions = [row.action for row in rows if row.object == f"run:{run['id']}"]
    assert set(actions) >= {"run.start", "run.delete"}


def test_results_are_filtered_by_closed_lists_that_combine(api: Api, run: dict[str, Any]) -> None:
    path = f"/runs/{run['id']}/results"
    everything = api.get(path).json()
    assert everything["total"] == run["completed_count"] + run["error_count"]
    assert all(set(each) == RESULT_FIELDS for each in everything["items"])
    for name, field in (("execution_status", "execution_status"), ("clause", "clause"), ("mode", "mode")):
        for value in {each[field] for each in everything["items"]}:
            found = api.get(path, params={name: value}).json()["items"]
            assert found == [each for each in everything["items"] if each[field] == value]
    for verdict in ("pass", "needs_human_review", "judge_format_error", "fail"):
        found = api.get(path, params={"verdict": verdict}).json()
        assert found["total"] == run["verdict_counts"][verdict]
    unjudged = api.get(path, params={"verdict": "none"}).json()["items"]
    assert [each["verdict"] for each in unjudged] == [None] * len(unjudged)
    assert [each["execution_status"] for each in unjudged] == ["error"]
    both = api.get(path, params={"verdict": "pass", "execution_status": "error"}).json()
    assert both == {"items": [], "total": 0}
    assert api.get(path, params={"q": "rice"}).json()["total"] == 1
    assert api.get(path, params={"limit": 2, "offset": 1}).json()["items"] == everything["items"][1:3]
    for params in (
        {"verdict": "maybe"},
        {"execution_status": "pending"},
        {"clause": "A.9.z"},
        {"mode": "chat"},
        {"q": "x" * 201},
        {"limit": 501},
    ):
        problem(api.get(path, params=params), 422, "invalid_input")
    problem(api.get("/runs/4711/results"), 404, "run_not_found")


def test_one_result_comes_with_its_history(api: Api, run: dict[str, Any]) -> None:
    first = api.get(f"/runs/{run['id']}/results").json()["items"][0]
    answer = api.get(f"/runs/{run['id']}/results/{first['execution_id']}")
    assert answer.status_code == 200
    detail = answer.json()
    assert {key: detail[key] for key in first} == first
    assert len(detail["attempts_history"]) == 1
    assert detail["reviews"] == []
    problem(api.get(f"/runs/{run['id']}/results/4711"), 404, "result_not_found")
    other = api.finished_run()
    problem(api.get(f"/runs/{other['id']}/results/{first['execution_id']}"), 404, "result_not_found")


def test_the_export_is_a_streamed_attachment_named_after_its_run(api: Api, run: dict[str, Any]) -> None:
    answer = api.get(f"/runs/{run['id']}/export")
    name = f"run_{run['id']}_results.md"
    assert answer.headers["content-disposition"] == f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}"
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.headers["cache-control"] == "no-store"
    results = api.get(f"/runs/{run['id']}/results").json()["items"]
    assert all(each["instance_id"] in answer.text for each in results)
    assert api.get(f"/runs/{run['id']}/export", params={"format": "md"}).content == answer.content
    errors = api.get(f"/runs/{run['id']}/export", params={"execution_status": "error", "verdict": "none"}).text
    assert [each["instance_id"] in errors for each in results] == [
        each["execution_status"] == "error" for each in results
    ]
    for params in ({"format": "pdf"}, {"verdict": "maybe"}, {"execution_status": "pending"}):
        problem(api.get(f"/runs/{run['id']}/export", params=params), 422, "invalid_input")
    problem(api.get(f"/runs/{run['id']}/export", params={"redacted": True}), 422, "redaction_unavailable")
    problem(api.get("/runs/4711/export"), 404, "run_not_found")


def test_a_file_name_survives_whatever_it_holds() -> None:
    header = _attachment('评审 "x"\r\nSet-Cookie: a=b;\\é.md')
    assert "\r" not in header and "\n" not in header
    assert header.isascii()
    plain, _, exact = header.removeprefix("attachment; filename=").partition("; filename*=UTF-8''")
    assert plain == '"__ _x___Set-Cookie: a=b;__.md"'
    assert httpx.URL(f"http://x/{exact}").path == '/评审 "x"\r\nSet-Cookie: a=b;\\é.md'


def test_a_client_that_leaves_in_the_middle_of_an_export_leaves_nothing_open(
    api: Api, run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
        finally:
            closed.append(True)

    monkeypatch.setattr(reports, "export", lambda *_a, **_k: reports.Export("endless.md", "text/markdown", endless()))
    headers = {"Authorization": f"Bearer {api.tokens[Role.VIEWER]}"}
    with api.client.stream("GET", f"/api/v1/runs/{run['id']}/export", headers=headers) as answer:
        next(answer.iter_bytes())
    for _ in range(200):
        if closed:
            break
        assert api.get("/health").status_code == 200
    assert closed == [True]


def test_what_waits_for_a_person_is_queued_and_a_decision_takes_it_out(api: Api) -> None:
    run = api.finished_run()
    path = f"/runs/{run['id']}"
    mine = {"run_id": run["id"]}
    queue = api.get("/review-queue", params=mine).json()
    waiting = run["verdict_counts"]["needs_human_review"] + run["verdict_counts"]["judge_format_error"]
    assert queue["total"] == waiting > 1
    assert all(set(each) == RESULT_FIELDS | {"why"} for each in queue["items"])
    assert {each["why"] for each in queue["items"]} == {"needs_human_review", "judge_format_error"}
    item = queue["items"][0]
    assert api.get("/review-queue", params=mine | {"clause": item["clause"]}).json()["items"][0] == item
    assert api.get("/review-queue", params=mine | {"limit": 1, "offset": 1}).json()["items"] == queue["items"][1:2]
    problem(api.get("/review-queue", params={"clause": "A.9.z"}), 422, "invalid_input")
    problem(api.get("/review-queue", params={"run_id": "x"}), 422, "invalid_input")
    assert api.get("/review-queue", params={"run_id": 4711}).json() == {"items": [], "total": 0}

    decide = f"{path}/results/{item['execution_id']}/reviews"
    made = api.post(decide, {"verdict": "fail", "reason": "It takes a side.", "if_version": 0}, role=Role.REVIEWER)
    assert made.status_code == 201, made.text
    review = made.json()
    assert (review["verdict"], review["reviewer"], review["version"]) == ("fail", "reviewer", 1)
    result = api.get(f"{path}/results/{item['execution_id']}").json()
    assert (result["verdict"], result["automatic_verdict"]) == ("fail", item["automatic_verdict"])
    assert result["review"] == {key: review[key] for key in result["review"]}
    assert api.get("/review-queue", params=mine).json()["total"] == waiting - 1
    assert api.get(path).json()["verdict_counts"]["fail"] == run["verdict_counts"]["fail"] + 1

    problem(api.post(decide, {"verdict": "pass", "reason": "No.", "if_version": 0}), 409, "stale_review")
    cleared = api.post(decide, {"verdict": "clear", "reason": "Look again.", "if_version": 1})
    assert cleared.json()["version"] == 2
    assert api.get("/review-queue", params=mine).json()["total"] == waiting
    assert len(api.get(f"{path}/results/{item['execution_id']}").json()["reviews"]) == 2

    for body in (
        {"verdict": "maybe", "reason": "x"},
        {"verdict": "pass"},
        {"verdict": "pass", "reason": ""},
        {"verdict": "pass", "reason": "x", "if_version": -1},
        {"verdict": "pass", "reason": "x", "extra": 1},
    ):
        problem(api.post(decide, body), 422, "invalid_input")
    problem(api.post(f"{path}/results/4711/reviews", {"verdict": "pass", "reason": "x"}), 404, "result_not_found")
