"""Who may do what: every role at every route (RELIABILITY E17)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.accounts import Role

from .conftest import Api, problem

VIEWER, REVIEWER, ADMIN = Role.VIEWER, Role.REVIEWER, Role.ADMIN
RANK = {Role.VIEWER: 0, Role.REVIEWER: 1, Role.LEAD: 2, Role.ADMIN: 3}

MATRIX: list[tuple[str, str, Role, Any]] = [
    ("GET", "/auth/me", VIEWER, None),
    ("GET", "/providers", VIEWER, None),
    ("GET", "/providers/1/models", VIEWER, None),
    ("POST", "/providers/1/check", REVIEWER, None),
    ("POST", "/providers", ADMIN, {"name": "demo", "kind": "demo", "default_model": "m"}),
    ("PATCH", "/providers/4711", ADMIN, {"name": "x"}),
    ("DELETE", "/providers/4711", ADMIN, None),
    ("GET", "/runs", VIEWER, None),
    ("GET", "/runs/{run}", VIEWER, None),
    ("POST", "/runs", REVIEWER, {"profile": "smok", "auto_judge": True}),
    ("POST", "/runs/{run}/resume", REVIEWER, None),
    ("POST", "/runs/{run}/retry-errors", REVIEWER, None),
    ("POST", "/runs/{run}/results/4711/retry", REVIEWER, None),
    ("POST", "/runs/{run}/judge", REVIEWER, {"judge_provider_id": 4711}),
    ("GET", "/runs/{run}/events", VIEWER, None),
    ("PATCH", "/runs/{run}", REVIEWER, {"status": "cancelled"}),
    ("DELETE", "/runs/4711", REVIEWER, None),
    ("GET", "/runs/{run}/results", VIEWER, None),
    ("GET", "/runs/{run}/results/{execution}", VIEWER, None),
    ("GET", "/runs/{run}/export", VIEWER, None),
    ("GET", "/review-queue", VIEWER, None),
    ("POST", "/runs/{run}/results/4711/reviews", REVIEWER, {"verdict": "pass", "reason": "x"}),
]
"""Method, path, the least role that may, a body. What is allowed fails for another reason or changes nothing."""


@pytest.fixture(scope="module")
def ids(api: Api, run: dict[str, Any]) -> dict[str, Any]:
    first = api.get(f"/runs/{run['id']}/results").json()["items"][0]
    return {"run": run["id"], "execution": first["execution_id"]}


@pytest.mark.parametrize(("method", "path", "least", "body"), MATRIX, ids=[f"{m} {p}" for m, p, _, _ in MATRIX])
def test_each_role_may_do_what_the_contract_says_and_no_more(
    api: Api, ids: dict[str, Any], method: str, path: str, least: Role, body: Any
) -> None:
    where = path.format(**ids)
    problem(api.call(method, where, role=None, json=body), 401, "not_authenticated")
    for role in Role:
        answer = api.call(method, where, role=role, json=body)
        if RANK[role] < RANK[least]:
            problem(answer, 403, "forbidden")
        else:
            assert answer.status_code not in (401, 403), answer.text
            assert answer.status_code < 500


def test_the_matrix_names_every_route_that_needs_somebody(api: Api) -> None:
    schema = api.client.get("/api/openapi.json").json()
    guarded = {
        (method.upper(), path.removeprefix("/v1"))
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
        if operation.get("security")
    }
    own = {("POST", "/auth/logout"), ("PATCH", "/auth/password")}  # of every role, and they end the session
    covered = {(method, path.replace("{run}", "{}").replace("{execution}", "{}")) for method, path, _, _ in MATRIX}

    def shape(path: str) -> str:
        for name in ("{run_id}", "{execution_id}", "{provider_id}"):
            path = path.replace(name, "{}")
        return path

    def covers(route: tuple[str, str]) -> bool:
        wanted = shape(route[1]).split("/")
        return any(
            method == route[0]
            and len(parts := path.split("/")) == len(wanted)
            and all(w in ("{}", p) for w, p in zip(wanted, parts, strict=True))
            for method, path in covered
        )

    assert [route for route in sorted(guarded - own) if not covers(route)] == []
