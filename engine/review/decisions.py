"""What makes a decision valid."""

from __future__ import annotations

from engine.domain.runs import ExecutionStatus, ResultDetail
from engine.errors import InputError

LONGEST_REASON = 4000


def reason(words: str) -> str:
    """The reason without surrounding blanks. Raises InputError when there is none or it is too long."""
    stripped = words.strip()
    if not stripped:
        raise InputError("say why: a decision needs a reason", code="reason_required", fields=(("reason", "is empty"),))
    if len(stripped) > LONGEST_REASON:
        raise InputError(
            f"the reason has {len(stripped)} characters; at most {LONGEST_REASON} are kept",
            code="reason_too_long",
            fields=(("reason", f"at most {LONGEST_REASON} characters"),),
        )
    return stripped


def shown_attempt(result: ResultDetail) -> int:
    """The attempt a decision is about: the newest that answered, else the newest."""
    answered = [a.number for a in result.attempts_history if a.execution_status is ExecutionStatus.COMPLETED]
    return max(answered or [attempt.number for attempt in result.attempts_history])
