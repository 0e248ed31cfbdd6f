"""Which instances of a run the model is able to meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.domain.cases import Fixture, Instance, Mode
from engine.domain.runs import Execution, skipped_reason

CHAT = "chat"
SYSTEM_MESSAGE = "system_message"
MULTI_TURN = "multi_turn"
TOOLS = "tools"
VISION = "vision"

_BASE: dict[Mode, str | None] = {
    Mode.SINGLE: None,
    Mode.RF: None,
    Mode.OC: None,
    Mode.MULTI_TURN: MULTI_TURN,
    Mode.TOOL: TOOLS,
    Mode.MULTIMODAL: None,  # what a multimodal case needs follows from its fixtures
}


def needs(instance: Instance, fixtures: Mapping[str, Fixture]) -> list[str]:
    """The capabilities without which this instance would test nothing.

    A picture needs vision; system text and structured attachments, which travel as system text, need
    `system_message`.
    """
    wanted: list[str] = []
    base = _BASE[instance.mode]
    if base is not None:
        wanted.append(base)
    used = [fixtures[fixture_id] for fixture_id in instance.fixture_ids]
    if any(fixture.is_image for fixture in used):
        wanted.append(VISION)
    if instance.system is not None or any(not fixture.is_image for fixture in used):
        wanted.append(SYSTEM_MESSAGE)
    return wanted


def to_skip(
    executions: Iterable[Execution],
    *,
    fixtures: Mapping[str, Fixture],
    capabilities: Mapping[str, bool | None],
) -> dict[int, str]:
    """Executions the model cannot meet, with the reason that totals show.

    Only a capability that is known to be absent skips: when a probe could not tell (None), the instance is asked.
    """
    skipped: dict[int, str] = {}
    for execution in executions:
        missing = [name for name in needs(execution.instance, fixtures) if capabilities.get(name) is False]
        if missing:
            skipped[execution.execution_id] = skipped_reason(missing)
    return skipped
