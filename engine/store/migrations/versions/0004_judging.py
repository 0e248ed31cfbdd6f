"""Which confident verdicts are audited, and what the judge made of the control cases.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("executions", sa.Column("audit", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_executions_audit", "executions", ["run_id", "id"], sqlite_where=sa.text("audit = 1"))
    op.create_table(
        "controls",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("control_id", sa.String(), nullable=False),
        sa.Column("expected", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_controls_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "control_id", name="pk_controls"),
    )


def downgrade() -> None:
    op.drop_table("controls")
    op.drop_index("ix_executions_audit", table_name="executions")
    op.drop_column("executions", "audit")
