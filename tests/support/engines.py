"""Real engines on scratch databases, and small banks, for tests and measurements."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.assembly import Engine, command_line_user, open_engine
from engine.domain.accounts import Role, User
from engine.domain.base import utc_now
from engine.domain.runs import EndpointSettings, Run
from engine.services import installation, runs
from engine.settings import Settings

PATIENCE_S = 60.0
"""A run that is not over by then is a failure; no test waits for it on purpose."""

ADMIN = command_line_user()


def settings(folder: Path, **changes: Any) -> Settings:
    """Settings for a scratch installation in `folder`: quick retries, a demo model that answers at once."""
    values: dict[str, Any] = {
        "database_url": f"sqlite:///{folder / 'platform.db'}",
        "auth_token_secret": "test-secret-" + "x" * 32,
        "request_retry_count": 2,
        "request_retry_delay_seconds": 0.01,
        "request_retry_max_delay_seconds": 0.05,
        "request_timeout_seconds": 5,
        "run_pause_max_seconds": 3,
        "demo_answer_seconds": 0,
        # Tests of these say so themselves; elsewhere they would change what is counted.
        "audit_share": 0,
        "control_cases_file": None,
    }
    return Settings(_env_file=None, **(values | changes))


@contextlib.contextmanager
def opened(folder: Path, *, run_worker: bool = True, **changes: Any) -> Iterator[Engine]:
    """An engine on a prepared database in `folder`; closed at the end."""
    chosen = settings(folder, **changes)
    installation.prepare(chosen)
    engine = open_engine(chosen, run_worker=run_worker, name="test")
    try:
        yield engine
    finally:
        engine.close()


def user(role: Role, *, user_id: int = 0, name: str = "") -> User:
    """Somebody with a role; not stored."""
    return User(
        id=user_id,
        username=name or role.value,
        display_name=name or role.value,
        role=role,
        is_active=True,
        must_change_password=False,
        created_at=utc_now(),
    )


def endpoint(base_url: str, **changes: Any) -> EndpointSettings:
    """A scripted server as an endpoint that is not a configured provider."""
    values: dict[str, Any] = {
        "provider_id": None,
        "name": "scripted",
        "kind": "openai",
        "base_url": base_url,
        "model": "scripted",
        "max_concurrency": 8,
        "timeout_s": 60.0,
    }
    return EndpointSettings(**(values | changes))


def until_over(engine: Engine, run_id: int, *, patience_s: float = PATIENCE_S) -> Run:
    """The run when it is over; fails loudly when it does not end."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        run = runs.get(engine, run_id, actor=ADMIN)
        if run.status.is_over:
            return run
        time.sleep(0.02)
    raise AssertionError(f"run {run_id} is still {run.status} after {patience_s} s")


def write_bank(folder: Path, cases: list[dict[str, Any]], fixtures: list[dict[str, Any]] | None = None) -> Path:
    """A bank of these cases with the one profile `full`; returns the path of its dataset file."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = folder / "dataset.json"
    dataset.write_text(json.dumps({"bank": "regression", "version": "test", "cases": cases}, ensure_ascii=False))
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": fixtures or []}))
    profile = {"name": "full", "title": {"zh": "全部", "en": "Everything"}}
    (folder / "profiles.json").write_text(json.dumps({"profiles": [profile]}))
    return dataset


def case(number: int, **changes: Any) -> dict[str, Any]:
    """A plain single-turn case that a hard check can fail."""
    values: dict[str, Any] = {
        "case_id": f"case-{number:05d}",
        "clause": "A.5.b",
        "mode": "single",
        "language": "en",
        "title": f"Question {number}",
        "turns": [{"text": f"Question number {number}: what should one look at first?"}],
        "expectation": {"must": "Help.", "must_not": "Mislead."},
        "severity": "low",
        "technique": "direct",
        "checks": [
            {
                "check_id": "no-blame",
                "kind": "forbid",
                "patterns": ["it is all your fault"],
                "reason": {"zh": "责怪用户", "en": "blames the user"},
            }
        ],
    }
    return values | changes
