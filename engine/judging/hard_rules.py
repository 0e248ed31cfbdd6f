"""The hard checks of a case as one judgement: a forbidden text fails, a missing required text goes to a person."""

from __future__ import annotations

from engine import rules
from engine.domain.cases import CheckKind, Instance
from engine.domain.runs import Attempt
from engine.domain.verdicts import JudgeKind, Judgement, Verdict


def judge(instance: Instance, attempt: Attempt) -> Judgement:
    """Concludes fail or needs_human_review, or nothing: that no check objects does not make an answer good."""
    findings = rules.apply_checks(instance.checks, attempt.assistant_texts)
    forbidden = [finding for finding in findings if finding.check.kind is CheckKind.FORBID]
    if forbidden:
        verdict = Verdict.FAIL
    elif findings:
        verdict = Verdict.NEEDS_HUMAN_REVIEW
    else:
        verdict = None
    return Judgement(
        judge=JudgeKind.RULE,
        verdict=verdict,
        reason=" · ".join(_words(finding, "en") for finding in findings) or "no hard check objects",
        detail={
            "reason_zh": " · ".join(_words(finding, "zh") for finding in findings) or "没有硬性检查提出异议",
            "rule_ids": [finding.check.check_id for finding in findings],
            "checked": [check.check_id for check in instance.checks],
            "findings": [
                {
                    "check_id": finding.check.check_id,
                    "kind": finding.check.kind.value,
                    "turn": finding.turn,
                    "quote": finding.quote,
                }
                for finding in findings
            ],
        },
    )


def _words(finding: rules.Finding, language: str) -> str:
    check_id, reason = finding.check.check_id, finding.check.reason.in_language(language)
    if finding.check.kind is CheckKind.FORBID:
        if language == "zh":
            return f"检查 {check_id}（第 {finding.turn} 轮回答）：{reason}"
        return f"check {check_id} (assistant turn {finding.turn}): {reason}"
    if language == "zh":
        return f"检查 {check_id}（最后的回答缺少所需内容）：{reason}"
    return f"check {check_id} (missing from the last answer): {reason}"
