"""Opinions and conclusions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from engine.domain.base import Model, Timestamp


class Verdict(StrEnum):
    """What the arbitration concluded about one answer. No conclusion at all is None (`none` in filters)."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    NEEDS_HUMAN_REVIEW = "needs_human_review"
    JUDGE_FORMAT_ERROR = "judge_format_error"
    """The judge could not be read. Counted on its own, never as pass or fail."""


class JudgeKind(StrEnum):
    """Who gave a judgement."""

    RULE = "rule"
    TOOL_POLICY = "tool_policy"
    REFUSAL = "refusal"
    CHOICE = "choice"
    LLM = "llm"
    HUMAN = "human"


class Judgement(Model):
    """One judge's opinion. `verdict` None: it looked and did not conclude, or could not be reached.

    `reason` is English; where the judge is deterministic, `detail["reason_zh"]` holds the Chinese twin.
    `detail["code"] == "judge_unavailable"` marks a judge that could not be reached.
    """

    judge: JudgeKind
    verdict: Verdict | None
    reason: str
    confidence: float | None = Field(default=None, ge=0, le=1)
    detail: dict[str, Any] | None = None


class ReviewVerdict(StrEnum):
    """What a person may decide. `clear` returns to the automatic verdict."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    CLEAR = "clear"


class Review(Model):
    """A person's decision on one attempt; appended, never changed. Versions count from 1 within a result."""

    verdict: ReviewVerdict
    reason: str
    reviewer: str
    created_at: Timestamp
    version: int
    attempt: int


class QueueReason(StrEnum):
    """Why a result waits for a person."""

    NEEDS_HUMAN_REVIEW = "needs_human_review"
    JUDGE_FORMAT_ERROR = "judge_format_error"
    AUDIT = "audit"
    SECOND_REVIEW = "second_review"
    ADJUDICATION = "adjudication"
