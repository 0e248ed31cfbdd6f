"""How large this process is at its largest."""

from __future__ import annotations

import contextlib
import re
import resource
from collections.abc import Callable
from pathlib import Path


def growth_mb() -> Callable[[], float]:
    """Answers by how many MB the process has been larger, at its largest since this call, than it was then."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of what went before
    before = _peak_mb()
    return lambda: _peak_mb() - before


def _peak_mb() -> float:
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
