"""The first tables.

Revision ID: 0001
Revises: nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("prev_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "blobs",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blobs"),
    )
    op.create_table(
        "login_failures",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("account", name="pk_login_failures"),
    )
    op.create_table(
        "providers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("base_url", sa.String(), nullable=False),
        sa.Column("default_model", sa.String(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("is_default_judge", sa.Boolean(), nullable=False),
        sa.Column("max_concurrency", sa.Integer(), nullable=False),
        sa.Column("requests_per_minute", sa.Integer(), nullable=True),
        sa.Column("timeout_seconds", sa.Float(), nullable=True),
        sa.Column("extra_headers", sa.Text(), nullable=False),
        sa.Column("extra_body", sa.Text(), nullable=False),
        sa.Column("key_ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("key_hint", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_providers"),
        sa.UniqueConstraint("name", name="uq_providers_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("profile", sa.String(), nullable=False),
        sa.Column("bank", sa.String(), nullable=False),
        sa.Column("auto_judge", sa.Boolean(), nullable=False),
        sa.Column("provider_id", sa.Integer(), nullable=True),
        sa.Column("provider_name", sa.String(), nullable=False),
        sa.Column("judge_provider_id", sa.Integer(), nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("judge_model", sa.String(), nullable=True),
        sa.Column("total_count", sa.Integer(), nullable=False),
        sa.Column("dataset_sha256", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=True),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(), nullable=True),
        sa.Column("capabilities", sa.Text(), nullable=False),
        sa.Column("waiting", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("fixtures", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_judge_provider_id", ["judge_provider_id"], unique=False)
        batch_op.create_index("ix_runs_profile", ["profile"], unique=False)
        batch_op.create_index("ix_runs_provider_id", ["provider_id"], unique=False)
        batch_op.create_index("ix_runs_status", ["status"], unique=False)

    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("username", sa.String(), nullable=False),
        sa.Column("display_name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("must_change_password", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("password_changed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("username", name="uq_users_username"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "executions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("instance_id", sa.String(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("clause", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("skip_reason", sa.String(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("shown_attempt", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_executions_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_executions"),
        sa.UniqueConstraint("run_id", "position", name="uq_executions_run_id_position"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("executions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_executions_facts",
            ["run_id", "position", "clause", "mode", "shown_attempt", "skip_reason"],
            unique=False,
        )

    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("route", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("body_hash", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_idempotency_keys_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "route", "key", name="pk_idempotency_keys"),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index("ix_idempotency_keys_created_at", ["created_at"], unique=False)
        batch_op.create_index("ix_idempotency_keys_run_id", ["run_id"], unique=False)

    op.create_table(
        "run_blobs",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_blobs_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["sha256"], ["blobs.sha256"], name="fk_run_blobs_sha256"),
        sa.PrimaryKeyConstraint("run_id", "sha256", name="pk_run_blobs"),
    )
    with op.batch_alter_table("run_blobs", schema=None) as batch_op:
        batch_op.create_index("ix_run_blobs_sha256", ["sha256"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("refresh_hash", sa.String(), nullable=False),
        sa.Column("previous_refresh_hash", sa.String(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("cookie_hash", sa.String(), nullable=True),
        sa.Column("access_expires", sa.DateTime(), nullable=False),
        sa.Column("refresh_expires", sa.DateTime(), nullable=False),
        sa.Column("replay_key", sa.String(), nullable=True),
        sa.Column("replay_ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("replay_until", sa.DateTime(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.Column("revoke_reason", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.UniqueConstraint("cookie_hash", name="uq_sessions_cookie_hash"),
        sa.UniqueConstraint("refresh_hash", name="uq_sessions_refresh_hash"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index("ix_sessions_user_id", ["user_id"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("execution_status", sa.String(), nullable=False),
        sa.Column("automatic_verdict", sa.String(), nullable=True),
        sa.Column("latest_review_id", sa.Integer(), nullable=True),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("served_model", sa.String(), nullable=True),
        sa.Column("error_code", sa.String(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name="fk_attempts_execution_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", "number", name="pk_attempts"),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(
            "ix_attempts_queue",
            ["execution_id", "number", "automatic_verdict", "latest_review_id"],
            unique=False,
            sqlite_where=sa.text("automatic_verdict IN ('needs_human_review', 'judge_format_error')"),
        )

    op.create_table(
        "instances",
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"], ["executions.id"], name="fk_instances_execution_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("execution_id", name="pk_instances"),
    )
    op.create_table(
        "one_time_codes",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("expires", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_one_time_codes_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name="pk_one_time_codes"),
    )
    with op.batch_alter_table("one_time_codes", schema=None) as batch_op:
        batch_op.create_index("ix_one_time_codes_session_id", ["session_id"], unique=False)

    op.create_table(
        "refresh_tokens",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_refresh_tokens_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name="pk_refresh_tokens"),
    )
    with op.batch_alter_table("refresh_tokens", schema=None) as batch_op:
        batch_op.create_index("ix_refresh_tokens_session_id", ["session_id"], unique=False)

    op.create_table(
        "judgements",
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["execution_id", "number"],
            ["attempts.execution_id", "attempts.number"],
            name="fk_judgements_execution_id_number",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("execution_id", "number", "round", "position", name="pk_judgements"),
    )
    op.create_table(
        "reviews",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("reviewer_id", sa.Integer(), nullable=True),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id", "attempt"],
            ["attempts.execution_id", "attempts.number"],
            name="fk_reviews_execution_id_attempt",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_reviews"),
        sa.UniqueConstraint("execution_id", "version", name="uq_reviews_execution_id_version"),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("reviews", schema=None) as batch_op:
        batch_op.create_index("ix_reviews_attempt", ["execution_id", "attempt"], unique=False)

    op.create_table(
        "transcripts",
        sa.Column("execution_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("usage", sa.String(), nullable=True),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id", "number"],
            ["attempts.execution_id", "attempts.number"],
            name="fk_transcripts_execution_id_number",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("execution_id", "number", name="pk_transcripts"),
    )


def downgrade() -> None:
    op.drop_table("transcripts")
    with op.batch_alter_table("reviews", schema=None) as batch_op:
        batch_op.drop_index("ix_reviews_attempt")

    op.drop_table("reviews")
    op.drop_table("judgements")
    with op.batch_alter_table("refresh_tokens", schema=None) as batch_op:
        batch_op.drop_index("ix_refresh_tokens_session_id")

    op.drop_table("refresh_tokens")
    with op.batch_alter_table("one_time_codes", schema=None) as batch_op:
        batch_op.drop_index("ix_one_time_codes_session_id")

    op.drop_table("one_time_codes")
    op.drop_table("instances")
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_attempts_queue",
            sqlite_where=sa.text("automatic_verdict IN ('needs_human_review', 'judge_format_error')"),
        )

    op.drop_table("attempts")
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_index("ix_sessions_user_id")

    op.drop_table("sessions")
    with op.batch_alter_table("run_blobs", schema=None) as batch_op:
        batch_op.drop_index("ix_run_blobs_sha256")

    op.drop_table("run_blobs")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index("ix_idempotency_keys_run_id")
        batch_op.drop_index("ix_idempotency_keys_created_at")

    op.drop_table("idempotency_keys")
    with op.batch_alter_table("executions", schema=None) as batch_op:
        batch_op.drop_index("ix_executions_facts")

    op.drop_table("executions")
    op.drop_table("users")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("ix_runs_status")
        batch_op.drop_index("ix_runs_provider_id")
        batch_op.drop_index("ix_runs_profile")
        batch_op.drop_index("ix_runs_judge_provider_id")

    op.drop_table("runs")
    op.drop_table("providers")
    op.drop_table("login_failures")
    op.drop_table("blobs")
    op.drop_table("audit")
