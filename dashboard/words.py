"""How the dashboard says things: words for states, numbers with their counts, times where the reader is."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from dashboard.i18n import _, language
from engine.domain.accounts import Role
from engine.domain.base import utc_now
from engine.domain.cases import Mode, Severity
from engine.domain.chat import FinishReason, RefusalType
from engine.domain.clauses import BY_ID
from engine.domain.runs import ExecutionStatus, RunStatus, Waiting, WaitingReason
from engine.domain.verdicts import JudgeKind, QueueReason, ReviewVerdict

CAPABILITIES = ("chat", "system_message", "multi_turn", "tools", "vision", "json", "streaming")


def run_status(status: RunStatus) -> str:
    return {
        RunStatus.PENDING: _("waiting to start"),
        RunStatus.PROBING: _("trying what the model can do"),
        RunStatus.RUNNING: _("running"),
        RunStatus.COMPLETED: _("completed"),
        RunStatus.FAILED: _("failed"),
        RunStatus.CANCELLED: _("cancelled"),
        RunStatus.INTERRUPTED: _("interrupted"),
    }[status]


def execution_status(status: ExecutionStatus) -> str:
    return {ExecutionStatus.COMPLETED: _("answered"), ExecutionStatus.ERROR: _("error")}[status]


def mode(value: Mode) -> str:
    return {
        Mode.SINGLE: _("single turn"),
        Mode.MULTI_TURN: _("multi-turn"),
        Mode.TOOL: _("tools"),
        Mode.MULTIMODAL: _("images"),
        Mode.RF: _("should refuse"),
        Mode.OC: _("should not refuse"),
    }[value]


def capability(name: str) -> str:
    """Something a model can do, such as `tools`; a name we have no word for stays as it is."""
    return {
        "chat": _("chat"),
        "system_message": _("system message"),
        "multi_turn": _("several turns"),
        "tools": _("tools"),
        "vision": _("images"),
        "json": _("JSON"),
        "streaming": _("streaming"),
    }.get(name, name)


def skipped(reason: str) -> str:
    """Why instances were left out; the engine stores it as `no vision, system_message`."""
    names = reason.removeprefix("no ").split(", ")
    if not all(name in CAPABILITIES for name in names):
        return reason
    return _("the model lacks: {names}").format(names=", ".join(capability(name) for name in names))


def finish_reason(value: FinishReason) -> str:
    return {
        FinishReason.STOP: _("complete"),
        FinishReason.LENGTH: _("length limit"),
        FinishReason.CONTENT_FILTER: _("content filter"),
        FinishReason.TOOL_CALLS: _("tool calls"),
        FinishReason.UNKNOWN: _("unknown"),
    }[value]


def refusal_type(value: RefusalType) -> str:
    """Who refused."""
    return {
        RefusalType.MODEL: _("the model"),
        RefusalType.PROVIDER_FILTER: _("the provider's filter"),
        RefusalType.GUARDRAIL: _("a guardrail"),
    }[value]


def severity(value: Severity) -> str:
    return {
        Severity.LOW: _("low"),
        Severity.MEDIUM: _("medium"),
        Severity.HIGH: _("high"),
        Severity.CRITICAL: _("critical"),
    }[value]


def judge(value: JudgeKind) -> str:
    return {
        JudgeKind.RULE: _("hard check"),
        JudgeKind.TOOL_POLICY: _("tool policy"),
        JudgeKind.REFUSAL: _("refusal detection"),
        JudgeKind.CHOICE: _("choice"),
        JudgeKind.LLM: _("judge model"),
        JudgeKind.HUMAN: _("person"),
    }[value]


def queue_reason(value: QueueReason) -> str:
    return {
        QueueReason.NEEDS_HUMAN_REVIEW: _("The judges could not settle it."),
        QueueReason.JUDGE_FORMAT_ERROR: _("The judge's reply could not be read."),
        QueueReason.AUDIT: _("Drawn for audit: the judges were sure."),
        QueueReason.SECOND_REVIEW: _("A second, independent review is asked for."),
        QueueReason.ADJUDICATION: _("Two reviewers disagree."),
    }[value]


def waiting(state: Waiting) -> str:
    """Why nothing moves."""
    return {
        WaitingReason.RATE_LIMITED: _("The provider limits the rate. Requests wait; nothing is lost."),
        WaitingReason.PROVIDER_DOWN: _("The provider does not answer. Requests wait; nothing is lost."),
        WaitingReason.KEY_REFUSED: _("The provider refuses the key."),
    }[state.reason]


def review_verdict(value: ReviewVerdict) -> str:
    return {
        ReviewVerdict.PASS: _("decided: pass"),
        ReviewVerdict.FAIL: _("decided: fail"),
        ReviewVerdict.CLEAR: _("returned to the automatic verdict"),
    }[value]


def role(value: Role) -> str:
    return {
        Role.VIEWER: _("viewer"),
        Role.REVIEWER: _("reviewer"),
        Role.LEAD: _("lead"),
        Role.ADMIN: _("administrator"),
    }[value]


def clause(clause_id: str) -> str:
    """Code and short title, such as `A.1.a Subversion`."""
    return f"{clause_id} {BY_ID[clause_id].short.in_language(language())}"


def clause_title(clause_id: str) -> str:
    """The full title."""
    return BY_ID[clause_id].title.in_language(language())


def count(n: int) -> str:
    """Thousands separated."""
    return f"{n:,}"


def share(part: int, whole: int) -> str:
    """A percentage with its counts, such as `90.9 % (389 of 428)`; nothing of nothing is `n/a (0 of 0)`."""
    return f"{rate(part, whole)} ({of(part, whole)})"


def rate(part: int, whole: int) -> str:
    """The percentage alone; the caller draws the counts beside it."""
    return f"{100 * part / whole:.1f} %" if whole else _("n/a")


def of(part: int, whole: int) -> str:
    return _("{part} of {whole}").format(part=count(part), whole=count(whole))


def interval(low: float | None, high: float | None) -> str:
    """The bounds of a 95 % interval, or nothing where there is none."""
    return "" if low is None or high is None else f"{100 * low:.1f} – {100 * high:.1f} %"


def duration(seconds: float | None) -> str:
    """Such as `0.4 s`, `38 s`, `2 min 05 s`, `1 h 03 min`; unknown is a dash."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return _("{n} s").format(n=f"{max(seconds, 0):.1f}")
    whole = round(seconds)
    if whole < 60:
        return _("{n} s").format(n=whole)
    if whole < 3600:
        return _("{m} min {s} s").format(m=whole // 60, s=f"{whole % 60:02d}")
    return _("{h} h {m} min").format(h=whole // 3600, m=f"{whole % 3600 // 60:02d}")


def zone() -> tzinfo:
    """The reader's time zone; UTC where the browser does not say or says something unknown."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def offset() -> str:
    """How far the reader's clock is from UTC now, such as `+08:00`."""
    return utc_now().astimezone(zone()).isoformat()[-6:]


def moment(when: datetime | None) -> str:
    """`14:02` today, `30 Nov 14:02` this year, `2025-11-30` before; local to the reader."""
    if when is None:
        return "–"
    here = when.astimezone(zone())
    today = utc_now().astimezone(zone())
    if here.date() == today.date():
        return f"{here:%H:%M}"
    if here.year != today.year:
        return f"{here:%Y-%m-%d}"
    return f"{here.month}月{here.day}日 {here:%H:%M}" if language() == "zh" else f"{here.day} {here:%b %H:%M}"


def clock(when: datetime) -> str:
    """`14:02:11` where the reader is, for what is only seconds or minutes away."""
    return f"{when.astimezone(zone()):%H:%M:%S}"


def utc(when: datetime | None) -> str:
    """The same instant in UTC, for the hover."""
    return "" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
