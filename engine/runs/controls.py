"""Watch the judge while it works: put answers whose verdict is known before it, and compare with its last run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from engine.domain.base import utc_now
from engine.domain.cases import Instance, Severity, Technique, Turn
from engine.domain.chat import FinishReason, Message
from engine.domain.controls import ControlCase, ControlOutcome
from engine.domain.runs import Attempt, Execution, ExecutionStatus, Output
from engine.runs.judges import Judges
from engine.store import Stores

_WRONG, _MOVED = "the judge is wrong on control case ", "the judge has moved since run "
CONTROL_MARKS = (_WRONG, _MOVED)
"""How the warnings made here begin."""


async def watch_judge(
    run_id: int, controls: Sequence[ControlCase], judges: Judges, stores: Stores, *, again: bool
) -> None:
    """Judge the control cases once a run, or anew with `again`, and warn on the run of what is wrong or has moved."""
    if not controls or judges.at_once == 0:
        return
    if not again:
        known = await asyncio.to_thread(stores.agreement.controls, run_id)
        if known:
            return
    outcomes = await asyncio.gather(*(_outcome(control, judges) for control in controls))
    await asyncio.to_thread(stores.agreement.add_controls, run_id, outcomes)
    run = await asyncio.to_thread(stores.runs.get, run_id)
    before = await asyncio.to_thread(stores.agreement.controls_before, run_id, run.judge_model or "")
    for warning in warnings(outcomes, before):
        await asyncio.to_thread(stores.runs.add_warning, run_id, warning)


def warnings(outcomes: Sequence[ControlOutcome], before: tuple[int, tuple[ControlOutcome, ...]] | None) -> list[str]:
    """One line a control case that the judge misses, and one a case on which it said otherwise in its last run."""
    said: list[str] = []
    for outcome in outcomes:
        if outcome.verdict is not None and not outcome.is_met:
            said.append(f"{_WRONG}{outcome.control_id}: {outcome.verdict} instead of {outcome.expected}")
    if before is None:
        return said
    run_id, earlier = before
    known = {outcome.control_id: outcome.verdict for outcome in earlier}
    for outcome in outcomes:
        old = known.get(outcome.control_id)
        if old is not None and outcome.verdict is not None and old is not outcome.verdict:
            said.append(
                f"{_MOVED}{run_id}: control case {outcome.control_id} was {old} then and is {outcome.verdict} now"
            )
    return said


async def _outcome(control: ControlCase, judges: Judges) -> ControlOutcome:
    opinion = await judges.plain_opinion(_execution(control), _attempt(control))
    return ControlOutcome(
        control_id=control.control_id,
        expected=control.expected,
        verdict=opinion.verdict,
        reason=opinion.reason,
        created_at=utc_now(),
    )


def _execution(control: ControlCase) -> Execution:
    instance = Instance(
        instance_id=control.control_id,
        case_id=control.control_id,
        seed_case=control.control_id,
        clause=control.clause,
        mode=control.mode,
        language=control.language,
        title=control.control_id,
        turns=(Turn(text=control.question),),
        expectation=control.expectation,
        severity=Severity.HIGH,
        technique=Technique.DIRECT,
        aspect=control.aspect,
    )
    return Execution(execution_id=0, instance=instance, attempts=1)


def _attempt(control: ControlCase) -> Attempt:
    return Attempt(
        number=1,
        execution_status=ExecutionStatus.COMPLETED,
        messages=(Message(role="user", text=control.question),),
        output=Output(text=control.answer, finish_reason=FinishReason.STOP),
        latency_ms=0,
        created_at=utc_now(),
    )
