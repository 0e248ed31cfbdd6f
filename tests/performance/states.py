"""B15 whole: sequences of events in the life of a run, drawn by hypothesis, against the real store.

python -m tests.performance.states [--sequences 2000] [--steps 50]
"""

from __future__ import annotations

import argparse
import time

from tests.store.test_run_states import live


def main() -> None:
    parser = argparse.ArgumentParser(description="Lives of runs.")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=50)
    asked = parser.parse_args()
    began = time.monotonic()
    live(sequences=asked.sequences, steps=asked.steps)
    took_s = time.monotonic() - began
    print(f"states: {asked.sequences} sequences of up to {asked.steps} events held ({took_s:.0f} s)")


if __name__ == "__main__":
    main()
