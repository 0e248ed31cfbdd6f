"""Which instances a run asks, given what the model can do."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.cases import Fixture, Instance
from engine.domain.runs import Execution
from engine.providers.probing import CAPABILITIES
from engine.runs.planning import to_skip
from tests.support import engines


def fixture(name: str, media_type: str) -> Fixture:
    title = {"zh": name, "en": name}
    values = {"fixture_id": name, "path": name, "media_type": media_type, "sha256": "0" * 64, "licence": "CC0-1.0"}
    return Fixture(**values, title=title, access={"model": ["content"]})


FIXTURES = {"sign": fixture("sign", "image/png"), "letter": fixture("letter", "text/plain")}


def execution(number: int, **changes: Any) -> Execution:
    values = engines.case(number, **changes)
    case_id = values.pop("case_id")
    instance = Instance(**values, instance_id=case_id, case_id=case_id, seed_case=case_id)
    return Execution(execution_id=number, instance=instance, attempts=0)


TOOLS = {
    "mode": "tool",
    "tools": [{"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}}],
    "tool_call_policy": {},
}
PLAN = (
    execution(1),
    execution(2, system="Be brief."),
    execution(3, mode="multi_turn", turns=[{"text": "One."}, {"text": "Two."}]),
    execution(4, **TOOLS),
    execution(5, mode="multimodal", turns=[{"text": "What is this?", "fixtures": ["sign"]}]),
    execution(6, mode="multimodal", turns=[{"text": "What is this?", "fixtures": ["letter"]}]),
    execution(7, mode="multimodal", turns=[{"text": "What is this?", "fixtures": ["sign", "letter"]}]),
    execution(8, mode="multi_turn", turns=[{"text": "One."}, {"text": "Two."}], system="Be brief."),
)
ABLE: dict[str, bool | None] = dict.fromkeys(CAPABILITIES, True)


def skipped(**changes: bool | None) -> dict[int, str]:
    return to_skip(PLAN, fixtures=FIXTURES, capabilities={**ABLE, **changes})


def test_a_model_that_can_do_everything_is_asked_everything():
    assert skipped() == {}


@pytest.mark.parametrize(
    ("capability", "without"),
    [("system_message", {2, 6, 7, 8}), ("multi_turn", {3, 8}), ("tools", {4}), ("vision", {5, 7})],
)
def test_what_the_model_cannot_do_is_skipped_with_the_reason(capability, without):
    assert skipped(**{capability: False}) == dict.fromkeys(without, f"no {capability}")


def test_everything_that_is_missing_is_named():
    assert skipped(system_message=False, multi_turn=False, vision=False) == {
        2: "no system_message",
        3: "no multi_turn",
        5: "no vision",
        6: "no system_message",
        7: "no vision, system_message",
        8: "no multi_turn, system_message",
    }


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_what_could_not_be_found_out_is_asked(capability):
    assert skipped(**{capability: None}) == {}


@pytest.mark.parametrize("capability", ["json", "streaming"])
def test_json_and_streaming_skip_nothing(capability):
    assert skipped(**{capability: False}) == {}
