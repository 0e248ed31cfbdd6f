"""A run followed over a real socket."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.api import events
from engine.domain.accounts import Role
from tests.support import engines, running
from tests.support.scripted_server import ScriptedServer, Step

from .conftest import Api, beside, installed, problem

BODY = {"profile": "full", "auto_judge": False}
FIELDS = {"status", "done", "total", "errors", "in_flight", "rate", "eta_s", "waiting", "verdict_counts"}
PATIENCE_S = 20.0


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


@contextlib.contextmanager
def following(api: Api, run_id: int, *, role: Role = Role.VIEWER, at: str = "") -> Iterator[httpx.Response]:
    headers = {"Authorization": f"Bearer {api.tokens[role]}"}
    with httpx.stream(
        "GET", f"{at or api.client.base_url}/api/v1/runs/{run_id}/events", headers=headers, timeout=PATIENCE_S
    ) as answer:
        yield answer


def told(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The stream's events; `event` holds the name of one that has a name."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield json.loads(line.removeprefix("data: ")) | ({"event": name} if name else {})
            name = ""


@contextlib.contextmanager
def slow(folder: Path) -> Iterator[tuple[Api, ScriptedServer, dict[str, Any]]]:
    """A run of 12 questions under way, whose provider waits to be told to answer."""
    with (
        ScriptedServer(capable=True) as server,
        installed(folder, cases=[engines.case(number) for number in range(12)]) as api,
    ):
        draft = {"name": "slow", "kind": "openai", "base_url": server.base_url, "default_model": "m"}
        draft |= {"max_concurrency": 1}
        provider = api.post("/providers", draft).json()
        server.latency_s = 0.15
        started = api.post("/runs", BODY | {"provider_id": provider["id"]})
        assert started.status_code == 202, started.text
        try:
            yield api, server, started.json()
        finally:
            server.latency_s = 0
            api.patch(f"/runs/{started.json()['id']}", {"status": "cancelled"})


def test_a_run_is_followed_to_its_end(tmp_path: Path) -> None:
    with slow(tmp_path) as (api, _server, run), following(api, run["id"]) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        seen = list(told(answer.iter_lines()))
        assert all(set(each) == FIELDS for each in seen)
        assert len(seen) > 2
        done = [each["done"] for each in seen]
        assert done == sorted(done) and done[-1] == 12 and {each["total"] for each in seen} == {12}
        assert all(earlier != later for earlier, later in itertools.pairwise(seen))
        assert seen[0]["status"] in ("pending", "probing", "running")
        assert [each["status"] for each in seen].index("completed") == len(seen) - 1
        assert any(each["in_flight"] for each in seen)
        rates = [each["rate"] for each in seen if each["rate"] is not None]
        assert rates and max(rates) <= 1 / 0.15, "one at a time, each after 0.15 s"
        assert seen[-1]["verdict_counts"] == api.get(f"/runs/{run['id']}").json()["verdict_counts"]


def test_what_is_gone_over_again_is_not_done_until_it_is_done_again(tmp_path: Path) -> None:
    with slow(tmp_path) as (api, server, run):
        running.questions_meet(server, lambda n, _: Step(status=400, body={"error": "no"}) if n < 5 else None)
        assert engines.until_over(api.engine, run["id"]).error_count == 5
        judge = {"judge_provider_id": run["provider_id"], "judge_model": "j"}
        for route, body, again in (("retry-errors", None, 5), ("judge", judge, 12)):
            assert api.post(f"/runs/{run['id']}/{route}", body).status_code == 202
            with following(api, run["id"]) as answer:
                seen = list(told(answer.iter_lines()))
            done = [each["done"] for each in seen]
            assert done[-1] == 12 and 12 - again <= min(done) < 12, route
            assert seen[-1]["status"] == "completed" and seen[-1]["errors"] == 0
            paced = [each for each in seen if each["rate"] is not None]
            assert any(each["eta_s"] for each in paced), route
            assert max(each["rate"] for each in paced) <= 1 / 0.15, "one at a time, each after 0.15 s"


def test_a_run_that_is_over_is_one_event(api: Api, run: dict[str, Any]) -> None:
    with following(api, run["id"]) as answer:
        (only,) = told(answer.iter_lines())
    assert only["status"] == "completed" and only["done"] == only["total"] == run["total_count"]
    assert only["verdict_counts"] == run["verdict_counts"]
    problem(api.get("/runs/4711/events"), 404, "run_not_found")


def test_a_server_beside_the_engine_tells_the_same_from_the_store(tmp_path: Path) -> None:
    with (
        slow(tmp_path) as (api, _server, run),
        beside(tmp_path) as address,
        following(api, run["id"], at=address) as answer,
    ):
        seen = list(told(answer.iter_lines()))
    assert seen[-1]["status"] == "completed" and seen[-1]["done"] == 12
    assert {each["in_flight"] for each in seen} == {None}


def test_what_holds_a_run_up_is_told(tmp_path: Path) -> None:
    with slow(tmp_path) as (api, server, run), following(api, run["id"]) as answer:
        lines = told(answer.iter_lines())
        assert any(each["done"] for each in lines)
        server.always(Step(status=429, headers={"Retry-After": "3"}))
        waiting = next(each["waiting"] for each in lines if each["waiting"] is not None)
        assert waiting["reason"] == "rate_limited" and waiting["until"].endswith("Z")
        server.always(None)
        api.patch(f"/runs/{run['id']}", {"status": "cancelled"})
        assert list(lines)[-1]["status"] == "cancelled"


def test_what_holds_the_probing_up_is_told_as_well(tmp_path: Path) -> None:
    with slow(tmp_path) as (api, server, run):
        engines.until_over(api.engine, run["id"])
        server.script(Step(status=429, headers={"Retry-After": "2"}))
        again = api.post("/runs", BODY | {"provider_id": run["provider_id"]}).json()
        with following(api, again["id"]) as answer:
            seen = list(told(answer.iter_lines()))
    held = [each for each in seen if each["waiting"] is not None]
    assert {each["status"] for each in held} == {"probing"}
    assert {each["waiting"]["reason"] for each in held} == {"rate_limited"}
    assert seen[-1]["status"] == "completed"


def test_silence_is_broken_by_comments_and_a_reader_who_leaves_ends_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.5)
    with slow(tmp_path) as (api, server, run):
        server.always(Step(hang=True))
        before = threading.active_count()
        with contextlib.ExitStack() as open_streams:
            answers = [open_streams.enter_context(following(api, run["id"])) for _ in range(events.STREAMS_A_USER)]
            streams = [answer.iter_lines() for answer in answers]  # one that is let go of is closed
            for lines in streams:
                assert any(line.startswith(":") for line in lines)
            refused = api.get(f"/runs/{run['id']}/events", role=Role.VIEWER)
            problem(refused, 429, "too_many_streams")
            assert refused.headers["retry-after"] == "1"
            with following(api, run["id"], role=Role.ADMIN) as another:
                assert another.status_code == 200, "the limit is a user's own"
            assert threading.active_count() - before < events.STREAMS_A_USER, "no thread waits for a stream"

        def again() -> bool:
            with following(api, run["id"]) as answer:
                return answer.status_code == 200

        _until(again)


def test_a_stream_ends_with_the_session_of_its_reader(tmp_path: Path) -> None:
    """E15: what a stream goes on to tell is for a reader who may still read."""
    with slow(tmp_path) as (api, server, run):
        server.always(Step(hang=True))
        with following(api, run["id"]) as answer:
            lines = told(answer.iter_lines())
            next(lines)
            assert api.post("/auth/logout", role=Role.VIEWER).status_code == 204
            last = list(lines)[-1]
        assert last["event"] == "problem" and last["code"] == "session_revoked"


def test_a_stream_ends_when_the_process_is_told_to_end(tmp_path: Path) -> None:
    with slow(tmp_path) as (api, server, run):
        server.always(Step(hang=True))
        with following(api, run["id"]) as answer:
            lines = answer.iter_lines()
            next(lines)
            api.engine.stopping.set()
            assert not [line for line in lines if "completed" in line]
