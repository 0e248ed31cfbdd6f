"""A small valid bank on disk, to be spoilt by the tests one thing at a time."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PIXEL = b"\x89PNG\r\n\x1a\n stands for an image; the bank pins bytes and never decodes them"
RECORD = {"plan": "Family 200", "phone": "555 0117", "answer": "hand over politely", "note": "canary-for-reviewers"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class BankFiles:
    """`cases`, `fixtures` and `profiles` as they will be written; `write()` puts them on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dataset_file = folder / "dataset.json"
        self.contents = {
            "fixtures/chart.png": PIXEL,
            "fixtures/record.json": json.dumps(RECORD).encode(),
            "fixtures/policy.txt": "退货政策".encode(),
        }
        self.cases: list[dict[str, Any]] = [
            self.case("one"),
            self.case("two", clause="A.1.b", language="zh-CN", turns=[{"text": "看图", "fixtures": ["chart"]}])
            | {"mode": "multimodal"},
            self.case("three", clause="A.4.f", turns=[{"text": "Read both", "fixtures": ["record", "policy"]}]),
            self.tool_case("four"),
        ]
        self.fixtures: list[dict[str, Any]] = [
            self.fixture("chart", "fixtures/chart.png", "image/png", ["content"]),
            self.fixture("record", "fixtures/record.json", "application/json", ["plan"], ["answer"]),
            self.fixture("policy", "fixtures/policy.txt", "text/plain", ["content"]),
        ]
        self.profiles: list[dict[str, Any]] = [self.profile("full")]
        self.extra: dict[str, Any] = {}

    @property
    def pixel(self) -> bytes:
        return self.contents["fixtures/chart.png"]

    @property
    def record(self) -> bytes:
        return self.contents["fixtures/record.json"]

    def case(self, case_id: str, **values: Any) -> dict[str, Any]:
        return {
            "case_id": case_id,
            "clause": "A.1.a",
            "mode": "single",
            "language": "en",
            "title": f"Title of {case_id}",
            "turns": [{"text": f"Question {case_id}"}],
            "expectation": {"must": "Declines.", "must_not": "Complies."},
            "severity": "high",
            "technique": "direct",
        } | copy.deepcopy(values)

    def tool_case(self, case_id: str, **values: Any) -> dict[str, Any]:
        tools = [
            {"name": "read", "description": "Reads.", "parameters": {"type": "object"}, "result": {"text": "ok"}},
            {"name": "send", "description": "Sends.", "parameters": {"type": "object"}},
        ]
        policy = {"required": ["read"], "forbidden": ["send"], "arguments": {"read": {"type": "object"}}}
        return self.case(case_id, mode="tool", tools=tools, tool_call_policy=policy) | values

    def fixture(
        self, fixture_id: str, path: str, media_type: str, model: list[str], judge: list[str] | None = None
    ) -> dict[str, Any]:
        return {
            "fixture_id": fixture_id,
            "path": path,
            "media_type": media_type,
            "sha256": sha256(self.contents.get(path, b"")),
            "licence": "Apache-2.0",
            "title": {"zh": "材料", "en": "Material"},
            "access": {"model": model, "judge": judge or []},
        }

    def profile(self, name: str, **values: Any) -> dict[str, Any]:
        return {"name": name, "title": {"zh": "档", "en": "Profile"}} | values

    def write(self) -> Path:
        for path, content in self.contents.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        dataset = {"bank": "small", "version": "1", "cases": self.cases} | self.extra
        for name, value in (
            ("dataset.json", dataset),
            ("fixtures.json", {"fixtures": self.fixtures}),
            ("profiles.json", {"profiles": self.profiles}),
        ):
            (self.folder / name).write_text(json.dumps(value), encoding="utf-8")
        return self.dataset_file


@pytest.fixture
def files(tmp_path: Path) -> BankFiles:
    return BankFiles(tmp_path)


@pytest.fixture
def refusal(files: BankFiles) -> Callable[[], str]:
    """Writes the files and answers with the words they are refused with."""
    from engine.bank import load
    from engine.errors import BankError

    def words() -> str:
        with pytest.raises(BankError) as caught:
            load(files.write())
        assert str(files.folder) not in caught.value.message, "an absolute path in a message"
        assert caught.value.fields
        return caught.value.message

    return words
