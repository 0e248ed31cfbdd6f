"""The schema's history, kept by Alembic inside this package, and what to say when it does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect

from engine.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

MIGRATIONS = Path(__file__).resolve().parent / "migrations"
VERSIONS = MIGRATIONS / "versions"
VERSION_TABLE = "alembic_version"


def _config(connection: Connection | None = None) -> Config:
    # Alembic takes a while to import; a process that only reads rarely needs it.
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())


def newest() -> str:
    """This release's revision. Migrations are numbered and their files begin with the number, so Alembic, which takes
    a while to import, is not asked by every process that opens an up-to-date database."""
    return max(file.name for file in VERSIONS.glob("[0-9]*.py")).partition("_")[0]


def revision(connection: Connection) -> str | None:
    """The revision of the database, or None when it is new."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar_one_or_none()  # noqa: S608
    return None if found is None else str(found)


def upgrade(connection: Connection) -> None:
    from alembic import command

    command.upgrade(_config(connection), "head")


def downgrade(connection: Connection, steps: int) -> None:
    """Raises InputError, code `nothing_to_undo`, when there are not so many steps to undo."""
    from alembic import command
    from alembic.util import CommandError

    try:
        command.downgrade(_config(connection), f"-{steps}")
    except CommandError as error:
        raise InputError(f"there are no {steps} migrations to undo", code="nothing_to_undo") from error


def require_known(found: str | None, file: Path) -> None:
    """Raises UnavailableError, code `schema_unknown`, unless the revision is one of ours."""
    if found is not None and found not in {script.revision for script in _scripts().walk_revisions()}:
        raise UnavailableError(
            f"the database {file} was made by another release of Magistrate (schema {found}); "
            "use that release, or restore a backup",
            code="schema_unknown",
        )


def require_current(connection: Connection, file: Path) -> None:
    """Raises UnavailableError, code `schema_outdated` or `schema_unknown`, unless the schema is this release's."""
    found = revision(connection)
    if found is None:
        raise UnavailableError(
            f"the database {file} is empty; make its tables with `magistrate init-db`", code="schema_outdated"
        )
    if found != newest():
        require_known(found, file)
        raise UnavailableError(
            f"the database {file} has an older schema ({found}); back it up and run `magistrate migrate`",
            code="schema_outdated",
        )


def require_sound_references(connection: Connection) -> None:
    """Raises UnavailableError when a row refers to one that does not exist; the migration is then undone."""
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise UnavailableError(
            f"a row of table {broken[0]} refers to a missing row of {broken[2]}; the migration was undone",
            code="database_unavailable",
        )
