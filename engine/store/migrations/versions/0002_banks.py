"""Banks in the database: every version with its cases.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "banks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("cases", sa.Integer(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("licence", sa.String(), nullable=True),
        sa.Column("fixtures", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_banks"),
        sa.UniqueConstraint("name", "sha256", name="uq_banks_name_sha256"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "bank_cases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("bank_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("clause", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("technique", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["bank_id"], ["banks.id"], name="fk_bank_cases_bank_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_bank_cases"),
        sa.UniqueConstraint("bank_id", "case_id", name="uq_bank_cases_bank_id_case_id"),
    )
    op.create_index(
        "ix_bank_cases_facts",
        "bank_cases",
        ["bank_id", "position", "clause", "mode", "language", "severity", "instances"],
    )
    op.create_table(
        "bank_case_texts",
        sa.Column("case_row_id", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["case_row_id"], ["bank_cases.id"], name="fk_bank_case_texts_case_row_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("case_row_id", name="pk_bank_case_texts"),
    )


def downgrade() -> None:
    op.drop_table("bank_case_texts")
    op.drop_index("ix_bank_cases_facts", table_name="bank_cases")
    op.drop_table("bank_cases")
    op.drop_table("banks")
