"""How far a judge model is trusted, clause by clause, from what people decided about its opinions."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from engine.assembly import Engine
from engine.bank import control_cases
from engine.domain.calibration import Confusion
from engine.domain.cases import Instance
from engine.domain.controls import ControlCase
from engine.domain.runs import AuditPlan, EndpointSettings
from engine.domain.verdicts import Verdict
from engine.judging import PROMPT_VERSION
from engine.reports.agreement import is_certainly_below
from engine.review.audit import drawn
from engine.runs.controls import CONTROL_MARKS

MARK = "the judge has no vote on clause "
"""How the warnings of `distrust` begin, so that judging again can put new ones in their place."""

Distrust = tuple[tuple[str, ...], tuple[str, ...]]


def distrust(engine: Engine, judge: EndpointSettings | None) -> Distrust:
    """Clauses on which the judge's measured agreement with people is below the floor, and a warning for each.

    Measured over every opinion of this model under this version of the prompts. A clause with too few decisions of
    people about them is trusted: nothing speaks against it.
    """
    floor = engine.settings.judge_agreement_floor
    if judge is None or floor == 0:
        return (), ()
    measured = engine.stores.agreement.of_model(judge.model, PROMPT_VERSION)
    low = {
        clause: found
        for clause, cells in measured.items()
        if cells.n >= engine.settings.judge_agreement_reviews and (found := _shortfall(clause, cells, floor))
    }
    return tuple(low), tuple(
        f"{MARK}{clause}: it agreed with people on {found.agreed} of {found.judged} answers{_of_side(found)}, "
        f"less than the floor of {floor:.0%}; its results there go to review"
        for clause, found in low.items()
    )


class Side(NamedTuple):
    """The answers that people pass, or that they fail, and on how many of them the judge agreed."""

    verdict: Verdict
    agreed: int
    judged: int


class NoVote(NamedTuple):
    """A clause on which the judge has no vote: it agreed with people on `agreed` of `judged` answers.

    `side`: that share is high enough, but not the one of these.
    """

    clause: str
    agreed: int
    judged: int
    side: Side | None = None


def _shortfall(clause: str, cells: Confusion, floor: float) -> NoVote | None:
    """Where the share of equal verdicts is below the floor: over all, or certainly over what people pass or fail.

    Kappa is not asked: where nearly all answers pass, one error makes it 0 for a judge that is right on all others.
    The sides are, because the share alone takes a judge that passes everything for a good one there.
    """
    agreed = cells.true_positive + cells.true_negative
    if agreed / cells.n < floor:
        return NoVote(clause, agreed, cells.n)
    sides = (
        Side(Verdict.FAIL, cells.true_negative, cells.true_negative + cells.false_positive),
        Side(Verdict.PASS, cells.true_positive, cells.true_positive + cells.false_negative),
    )
    low = next((side for side in sides if is_certainly_below(side.agreed, side.judged, floor)), None)
    return None if low is None else NoVote(clause, agreed, cells.n, low)


def _of_side(found: NoVote) -> str:
    return f" but on {found.side.agreed} of {found.side.judged} that they {found.side.verdict}" if found.side else ""


class Missed(NamedTuple):
    """A control case that the judge is wrong on."""

    control_id: str
    said: Verdict
    expected: Verdict


class Moved(NamedTuple):
    """A control case on which the judge says otherwise than in the run before."""

    control_id: str
    run_id: int
    was: Verdict
    now: Verdict


class Alarms(NamedTuple):
    """What the warnings of a run say about its judge, and the warnings about anything else."""

    no_vote: tuple[NoVote, ...]
    missed: tuple[Missed, ...]
    moved: tuple[Moved, ...]
    others: tuple[str, ...]


_WRONG, _MOVED = map(re.escape, CONTROL_MARKS)
_NO_VOTE_TEXT = re.compile(
    rf"{re.escape(MARK)}([\w.]+): it agreed with people on (\d+) of (\d+) answers"
    r"(?: but on (\d+) of (\d+) that they (pass|fail))?"
)
_MISSED_TEXT = re.compile(rf"{_WRONG}([a-z0-9-]+): (\w+) instead of (\w+)$")
_MOVED_TEXT = re.compile(rf"{_MOVED}(\d+): control case ([a-z0-9-]+) was (\w+) then and is (\w+) now$")


def alarms(warnings: Sequence[str]) -> Alarms:
    """Take the warnings of a run apart, for faces that show them together or in another language."""
    no_vote, missed, moved, others = list[NoVote](), list[Missed](), list[Moved](), list[str]()
    for text in warnings:
        if found := _NO_VOTE_TEXT.match(text):
            side = Side(Verdict(found[6]), int(found[4]), int(found[5])) if found[6] else None
            no_vote.append(NoVote(found[1], int(found[2]), int(found[3]), side))
        elif found := _MISSED_TEXT.match(text):
            missed.append(Missed(found[1], Verdict(found[2]), Verdict(found[3])))
        elif found := _MOVED_TEXT.match(text):
            moved.append(Moved(found[2], int(found[1]), Verdict(found[3]), Verdict(found[4])))
        else:
            others.append(text)
    return Alarms(tuple(no_vote), tuple(missed), tuple(moved), tuple(others))


def control_set(engine: Engine, judge: EndpointSettings | None) -> tuple[ControlCase, ...]:
    """The control cases of a run with this judge. Raises BankError when their file is broken."""
    file = engine.settings.control_cases_file
    return control_cases.load(file) if judge is not None and file is not None else ()


def audit_plan(engine: Engine, seed: int | None, instances: Sequence[Instance]) -> tuple[AuditPlan, frozenset[str]]:
    """The share and seed of a run's audit, and the instances they draw. Without a seed of the run's, one is made."""
    share = engine.settings.audit_share
    plan = AuditPlan(share=share, seed=str(seed) if seed is not None else secrets.token_hex(8))
    return plan, drawn((each.instance_id for each in instances), share=share, seed=plan.seed)
