"""Alembic's scripts. Each revision is one step, up and down."""
