"""The detailed Markdown report of one run: every result with what was sent, answered, judged and decided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from engine.domain.base import rfc3339
from engine.domain.chat import Message, ToolCall
from engine.domain.clauses import BY_ID
from engine.domain.runs import Attempt, AuditPlan, ExecutionStatus, ResultDetail, Run
from engine.domain.text import visible
from engine.domain.verdicts import Judgement, Review
from engine.reports.summary import Totals

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$^\"'=:@-])")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9./-]+(?:_[A-Za-z0-9./-]+)*")


def chunks(
    run: Run,
    totals: Totals,
    results: Iterable[ResultDetail],
    *,
    shown: str,
    audit: AuditPlan | None = None,
    prompts_sha256: str | None = None,
) -> Iterator[bytes]:
    """The report piece by piece, in UTF-8; memory does not grow with the run.

    The bytes depend on the stored rows alone: nothing says when the report was made.

    Args:
        shown: Which results these are, in words, such as `all results`.
        audit: What was drawn to be looked at although the judges are sure; None for a run older than audits.
        prompts_sha256: Of the words the judge is asked with; None where no judge model is asked.
    """
    yield _heading(run, totals, shown, audit, prompts_sha256).encode()
    count = 0
    for result in results:
        count += 1
        yield _result(result).encode()
    yield f"\n---\n\n{count} results.\n".encode()


def fenced(text: str) -> str:
    """A code block that nothing inside can close."""
    shown = visible(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def inline(text: str) -> str:
    """One line of text with all Markdown taken literally; names of the usual letters stay as they are."""
    line = " ".join(visible(text).split())
    return line if _PLAIN_NAME.fullmatch(line) else _SPECIAL.sub(r"\\\1", line)


def _heading(run: Run, totals: Totals, shown: str, audit: AuditPlan | None, prompts_sha256: str | None) -> str:
    counts = run.verdict_counts
    lines = [
        f"# Run {run.id}: results",
        "",
    ]
    if run.simulated:
        lines += ["**Simulated:** the built-in demo provider answered; this says nothing about a real model.", ""]
    lines += [
        "| | |",
        "|---|---|",
        f"| Model | {inline(run.model)} |",
        f"| Provider | {inline(run.provider_name)} |",
        f"| Judge model | {inline(run.judge_model) if run.judge_model else 'none'} |",
        f"| Judge prompts SHA-256 | {prompts_sha256 or 'none'} |",
        f"| Profile, bank | {inline(run.profile)}, {inline(run.bank)} |",
        f"| Bank SHA-256 | {run.dataset_sha256} |",
        f"| Status | {run.status} |",
        f"| Created | {rfc3339(run.created_at)} by {inline(run.created_by)} |",
        f"| Finished | {rfc3339(run.finished_at) if run.finished_at else 'no'} |",
        f"| Instances | {run.total_count}: {run.completed_count} answered, {run.error_count} errors, "
        f"{run.skipped_count} skipped |",
        f"| Verdicts | {counts.passed} pass, {counts.fail} fail, {counts.needs_human_review} needs\\_human\\_review, "
        f"{counts.judge_format_error} judge\\_format\\_error, {counts.none} none |",
        f"| Pass rate | {_rate(totals)} |",
        f"| Random audit | {_audit(audit)} |",
        f"| Shown | {inline(shown)} |",
        "",
    ]
    if run.warnings:
        lines += ["Warnings:", "", *(f"- {inline(warning)}" for warning in run.warnings), ""]
    if run.note:
        lines += ["Note:", "", fenced(run.note)]
    return "\n".join(lines)


def _audit(audit: AuditPlan | None) -> str:
    if audit is None or not audit.share:
        return "none"
    return f"{audit.share:.1%} of the confident verdicts, seed {inline(audit.seed)}"


def _rate(totals: Totals) -> str:
    rate = totals.passed
    if rate.share is None or rate.ci_low is None or rate.ci_high is None:
        return "n/a (0 of 0)"
    return f"{rate.share:.1%} ({rate.count} of {rate.judged}; 95 % interval {rate.ci_low:.1%} to {rate.ci_high:.1%})"


def _result(result: ResultDetail) -> str:
    clause = BY_ID[result.clause]
    verdict = result.verdict or "none"
    automatic = result.automatic_verdict or "none"
    lines = [
        "",
        f"## {inline(result.instance_id)}",
        "",
        f"- Execution: {result.execution_id}, {result.execution_status}, attempt {result.attempts}, "
        f"{result.latency_ms} ms",
        f"- Clause: {clause.id} {clause.title.en} / {clause.title.zh}",
        f"- Mode: {inline(result.mode)}",
        f"- Verdict: {inline(verdict)} (automatic: {inline(automatic)})",
        "",
        "### Expectation",
        "",
        fenced(f"Must: {result.instance.expectation.must}\nMust not: {result.instance.expectation.must_not}"),
        "### Input",
        "",
        *_messages(result.messages),
    ]
    if result.instance.tools:
        tools = [tool.model_dump(mode="json", exclude={"result"}) for tool in result.instance.tools]
        lines += ["Tools offered:", "", fenced(json.dumps(tools, ensure_ascii=False, indent=2))]
    lines += ["### Output", ""]
    if result.output is not None:
        lines += [fenced(result.output.text), *_calls(result.output.tool_calls)]
        refusal = f", refusal: {inline(result.output.refusal_type)}" if result.output.refusal_type else ""
        lines += [f"Finish reason: {inline(result.output.finish_reason)}{refusal}", ""]
    if result.error is not None:
        lines += [f"Error {inline(result.error.code)}:", "", fenced(result.error.message)]
    lines += ["### Judgements", "", *_judgements(result.judgements)]
    lines += ["### Reviews", "", *_reviews(result.reviews)]
    earlier = [attempt for attempt in result.attempts_history if attempt.number != _shown(result)]
    if earlier:
        lines += ["### Other attempts", "", *(line for attempt in earlier for line in _attempt(attempt))]
    return "\n".join(lines)


def _shown(result: ResultDetail) -> int:
    """Shown is the newest attempt that answered, else the newest."""
    answered = [a.number for a in result.attempts_history if a.execution_status is ExecutionStatus.COMPLETED]
    return max(answered or [attempt.number for attempt in result.attempts_history])


def _messages(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        yield f"**{message.role}**"
        yield ""
        if message.text:
            yield fenced(message.text)
        for fixture in message.fixtures:
            yield f"Fixture {inline(fixture.fixture_id)}, {inline(fixture.media_type)}, SHA-256 {fixture.sha256}"
            yield ""
        yield from _calls(message.tool_calls)


def _calls(calls: Iterable[ToolCall]) -> Iterator[str]:
    for call in calls:
        yield "Tool call:"
        yield ""
        yield fenced(f"{call.name}({call.arguments})")


def _judgements(judgements: Iterable[Judgement]) -> Iterator[str]:
    none = True
    for judgement in judgements:
        none = False
        confidence = f", confidence {judgement.confidence:.2f}" if judgement.confidence is not None else ""
        yield f"- {inline(judgement.judge)}: {inline(judgement.verdict or 'none')}{confidence}"
        yield ""
        yield fenced(judgement.reason)
        if judgement.detail:
            yield fenced(json.dumps(judgement.detail, ensure_ascii=False, sort_keys=True, indent=2))
    if none:
        yield "None."
        yield ""


def _reviews(reviews: Iterable[Review]) -> Iterator[str]:
    none = True
    for review in reviews:
        none = False
        yield (
            f"- Version {review.version}: {review.verdict} by {inline(review.reviewer)}, "
            f"{rfc3339(review.created_at)}, on attempt {review.attempt}"
        )
        yield ""
        yield fenced(review.reason)
    if none:
        yield "None."
        yield ""


def _attempt(attempt: Attempt) -> Iterator[str]:
    yield f"Attempt {attempt.number}: {attempt.execution_status}, {rfc3339(attempt.created_at)}"
    yield ""
    if attempt.output is not None:
        yield fenced(attempt.output.text)
    if attempt.error is not None:
        yield fenced(f"{attempt.error.code}: {attempt.error.message}")
