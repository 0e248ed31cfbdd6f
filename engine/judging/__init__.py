"""The judges, and the arbitration between them. Rules conclude; the language model comments."""

from __future__ import annotations

from engine.domain.cases import Instance
from engine.domain.runs import Attempt
from engine.domain.verdicts import Judgement
from engine.judging import choice, hard_rules, refusal, tool_policy
from engine.judging.arbitration import conclude, needs_llm
from engine.judging.llm import LlmJudge, without_vote
from engine.judging.prompts import PROMPT_VERSION
from engine.rules.rubric import Rubric, RuleSet

__all__ = [
    "PROMPT_VERSION",
    "LlmJudge",
    "Rubric",
    "RuleSet",
    "conclude",
    "deterministic",
    "needs_llm",
    "without_vote",
]


def deterministic(instance: Instance, attempt: Attempt, rubric: Rubric | None = None) -> tuple[Judgement, ...]:
    """What can be said without a language model: checks and rules, tool policy, refusal, choice. CPU only.

    Empty for an attempt without an answer. A judge that the instance gives nothing to do is absent. `rubric`: the rules
    the run was frozen with, made ready once a run.
    """
    if attempt.output is None:
        return ()
    policy = tool_policy.judge(instance, attempt) if instance.tool_call_policy is not None else None
    breaches = [breach["part"] for breach in policy.detail["breaches"]] if policy is not None and policy.detail else ()
    found = (
        hard_rules.judge(instance, attempt, rubric, breaches=breaches),
        policy,
        refusal.judge(instance, attempt.output),
        choice.judge(instance, attempt.output),
    )
    return tuple(judgement for judgement in found if judgement is not None)
