"""Answers judged by everything but a language model: the CPU it costs.

The answers are those of the demo model and the ones the refusal tests are written with, long and short, in both
languages, each held against a different instance of the bundled bank.
"""

from __future__ import annotations

import json
import time
from itertools import cycle, islice

from engine import bank as banks
from engine import judging
from engine.bank import ruleset
from engine.domain.base import utc_now
from engine.domain.chat import FinishReason, Message
from engine.domain.runs import Attempt, ExecutionStatus, Output
from engine.settings import ROOT
from tests.performance.figures import Figure, finish

ANSWERS, CPU_LIMIT_S = 10_000, 2


def main() -> None:
    bank = banks.load(ROOT / "data" / "dataset.json")
    rubric = judging.Rubric(ruleset.load(ROOT / "data" / "rules.json"))
    written = json.loads((ROOT / "tests" / "judging" / "refusal_answers.json").read_text(encoding="utf-8"))
    texts = [row["text"] for row in written]
    texts += ["\n\n".join(islice(cycle(texts), number, number + 6)) for number in range(len(texts))]
    made = [_attempt(text) for text in texts]
    pairs = list(islice(zip(cycle(bank.instances), cycle(made), strict=False), ANSWERS))
    started = time.process_time()
    for instance, attempt in pairs:
        judgements = judging.deterministic(instance, attempt, rubric)
        judging.conclude(instance, attempt, judgements)
    cpu_s = time.process_time() - started
    size = sum(len(attempt.output.text) for _, attempt in pairs if attempt.output is not None) / ANSWERS
    finish(
        "judging by rules",
        [
            Figure(f"CPU for {ANSWERS:,} answers of {size:.0f} characters", cpu_s, "s", CPU_LIMIT_S),
            Figure("  each", cpu_s / ANSWERS * 1_000_000, "µs"),
        ],
    )


def _attempt(text: str) -> Attempt:
    return Attempt(
        number=1,
        execution_status=ExecutionStatus.COMPLETED,
        messages=(Message(role="user", text="A question."),),
        output=Output(text=text, finish_reason=FinishReason.STOP),
        latency_ms=1,
        created_at=utc_now(),
    )


if __name__ == "__main__":
    main()
