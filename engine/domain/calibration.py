"""How well a judge agrees with people."""

from __future__ import annotations

from pydantic import Field

from engine.domain.base import Model


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
