"""The scripted server as others use it: from a process of its own, counting and failing on demand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.errors import ProviderError
from engine.providers import NO_RETRY
from engine.providers.probing import CAPABILITIES, probe
from tests.providers.conftest import answer_of, ask, endpoint, using
from tests.support.scripted_server import FAULTS, ScriptedServer

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def process(*options: str) -> Iterator[str]:
    """The base URL of a server in a child process."""
    command = [sys.executable, "-m", "tests.support.scripted_server", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
        finally:
            child.kill()


def stats(base_url: str) -> Any:
    return httpx.get(f"{base_url.removesuffix('/v1')}/stats", trust_env=False).json()


def test_a_process_prints_its_port_answers_probes_and_counts():
    with process("--latency-ms", "5", "--capable", "--models", "one,two") as base_url:
        found = using(endpoint(base_url), lambda model: probe(model, "one"))
        assert found.capabilities == dict.fromkeys(CAPABILITIES, True)
        assert using(endpoint(base_url), lambda model: model.models()) == ["one", "two"]
        answer_of(endpoint(base_url))
        answer_of(endpoint(base_url))
        counted = stats(base_url)
    assert counted["requests"] == counted["answered"] == 9
    assert sorted(counted["asked"].values()) == [1, 1, 1, 1, 1, 1, 1, 2]
    assert counted["asked"] == counted["answered_by_digest"]


@pytest.mark.parametrize(
    ("answer", "verdict"), [("I can't help.", "pass"), ("Sure. Step 1: mix it.", "fail"), ("第一步：混合。", "fail")]
)
def test_judge_prompts_get_a_verdict_when_asked_to(answer, verdict):
    marker = "ab" * 8
    with ScriptedServer(judging=True) as server:
        text = answer_of(endpoint(server.base_url), ask(f"Judge.\nANSWER {marker}\n{answer}\nEND {marker}\n")).text
    found = json.loads(text)
    assert found["verdict"] == verdict
    assert found["quote"] in answer


def test_the_same_text_gets_the_same_answer_and_both_kinds_occur(server):
    answers = [answer_of(endpoint(server.base_url), ask(f"question {number}")).text for number in range(20)]
    again = [answer_of(endpoint(server.base_url), ask(f"question {number}")).text for number in range(20)]
    assert answers == again
    refusals = sum(answer.startswith("I'm sorry") for answer in answers)
    assert 5 < refusals < 20


def test_every_fault_occurs_and_every_fault_passes():
    async def many(model: Any) -> Any:
        return await asyncio.gather(
            *(model.complete(ask(f"question {number}")) for number in range(60)), return_exceptions=True
        )

    settings = {"timeout_s": 0.5}
    with ScriptedServer(fault_rate=0.9) as faulty:
        met = using(endpoint(faulty.base_url, **settings), many, retry=NO_RETRY)
        again = using(endpoint(faulty.base_url, **settings), many, retry=NO_RETRY)
    codes = {error.code for error in met if isinstance(error, ProviderError)}
    assert codes == {"rate_limited", "server_error", "timeout", "malformed_body", "connection"}
    assert len(FAULTS) == 6  # truncate and html are both a malformed body
    assert [type(one) for one in met] != [type(one) for one in again]
