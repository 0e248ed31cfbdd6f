"""Agreement between a judge and people, and what a judge's errors do to a rate."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

from engine.domain.calibration import Agreement, Confusion, Corrected

RESAMPLES = 2000
"""Draws of the bootstrap; the ends of a 95 % interval rest on 50 draws each."""

_SEED = 20_250_425
"""Fixed, so that the same labels give the same interval."""

LEAST_JUDGED = 2
"""Fewer answers have no spread to resample."""


def agreement(pairs: Iterable[tuple[bool, bool | None]], *, empty: int = 0) -> Agreement:
    """Figures of a judge against labels.

    Args:
        pairs: One an answer: whether people call it positive, and whether the judge does; None where the judge gave
            nothing that can be read.
        empty: Answers that had no text to judge.
    """
    cells = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    unreadable = 0
    for label, said in pairs:
        if said is None:
            unreadable += 1
        else:
            cells[label, said] += 1
    confusion = Confusion(
        true_positive=cells[True, True],
        false_positive=cells[False, True],
        false_negative=cells[True, False],
        true_negative=cells[False, False],
    )
    return of_confusion(confusion, unreadable=unreadable, empty=empty)


def of_confusion(confusion: Confusion, *, unreadable: int = 0, empty: int = 0) -> Agreement:
    """The same from counts."""
    low, high = _kappa_interval(confusion)
    positives = confusion.true_positive + confusion.false_negative
    negatives = confusion.true_negative + confusion.false_positive
    return Agreement(
        n=confusion.n,
        kappa=kappa(confusion),
        kappa_low=low,
        kappa_high=high,
        accuracy=_share(confusion.true_positive + confusion.true_negative, confusion.n),
        false_positive_rate=_share(confusion.false_positive, negatives),
        false_negative_rate=_share(confusion.false_negative, positives),
        unreadable=unreadable,
        empty=empty,
        confusion=confusion,
    )


def kappa(confusion: Confusion) -> float | None:
    """Cohen's kappa: agreement beyond what the two margins alone would give. None where chance alone agrees wholly.

    Source: J. Cohen, Educational and Psychological Measurement 20 (1960), 37-46.
    """
    n = confusion.n
    if n == 0:
        return None
    said = confusion.true_positive + confusion.false_positive
    meant = confusion.true_positive + confusion.false_negative
    by_chance = (said * meant + (n - said) * (n - meant)) / (n * n)
    if by_chance == 1:
        return None
    observed = (confusion.true_positive + confusion.true_negative) / n
    return (observed - by_chance) / (1 - by_chance)


def _kappa_interval(confusion: Confusion) -> tuple[float | None, float | None]:
    """Percentile bootstrap over answers; drawing the four counts at once is the same as drawing answers."""
    if confusion.n < LEAST_JUDGED:
        return None, None
    import numpy

    cells = (
        confusion.true_positive,
        confusion.false_positive,
        confusion.false_negative,
        confusion.true_negative,
    )
    n = confusion.n
    drawn = numpy.random.default_rng(_SEED).multinomial(n, [cell / n for cell in cells], size=RESAMPLES)
    said, meant = drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2]
    by_chance = (said * meant + (n - said) * (n - meant)) / (n * n)
    observed = (drawn[:, 0] + drawn[:, 3]) / n
    defined = by_chance < 1
    if not defined.any():
        return None, None
    values = (observed[defined] - by_chance[defined]) / (1 - by_chance[defined])
    low, high = numpy.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def corrected_rate(passed: int, judged: int, judge: Confusion) -> Corrected | None:
    """The pass rate that answers would have had under the people's eyes (Rogan-Gladen), with a bootstrap interval.

    Args:
        passed: Passes of the judge.
        judged: Its passes and fails.
        judge: The judge against people on the same kind of answers; positive is pass.

    Returns:
        None when the judge was measured on no pass or no fail of people's, or when it tells nothing apart
        (sensitivity + specificity <= 1): then no rate can be recovered.

    Source: W. J. Rogan and B. Gladen, American Journal of Epidemiology 107 (1978), 71-76.
    """
    positives = judge.true_positive + judge.false_negative
    negatives = judge.true_negative + judge.false_positive
    if judged == 0 or positives == 0 or negatives == 0:
        return None
    sensitivity, specificity = judge.true_positive / positives, judge.true_negative / negatives
    if sensitivity + specificity <= 1:
        return None
    import numpy

    # Beta draws with half a count added (Jeffreys), so that a judge without a seen error is not taken for perfect.
    chance = numpy.random.default_rng(_SEED)
    raw = chance.beta(passed + 0.5, judged - passed + 0.5, RESAMPLES)
    sens = chance.beta(judge.true_positive + 0.5, judge.false_negative + 0.5, RESAMPLES)
    spec = chance.beta(judge.true_negative + 0.5, judge.false_positive + 0.5, RESAMPLES)
    useful = sens + spec > 1
    drawn = numpy.clip((raw[useful] + spec[useful] - 1) / (sens[useful] + spec[useful] - 1), 0, 1)
    low, high = numpy.percentile(drawn, [2.5, 97.5])
    share = min(1.0, max(0.0, (passed / judged + specificity - 1) / (sensitivity + specificity - 1)))
    return Corrected(share=share, ci_low=min(float(low), share), ci_high=max(float(high), share))


def is_certainly_below(agreed: int, judged: int, floor: float) -> bool:
    """Whether so few agreements would be a chance of less than 5 % for a judge that is as good as the floor."""
    chance = sum(comb(judged, k) * floor**k * (1 - floor) ** (judged - k) for k in range(agreed + 1))
    return chance < _UNLIKELY


_UNLIKELY = 0.05


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
