"""The tables. Rows never leave this package.

Narrow rows hold what is counted and filtered (`executions`, `attempts`); wide ones, written once and never changed,
hold the texts (`instances`, `transcripts`). An update rewrites its whole row in SQLite, so a verdict must not sit
beside a transcript. JSON columns are text: pydantic writes and reads them faster than a JSON column type would.

Execution ids grow with the run and with the position in its plan, so the order of ids is "oldest run first, plan
order".
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import ConfigDict
from sqlalchemy import (
    DateTime,
    Dialect,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored as naive UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

NEVER_REUSE_IDS = {"sqlite_autoincrement": True}
"""A deleted run's id must not come back as another run's."""


class Row(SQLModel):
    """Base of all rows; keeps our metadata apart from that of other SQLModel users."""

    # Rows are written and read through Core, so pydantic's validators for them are built only if one is ever used.
    model_config = ConfigDict(defer_build=True)  # type: ignore[assignment]  # SQLModel types it narrower than it takes
    metadata: ClassVar[MetaData] = MetaData(naming_convention=NAMES)


def table_of(row: type[Row]) -> Table:
    """The Core table behind a row class."""
    return Row.metadata.tables[str(row.__tablename__)]


def _text(**more: Any) -> Any:
    return Field(sa_type=Text, **more)


def _moment(**more: Any) -> Any:
    return Field(sa_type=UtcDateTime, **more)


class UserRow(Row, table=True):
    __tablename__ = "users"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: int | None = Field(default=None, primary_key=True)
    username: str = Field(unique=True)
    display_name: str
    role: str
    is_active: bool
    must_change_password: bool
    password_hash: str
    created_at: datetime = _moment()
    password_changed_at: datetime = _moment()


class SessionRow(Row, table=True):
    __tablename__ = "sessions"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: int | None = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="users.id", ondelete="CASCADE", index=True)
    refresh_hash: str = Field(unique=True)
    previous_refresh_hash: str | None
    generation: int
    cookie_hash: str | None = Field(unique=True)
    access_expires: datetime = _moment()
    refresh_expires: datetime = _moment()
    replay_key: str | None
    replay_ciphertext: bytes | None = Field(sa_type=LargeBinary)
    replay_until: datetime | None = _moment()
    created_at: datetime = _moment()
    revoked_at: datetime | None = _moment()
    revoke_reason: str | None


class RefreshTokenRow(Row, table=True):
    """Every refresh token a session ever had, so that an old one is recognised and not merely unknown."""

    __tablename__ = "refresh_tokens"

    hash: str = Field(primary_key=True)
    session_id: int = Field(foreign_key="sessions.id", ondelete="CASCADE", index=True)
    generation: int


class OneTimeCodeRow(Row, table=True):
    __tablename__ = "one_time_codes"

    hash: str = Field(primary_key=True)
    session_id: int = Field(foreign_key="sessions.id", ondelete="CASCADE", index=True)
    expires: datetime = _moment()


class LoginFailureRow(Row, table=True):
    """Consecutive failed sign-ins of one account name, known or not."""

    __tablename__ = "login_failures"

    account: str = Field(primary_key=True)
    count: int
    last_at: datetime = _moment()


class IdempotencyRow(Row, table=True):
    __tablename__ = "idempotency_keys"
    __table_args__ = (PrimaryKeyConstraint("user_id", "route", "key"),)

    user_id: int
    route: str
    key: str
    body_hash: str
    status: str
    response: str | None = _text()
    run_id: int | None = Field(foreign_key="runs.id", ondelete="CASCADE", index=True)
    created_at: datetime = _moment(index=True)


class ProviderRow(Row, table=True):
    __tablename__ = "providers"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    kind: str
    base_url: str
    default_model: str
    is_default: bool
    is_default_judge: bool
    max_concurrency: int
    requests_per_minute: int | None
    timeout_seconds: float | None
    connect_timeout_seconds: float | None
    stream: bool
    use_proxy: bool
    ca_file: str | None
    verify_tls: bool
    extra_headers: str = _text()
    extra_body: str = _text()
    key_ciphertext: bytes | None = Field(sa_type=LargeBinary)
    key_hint: str
    created_at: datetime = _moment()


class RunRow(Row, table=True):
    """`provider_id` and `judge_provider_id` are no foreign keys: a run outlives the providers it used."""

    __tablename__ = "runs"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: int | None = Field(default=None, primary_key=True)
    status: str = Field(index=True)
    profile: str = Field(index=True)
    bank: str
    auto_judge: bool
    provider_id: int | None = Field(index=True)
    provider_name: str
    judge_provider_id: int | None = Field(index=True)
    simulated: bool
    model: str
    judge_model: str | None
    total_count: int
    dataset_sha256: str
    seed: int | None
    note: str | None = _text()
    created_by: str
    created_at: datetime = _moment()
    started_at: datetime | None = _moment()
    finished_at: datetime | None = _moment()
    cancel_requested_at: datetime | None = _moment()
    capabilities: str = _text()
    dialect: str = _text()
    waiting: str | None = _text()
    error: str | None = _text()
    warnings: str = _text()
    config: str = _text()
    fixtures: str = _text()


IS_AUDITED = "audit = 1"


class ExecutionRow(Row, table=True):
    """`attempts` counts them; `shown_attempt` is the newest that answered, else the newest."""

    __tablename__ = "executions"
    __table_args__ = (
        UniqueConstraint("run_id", "position"),
        # What counts, facets and filters read of an execution, so that they never touch the table itself.
        Index("ix_executions_facts", "run_id", "position", "clause", "mode", "shown_attempt", "skip_reason"),
        Index("ix_executions_audit", "run_id", "id", sqlite_where=text(IS_AUDITED)),
        NEVER_REUSE_IDS,
    )

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="runs.id", ondelete="CASCADE")
    position: int
    instance_id: str
    case_id: str
    clause: str
    mode: str
    language: str
    severity: str
    skip_reason: str | None
    audit: bool
    """Drawn before the run: a confident verdict on it is put before a person too."""
    attempts: int
    shown_attempt: int | None


class InstanceRow(Row, table=True):
    """The frozen instance. `question` repeats its words for searching."""

    __tablename__ = "instances"

    execution_id: int | None = Field(default=None, primary_key=True, foreign_key="executions.id", ondelete="CASCADE")
    question: str = _text()
    body: str = _text()


WAITS_FOR_A_PERSON = "automatic_verdict IN ('needs_human_review', 'judge_format_error')"
"""Only these can be in the queue: a review concludes pass or fail, or gives way to the automatic verdict.

The text is the same in the partial index and in the query, or SQLite would not use the index."""


class AttemptRow(Row, table=True):
    """`rounds` counts how often it was judged; `latest_review_id` is no foreign key, because reviews refer to it."""

    __tablename__ = "attempts"
    __table_args__ = (
        PrimaryKeyConstraint("execution_id", "number"),
        Index(
            "ix_attempts_queue",
            "execution_id",
            "number",
            "automatic_verdict",
            "latest_review_id",
            sqlite_where=text(WAITS_FOR_A_PERSON),
        ),
        {"sqlite_with_rowid": False},
    )

    execution_id: int = Field(foreign_key="executions.id", ondelete="CASCADE")
    number: int
    execution_status: str
    automatic_verdict: str | None
    latest_review_id: int | None
    rounds: int
    latency_ms: int
    tries: int
    served_model: str | None
    error_code: str | None
    error_message: str | None = _text()
    created_at: datetime = _moment()


def _of_an_attempt() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["execution_id", "number"], ["attempts.execution_id", "attempts.number"], ondelete="CASCADE"
    )


class TranscriptRow(Row, table=True):
    """The texts of an attempt. `output` holds all of the output but its text, which is `answer`."""

    __tablename__ = "transcripts"
    __table_args__ = (PrimaryKeyConstraint("execution_id", "number"), _of_an_attempt())

    execution_id: int
    number: int
    answer: str | None = _text()
    output: str | None = _text()
    usage: str | None
    messages: str = _text()
    reasoning: str = _text()


class JudgementRow(Row, table=True):
    """Judgements of one `round` stand together; a later round replaces an earlier one in what is shown."""

    __tablename__ = "judgements"
    __table_args__ = (PrimaryKeyConstraint("execution_id", "number", "round", "position"), _of_an_attempt())

    execution_id: int
    number: int
    round: int
    position: int
    judge: str
    verdict: str | None
    confidence: float | None
    reason: str = _text()
    detail: str | None = _text()


class ReviewRow(Row, table=True):
    """`reviewer_id` is no foreign key: a decision outlives the account of the one who took it."""

    __tablename__ = "reviews"
    __table_args__ = (
        UniqueConstraint("execution_id", "version"),
        ForeignKeyConstraint(
            ["execution_id", "attempt"], ["attempts.execution_id", "attempts.number"], ondelete="CASCADE"
        ),
        Index("ix_reviews_attempt", "execution_id", "attempt"),
        NEVER_REUSE_IDS,
    )

    id: int | None = Field(default=None, primary_key=True)
    execution_id: int
    attempt: int
    version: int
    verdict: str
    reason: str = _text()
    reviewer_id: int | None
    reviewer: str
    created_at: datetime = _moment()


class ControlRow(Row, table=True):
    """What the run's judge made of one answer whose verdict is known."""

    __tablename__ = "controls"
    __table_args__ = (PrimaryKeyConstraint("run_id", "control_id"),)

    run_id: int = Field(foreign_key="runs.id", ondelete="CASCADE")
    control_id: str
    expected: str
    verdict: str | None
    reason: str = _text()
    created_at: datetime = _moment()


class AuditRow(Row, table=True):
    __tablename__ = "audit"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = _moment()
    actor: str
    action: str
    object: str
    outcome: str
    request_id: str | None
    detail: str = _text()
    prev_hash: str
    hash: str


class BlobRow(Row, table=True):
    """Bytes of fixtures, once per content."""

    __tablename__ = "blobs"

    sha256: str = Field(primary_key=True)
    content: bytes = Field(sa_type=LargeBinary)


class RunBlobRow(Row, table=True):
    __tablename__ = "run_blobs"
    __table_args__ = (PrimaryKeyConstraint("run_id", "sha256"),)

    run_id: int = Field(foreign_key="runs.id", ondelete="CASCADE")
    sha256: str = Field(foreign_key="blobs.sha256", index=True)


class BankRow(Row, table=True):
    """One version of a bank, never changed. `fixtures` are those its cases use, as pinned when it was stored."""

    __tablename__ = "banks"
    __table_args__ = (UniqueConstraint("name", "sha256"), NEVER_REUSE_IDS)

    id: int | None = Field(default=None, primary_key=True)
    name: str
    version: str
    sha256: str
    cases: int
    instances: int
    created_at: datetime = _moment()
    created_by: str
    source: str
    licence: str | None
    fixtures: str = _text()


class BankCaseRow(Row, table=True):
    """What lists show and filters ask of a case. Ids grow with `position`, which counts from 0 without gaps."""

    __tablename__ = "bank_cases"
    __table_args__ = (
        UniqueConstraint("bank_id", "case_id"),
        # What counts, facets and filters read of a case, in list order, so that they never touch the table itself.
        Index("ix_bank_cases_facts", "bank_id", "position", "clause", "mode", "language", "severity", "instances"),
    )

    id: int | None = Field(default=None, primary_key=True)
    bank_id: int = Field(foreign_key="banks.id", ondelete="CASCADE")
    position: int
    case_id: str
    clause: str
    mode: str
    language: str
    severity: str
    technique: str
    title: str = _text()
    instances: int


class BankCaseTextRow(Row, table=True):
    """The case as written. `question` repeats its words, all variants included, for searching."""

    __tablename__ = "bank_case_texts"

    case_row_id: int | None = Field(default=None, primary_key=True, foreign_key="bank_cases.id", ondelete="CASCADE")
    question: str = _text()
    body: str = _text()


users = table_of(UserRow)
sessions = table_of(SessionRow)
refresh_tokens = table_of(RefreshTokenRow)
one_time_codes = table_of(OneTimeCodeRow)
login_failures = table_of(LoginFailureRow)
idempotency_keys = table_of(IdempotencyRow)
providers = table_of(ProviderRow)
runs = table_of(RunRow)
executions = table_of(ExecutionRow)
instances = table_of(InstanceRow)
attempts = table_of(AttemptRow)
transcripts = table_of(TranscriptRow)
judgements = table_of(JudgementRow)
reviews = table_of(ReviewRow)
controls = table_of(ControlRow)
audit = table_of(AuditRow)
blobs = table_of(BlobRow)
run_blobs = table_of(RunBlobRow)
banks = table_of(BankRow)
bank_cases = table_of(BankCaseRow)
bank_case_texts = table_of(BankCaseTextRow)
