"""`make bench`: every figure that was asked for, one table a section with the limit beside it.

    python -m tests.performance.bench [SECTION ...]

Each section is a module beside this one with a main() and runs as a process of its own. Exit code 1: a limit was missed
or a section failed; the others are run all the same. docs/benchmarks.md says what each measures.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time

from engine.settings import ROOT

SECTIONS = {
    "loads": "loads",
    "judging": "judging",
    "judging-cpu": "judging_cpu",
    "command-line": "command_line",
    "server": "server",
    "faults": "faults",
    "bank": "bank",
    "store": "store",
    "group-commit": "group_commit",
    "refusal": "refusal",
    "start": "start",
    "kills": "kill_runs",
    "durability": "durability",
    "waits": "waits",
    "import-kills": "kill_imports",
    "states": "states",
}
"""By name, in the order they run. A section whose module is not there is left out."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what was asked for.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; default: all")
    wanted = parser.parse_args().sections or list(SECTIONS)
    if unknown := [name for name in wanted if name not in SECTIONS]:
        parser.error(f"no section {unknown[0]!r}; known: {', '.join(SECTIONS)}")
    missed = []
    for name in wanted:
        module = f"tests.performance.{SECTIONS[name]}"
        if importlib.util.find_spec(module) is None:
            print(f"\n{name}: not part of this release, skipped", flush=True)
            continue
        began = time.monotonic()
        if subprocess.run([sys.executable, "-m", module], cwd=ROOT, check=False).returncode:
            missed.append(name)
        print(f"  ({name} took {time.monotonic() - began:.0f} s)", flush=True)
    if missed:
        print(f"\nmissed or failed: {', '.join(missed)} (load average {os.getloadavg()[0]:.1f})")
        sys.exit(1)
    print("\nevery limit holds")


if __name__ == "__main__":
    main()
