"""Run by Alembic. The connection, its transaction and its error messages belong to `engine.store.database`."""

from __future__ import annotations

from alembic import context

from engine.store.tables import Row

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
