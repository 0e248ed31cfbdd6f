"""One table a section: what was measured, what it may be at most, and how busy the machine was meanwhile."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn, TypeVar

Measured = TypeVar("Measured")


class Figure(NamedTuple):
    """One line. Without a limit it is there to compare with."""

    what: str
    value: float
    unit: str = ""
    limit: float | None = None
    at_least: bool = False
    """Whether the limit is the least that is asked for; otherwise the most."""

    @property
    def held(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def finish(title: str, figures: Sequence[Figure]) -> NoReturn:
    """Print the table and end the program: 0 when every limit holds, else 1."""
    print(f"\n{title}")
    print(f"  (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end)")
    width = max(len(figure.what) for figure in figures)
    for figure in figures:
        told = f"  {figure.what:{width}}  {_number(figure.value):>9} {figure.unit:7}"
        if figure.limit is not None:
            told += f"  {'at least' if figure.at_least else 'at most'} {_number(figure.limit):>7}"
            told += "" if figure.held else "   MISSED"
        print(told.rstrip())
    sys.stdout.flush()
    sys.exit(0 if all(figure.held for figure in figures) else 1)


def median_of(times: int, measure: Callable[[], Measured], *, key: Callable[[Measured], float]) -> Measured:
    """The measurement in the middle of an odd number of them, by `key`."""
    taken = sorted((measure() for _ in range(times)), key=key)
    return taken[len(taken) // 2]


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else max(values)


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
