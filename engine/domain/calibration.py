"""How well a judge agrees with people."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from engine.domain.base import Localized, Model
from engine.domain.controls import ControlOutcome
from engine.domain.verdicts import Verdict


class Confusion(Model):
    """What the judge said against what people said; positive is what the labels call positive."""

    true_positive: int = 0
    false_positive: int = 0
    false_negative: int = 0
    true_negative: int = 0

    @property
    def n(self) -> int:
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative


class Agreement(Model):
    """Figures over `n` answers that the judge concluded on. None where there is nothing to divide by.

    `kappa_low` and `kappa_high` bound the middle 95 % of a bootstrap. `unreadable` counts answers the judge gave no
    readable conclusion on, `empty` those without a text to judge; neither is in `n`.
    """

    n: int
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    accuracy: float | None
    false_positive_rate: float | None
    false_negative_rate: float | None
    unreadable: int = 0
    empty: int = 0
    confusion: Confusion


class Calibration(Agreement):
    """A judge measured on a labelled file, pooled and by group."""

    judge: str
    positive: tuple[str, ...] = Field(min_length=1)
    files: tuple[str, ...]
    groups: dict[str, Agreement] = {}


class Corrected(Model):
    """A pass rate put right for the judge's measured errors, with an interval that holds both uncertainties."""

    share: float
    ci_low: float
    ci_high: float


class Proportion(Model):
    """`count` of `judged`, with its 95 % interval; share and bounds are None for 0 of 0."""

    count: int
    judged: int
    share: float | None
    ci_low: float | None
    ci_high: float | None


class Basis(StrEnum):
    """Which decisions of people a corrected rate rests on."""

    AUDITED = "audited"
    """Those on answers drawn for audit: a random sample of the automatic verdicts."""
    EVERY = "every"
    """All there are. Somebody chose which answers to look at, so they may err more or less often than the rest."""


class Uncorrected(StrEnum):
    """Why there is no corrected rate."""

    NO_VERDICTS = "no_verdicts"
    NO_DECISIONS = "no_decisions"
    ONE_CLASS = "one_class"
    """People found only passes or only fails, so one of the two error rates is unknown."""
    NO_BETTER_THAN_CHANCE = "no_better_than_chance"


class JudgeFigures(Model):
    """A run's automatic verdicts beside people's.

    `passed` is the pass rate of the report: people's decisions count in it. `automatic` is the pass rate of the
    automatic verdicts alone, which `corrected` puts right. `agreement` compares them with people's newest decisions
    in this run, `judge` the judge model's own votes with people's over every run of the same model and version of
    the prompts (None: the run has no judge model, or nobody has decided about it). Positive is pass in both.
    """

    passed: Proportion
    automatic: Proportion
    agreement: Agreement
    audited: int
    """Decisions in `agreement` on answers that were drawn for audit."""
    judge: Agreement | None
    corrected: Corrected | None
    basis: Basis | None
    """None where there is no corrected rate."""
    uncorrected: Uncorrected | None
    """None where there is one."""


class ClauseCalibration(JudgeFigures):
    """The same for one clause. `distrusted`: the judge model has no vote there."""

    clause: str
    title: Localized
    distrusted: bool


class AuditStanding(Model):
    """What became of the random audit of a run.

    `drawn` instances were chosen before anything was asked; of these, `confident` came to an automatic pass or fail
    and stand in the queue until they are reviewed. `errors` counts people's contradictions among the `reviewed`.
    """

    share: float
    drawn: int
    confident: int
    reviewed: int
    errors: Proportion


class ControlStanding(ControlOutcome):
    """A control case in this run, and what the same judge model made of it in its last run before."""

    before: Verdict | None

    @property
    def has_moved(self) -> bool:
        return None not in (self.before, self.verdict) and self.before is not self.verdict


class RunCalibration(Model):
    """How far the verdicts of a run can be trusted.

    Only the decisions on audited answers are a random sample. Others were chosen by somebody, and doubtful answers,
    which have no automatic pass or fail, are in no figure of agreement.
    """

    run_id: int
    judge_model: str | None
    prompt_version: str | None
    clauses: tuple[ClauseCalibration, ...]
    """Those with anything to show, in the standard's order."""
    pooled: JudgeFigures
    controls: tuple[ControlStanding, ...]
    earlier_run: int | None
    """The run that `before` of the controls is of."""
    audit: AuditStanding | None
    """None for a run from before there were audits."""
