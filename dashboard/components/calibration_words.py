"""Figures of agreement as people read them: each with its counts or its interval, none of nothing."""

from __future__ import annotations

from dashboard import words
from dashboard.i18n import _
from engine.domain.calibration import Agreement, Basis, Confusion, Corrected, JudgeFigures, Proportion, Uncorrected


def nothing() -> str:
    return f"{_('n/a')} ({words.of(0, 0)})"


def kappa(found: Agreement) -> str:
    """Such as `0.83`."""
    return _("n/a") if found.kappa is None else f"{found.kappa:.2f}"


def kappa_bounds(found: Agreement) -> str:
    """Such as `0.71 – 0.92`, or nothing where there is no interval."""
    if found.kappa is None or found.kappa_low is None or found.kappa_high is None:
        return ""
    return f"{found.kappa_low:.2f} – {found.kappa_high:.2f}"


def kappa_line(found: Agreement) -> str:
    """Such as `0.83 (0.71 – 0.92)`."""
    bounds = kappa_bounds(found)
    return f"{kappa(found)} ({bounds})" if bounds else kappa(found)


def agreed(cells: Confusion) -> str:
    """Such as `95.0 % (38 of 40)`."""
    return words.share(cells.true_positive + cells.true_negative, cells.n)


def false_positives(cells: Confusion) -> str:
    """Of what people call negative, what the judge calls positive."""
    return words.share(cells.false_positive, cells.false_positive + cells.true_negative)


def false_negatives(cells: Confusion) -> str:
    """Of what people call positive, what the judge calls negative."""
    return words.share(cells.false_negative, cells.false_negative + cells.true_positive)


def proportion(found: Proportion) -> str:
    return words.share(found.count, found.judged)


def corrected(found: Corrected | None) -> str:
    """Such as `62.1 % (50.3 – 71.0 %)`, or that there is none."""
    if found is None:
        return _("n/a")
    return f"{100 * found.share:.1f} % ({words.interval(found.ci_low, found.ci_high)})"


def rests_on(figures: JudgeFigures) -> str:
    """Which decisions a corrected rate rests on, or why there is none."""
    if figures.basis is Basis.AUDITED:
        return _("audited: {n}").format(n=words.count(figures.audited))
    if figures.basis is Basis.EVERY:
        return _("decisions: {n}, not random").format(n=words.count(figures.agreement.n))
    return why_not(figures.uncorrected)


def why_not(reason: Uncorrected | None) -> str:
    return {
        None: "",
        Uncorrected.NO_VERDICTS: _("no automatic pass or fail"),
        Uncorrected.NO_DECISIONS: _("no decision yet"),
        Uncorrected.ONE_CLASS: _("people saw one kind only"),
        Uncorrected.NO_BETTER_THAN_CHANCE: _("no better than chance"),
    }[reason]
