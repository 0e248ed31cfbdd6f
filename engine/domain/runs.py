"""Runs and their results, in the shapes the REST contract shows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from engine.domain.base import Model, Timestamp
from engine.domain.cases import Fixture, Instance, Mode
from engine.domain.chat import FinishReason, Message, RefusalType, ToolCall, Usage
from engine.domain.controls import ControlCase
from engine.domain.verdicts import Judgement, QueueReason, Review, Verdict


class RunStatus(StrEnum):
    """Where a run is in its life."""

    PENDING = "pending"
    PROBING = "probing"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        return self not in (RunStatus.PENDING, RunStatus.PROBING, RunStatus.RUNNING)

    @property
    def is_resumable(self) -> bool:
        return self in (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.INTERRUPTED)


class VerdictCounts(Model):
    """Effective verdicts of the completed results; the five add up to `completed_count`."""

    passed: int = Field(default=0, alias="pass", serialization_alias="pass")
    fail: int = 0
    needs_human_review: int = 0
    judge_format_error: int = 0
    none: int = 0

    model_config = {**Model.model_config, "populate_by_name": True, "serialize_by_alias": True}


class WaitingReason(StrEnum):
    RATE_LIMITED = "rate_limited"
    PROVIDER_DOWN = "provider_down"
    KEY_REFUSED = "key_refused"


class Waiting(Model):
    """Why nothing moves."""

    reason: WaitingReason
    since: Timestamp
    until: Timestamp | None
    message: str


class RunSpec(Model):
    """What a person asks for; the body of POST /runs."""

    profile: str
    auto_judge: bool
    bank: str | None = None
    provider_id: int | None = None
    model: str | None = None
    judge_provider_id: int | None = None
    judge_model: str | None = None
    seed: int | None = None
    note: str | None = Field(default=None, max_length=2000)


class EndpointSettings(Model):
    """A provider's settings as frozen into a run: everything but the key."""

    provider_id: int | None
    name: str
    kind: str
    base_url: str
    model: str
    max_concurrency: int
    requests_per_minute: int | None = None
    timeout_s: float
    connect_timeout_s: float | None = None
    stream: bool = False
    use_proxy: bool = False
    ca_file: str | None = None
    verify_tls: bool = True
    extra_headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    api_key_env: str | None = None
    """Name of the environment variable that holds the key, for endpoints given on the command line."""


class JobKind(StrEnum):
    """What the engine is to do with a run."""

    EXECUTE = "execute"
    """Start or resume: every instance without a stored answer is asked, what lacks a verdict is judged."""
    RETRY = "retry"
    """Ask `execution_ids` anew; earlier attempts are kept."""
    JUDGE = "judge"
    """Judge stored answers with the run's judge; the model under test is not called."""


class Job(Model):
    """One piece of work on one run."""

    kind: JobKind = JobKind.EXECUTE
    execution_ids: tuple[int, ...] = ()
    only_missing: bool = False
    """JUDGE: leave what has a verdict as it is."""
    before: RunStatus = RunStatus.PENDING
    """What the run was: a retry that leaves instances unexecuted returns it there."""
    before_error: str | None = None
    """Why it was so."""


class AuditPlan(Model):
    """Which share of the confident verdicts a person looks at too, and the seed they were drawn with."""

    share: float
    seed: str


class RunConfig(Model):
    """What a run was frozen with."""

    subject: EndpointSettings
    judge: EndpointSettings | None
    judge_prompt_version: str | None
    bank_version: str
    self_judged: bool = False
    rules: dict[str, JsonValue] | None = None
    """The rule set that answers are judged by, as JSON; None for runs from before there were rules."""
    judge_prompts: dict[str, JsonValue] | None = None
    """The words the judge is asked with; None: those of the product's version."""
    audit: AuditPlan | None = None
    controls: tuple[ControlCase, ...] = ()
    """Answers whose verdict is known, put before the run's judge too; empty without a judge model."""
    distrusted_clauses: tuple[str, ...] = ()
    """Clauses on which the judge's measured agreement is below the floor: it has no vote there."""


class RunDraft(Model):
    """All that a run is frozen with, before it has an id."""

    profile: str
    bank: str
    auto_judge: bool
    provider_id: int | None
    provider_name: str
    simulated: bool
    model: str
    judge_model: str | None
    dataset_sha256: str
    seed: int | None = None
    note: str | None = None
    created_by: str
    config: RunConfig
    fixtures: tuple[Fixture, ...] = ()
    warnings: tuple[str, ...] = ()


class Run(Model):
    """One model over one profile, frozen at creation."""

    id: int
    status: RunStatus
    profile: str
    bank: str
    auto_judge: bool
    provider_id: int | None
    provider_name: str
    simulated: bool
    """Whether the built-in demo provider answered: such a run says nothing about a real model."""
    model: str
    judge_model: str | None
    total_count: int
    completed_count: int
    error_count: int
    skipped_count: int
    verdict_counts: VerdictCounts
    capabilities: dict[str, bool | None]
    waiting: Waiting | None
    dataset_sha256: str
    seed: int | None
    note: str | None = None
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    created_by: str
    error: str | None = None
    warnings: tuple[str, ...] = ()


class ExecutionStatus(StrEnum):
    COMPLETED = "completed"
    ERROR = "error"


class Output(Model):
    """What the model answered last, and every tool call it made on the way."""

    text: str
    refusal_type: RefusalType | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason


class ExecutionError(Model):
    code: str
    message: str


class Attempt(Model):
    """One try at one instance."""

    number: int
    execution_status: ExecutionStatus
    automatic_verdict: Verdict | None = None
    judgements: tuple[Judgement, ...] = ()
    messages: tuple[Message, ...] = ()
    """What was sent, and between turns what came back; the last answer is in `output`."""
    output: Output | None = None
    error: ExecutionError | None = None
    latency_ms: int
    """Of the calls that were answered, one a turn: no earlier tries, no pauses an endpoint asked for, no queues."""
    tries: int = 1
    usage: Usage | None = None
    served_model: str | None = None
    reasoning: str = ""
    """Kept apart from the answer; judges never see it."""
    created_at: Timestamp

    @property
    def assistant_texts(self) -> tuple[str, ...]:
        """What the model wrote, turn by turn, the last answer at the end."""
        earlier = tuple(message.text for message in self.messages if message.role == "assistant")
        return (*earlier, self.output.text) if self.output is not None else earlier


class Result(Model):
    """What came of one instance."""

    execution_id: int
    run_id: int
    instance_id: str
    case_id: str
    clause: str
    mode: Mode
    execution_status: ExecutionStatus
    verdict: Verdict | None
    """The effective one: the newest review of the shown attempt if there is one, else the automatic one."""
    automatic_verdict: Verdict | None
    review: Review | None = None
    judgements: tuple[Judgement, ...] = ()
    messages: tuple[Message, ...] = ()
    output: Output | None = None
    error: ExecutionError | None = None
    latency_ms: int
    attempts: int
    usage: Usage | None = None
    created_at: Timestamp


class ResultDetail(Result):
    """A result with its whole history and the frozen instance it answers."""

    attempts_history: tuple[Attempt, ...]
    reviews: tuple[Review, ...]
    instance: Instance
    audited: bool = False
    """Whether it was drawn, before anything was asked, to be looked at by a person even if the judges are sure."""


class QueueItem(Result):
    """A result that waits for a person."""

    why: QueueReason


class ClauseRow(Model):
    """One clause of a report. `executed` = results with an answer; `pending` = answered without pass or fail.

    `pending` is the sum of `needs_human_review`, `judge_format_error` and `undecided`: not judged yet, or not to be.
    """

    clause: str
    title: str
    planned: int
    executed: int
    passed: int = Field(alias="pass", serialization_alias="pass")
    fail: int
    pending: int
    needs_human_review: int = 0
    judge_format_error: int = 0
    undecided: int = 0
    errors: int
    skipped: int
    pass_rate: float | None
    ci_low: float | None
    ci_high: float | None

    model_config = {**Model.model_config, "populate_by_name": True, "serialize_by_alias": True}


class ClauseCounts(Model):
    """What came of the instances that share a clause or a mode (`key`). Words as in ClauseRow."""

    key: str
    planned: int
    executed: int
    passed: int
    fail: int
    pending: int
    needs_human_review: int = 0
    judge_format_error: int = 0
    undecided: int = 0
    errors: int
    skipped: int

    @classmethod
    def nothing(cls, key: str) -> ClauseCounts:
        """A clause or mode without an instance."""
        return cls(key=key, planned=0, executed=0, passed=0, fail=0, pending=0, errors=0, skipped=0)


class Progress(Model):
    """A live view of a run: counts from the store, the rest from the engine's memory (None without an engine)."""

    run: Run
    done: int
    """Completed, failed to execute, or skipped."""
    in_flight: int | None
    rate_per_s: float | None
    elapsed_s: float | None
    eta_s: float | None

    @property
    def share_done(self) -> float:
        return self.done / self.run.total_count if self.run.total_count else 1.0


class ProgressEvent(Model):
    """A live view of a run in the few words that programs follow it by."""

    status: RunStatus
    done: int
    total: int
    errors: int
    in_flight: int | None
    rate: float | None
    """Instances a second."""
    eta_s: float | None
    waiting: Waiting | None
    verdict_counts: VerdictCounts

    @classmethod
    def of(cls, now: Progress) -> ProgressEvent:
        return cls(
            status=now.run.status,
            done=now.done,
            total=now.run.total_count,
            errors=now.run.error_count,
            in_flight=now.in_flight,
            rate=None if now.rate_per_s is None else round(now.rate_per_s, 3),
            eta_s=None if now.eta_s is None else round(now.eta_s, 1),
            waiting=now.run.waiting,
            verdict_counts=now.run.verdict_counts,
        )


class Execution(Model):
    """A planned instance with its place in the run."""

    execution_id: int
    instance: Instance
    attempts: int


class Answered(Model):
    """An attempt that answered and lacks a verdict."""

    execution: Execution
    attempt: Attempt


class ResultFilter(Model):
    """Conditions on the shown attempt; None asks nothing. `verdict` may be the word `none`."""

    execution_status: ExecutionStatus | None = None
    verdict: Verdict | str | None = None
    clause: str | None = None
    mode: Mode | None = None
    q: str | None = None


def skipped_reason(missing: Sequence[str]) -> str:
    """The stored reason of a skipped instance, such as `no vision, system_message`."""
    return "no " + ", ".join(missing)
