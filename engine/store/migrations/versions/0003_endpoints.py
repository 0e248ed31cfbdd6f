"""How endpoints are reached, and how a run's endpoint wants to be spoken to.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Columns are added and dropped in place: making the tables anew would take what refers to them along.
    op.add_column("providers", sa.Column("connect_timeout_seconds", sa.Float(), nullable=True))
    op.add_column("providers", sa.Column("stream", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("providers", sa.Column("use_proxy", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("providers", sa.Column("ca_file", sa.String(), nullable=True))
    op.add_column("providers", sa.Column("verify_tls", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("runs", sa.Column("dialect", sa.Text(), nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("runs", "dialect")
    for name in ("verify_tls", "ca_file", "use_proxy", "stream", "connect_timeout_seconds"):
        op.drop_column("providers", name)
