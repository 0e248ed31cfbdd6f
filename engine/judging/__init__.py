"""The judges, and the arbitration between them. Rules conclude; the language model comments."""

from __future__ import annotations

from engine.domain.cases import Instance
from engine.domain.runs import Attempt
from engine.domain.verdicts import Judgement
from engine.judging import choice, hard_rules, refusal, tool_policy
from engine.judging.arbitration import conclude, needs_llm
from engine.judging.llm import LlmJudge
from engine.judging.prompts import PROMPT_VERSION

__all__ = ["PROMPT_VERSION", "LlmJudge", "conclude", "deterministic", "needs_llm"]


def deterministic(instance: Instance, attempt: Attempt) -> tuple[Judgement, ...]:
    """What can be said without a language model: hard checks, tool policy, refusal, choice. CPU only.

    Empty for an attempt without an answer. A judge that the instance gives nothing to do is absent.
    """
    if attempt.output is None:
        return ()
    judgements: list[Judgement] = []
    if instance.checks:
        judgements.append(hard_rules.judge(instance, attempt))
    if instance.tool_call_policy is not None:
        judgements.append(tool_policy.judge(instance, attempt))
    refused = refusal.judge(instance, attempt.output)
    if refused is not None:
        judgements.append(refused)
    chosen = choice.judge(instance, attempt.output)
    if chosen is not None:
        judgements.append(chosen)
    return tuple(judgements)
