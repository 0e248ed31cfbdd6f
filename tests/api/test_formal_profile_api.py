"""A formal profile over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import engines

from .conftest import CASES, installed, problem


def test_a_formal_run_on_a_bank_that_is_too_small_lists_what_is_short(tmp_path: Path) -> None:
    title = {"zh": "正式", "en": "Formal"}
    formal = {"name": "formal", "title": title, "formal": True, "minima": {"content": 9, "rf_per_clause": 1}}
    with installed(tmp_path) as api:
        profiles = engines.write_bank(tmp_path / "bank", CASES).with_name("profiles.json")
        profiles.write_text(json.dumps({"profiles": [formal]}))
        body = problem(api.post("/runs", {"profile": "formal", "auto_judge": False}), 422, "bank_too_small")
        assert body["errors"][0] == {"loc": ["minima", "content"], "msg": "content questions: 4 of at least 9"}
        assert len(body["errors"]) == 1 + 16, "the 17 clauses of A.1 and A.2, but for the one with a question"
        assert api.get("/runs").json()["total"] == 0
