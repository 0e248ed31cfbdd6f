"""How far a judge model is trusted, clause by clause, from what people decided about its opinions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from engine.assembly import Engine
from engine.bank import control_cases
from engine.domain.calibration import Confusion
from engine.domain.cases import Instance
from engine.domain.controls import ControlCase
from engine.domain.runs import AuditPlan, EndpointSettings
from engine.judging import PROMPT_VERSION
from engine.review.audit import drawn

MARK = "the judge has no vote on clause "
"""How the warnings of `distrust` begin, so that judging again can put new ones in their place."""

Distrust = tuple[tuple[str, ...], tuple[str, ...]]


def distrust(engine: Engine, judge: EndpointSettings | None) -> Distrust:
    """Clauses on which the judge's measured agreement with people is below the floor, and a warning for each.

    Measured over every run that this model judged with this version of the prompts. A clause with too few decisions
    of people about the model's opinions is trusted: nothing speaks against it.
    """
    floor = engine.settings.judge_agreement_floor
    if judge is None or floor == 0:
        return (), ()
    measured = engine.stores.agreement.of_model(judge.model, PROMPT_VERSION)
    low = {
        clause: cells
        for clause, cells in measured.items()
        if cells.n >= engine.settings.judge_agreement_reviews and _accuracy(cells) < floor
    }
    return tuple(low), tuple(
        f"{MARK}{clause}: it agreed with people on {cells.true_positive + cells.true_negative} of {cells.n} answers, "
        f"less than the floor of {floor:.0%}; its results there go to review"
        for clause, cells in low.items()
    )


def control_set(engine: Engine, judge: EndpointSettings | None) -> tuple[ControlCase, ...]:
    """The control cases of a run with this judge. Raises BankError when their file is broken."""
    file = engine.settings.control_cases_file
    return control_cases.load(file) if judge is not None and file is not None else ()


def audit_plan(engine: Engine, seed: int | None, instances: Sequence[Instance]) -> tuple[AuditPlan, frozenset[str]]:
    """The share and seed of a run's audit, and the instances they draw. Without a seed of the run's, one is made."""
    share = engine.settings.audit_share
    plan = AuditPlan(share=share, seed=str(seed) if seed is not None else secrets.token_hex(8))
    return plan, drawn((each.instance_id for each in instances), share=share, seed=plan.seed)


def _accuracy(cells: Confusion) -> float:
    return (cells.true_positive + cells.true_negative) / cells.n
