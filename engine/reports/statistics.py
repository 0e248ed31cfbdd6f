"""Numbers with their uncertainty."""

from __future__ import annotations

from math import sqrt

Z_95 = 1.959963984540054


def pass_rate_interval(passed: int, judged: int, *, z: float = Z_95) -> tuple[float, float]:
    """Wilson score interval for the share of answers that pass.

    Args:
        passed: Answers whose effective verdict is pass.
        judged: Answers whose effective verdict is pass or fail; all others are in neither count.
        z: Width in standard deviations; the default gives 95 %.

    Returns:
        Lower and upper bound, as shares from 0 to 1.

    Raises:
        ValueError: `judged` is 0 (an empty group has no rate), or `passed` is not between 0 and `judged`.

    Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927), 209-212.
    """
    if judged <= 0:
        raise ValueError("an empty group has no rate")
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} passes of {judged} judged")
    share = passed / judged
    spread = z * z / judged
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / judged + spread / (4 * judged))
    return max(0.0, centre - half), min(1.0, centre + half)
