"""What a start says of the database, and what it refuses."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from engine.store import Database
from engine.store.database import installed_driver

NOBODY = 65534


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of change of everything that is the database's."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.glob("platform.db*")}


def refused(command, *arguments, code) -> str:
    """What a command says that must end with `code` and leave the database as it was."""
    before = files(command.folder)
    said = command(*arguments, code=code).stderr
    assert files(command.folder) == before
    return said


RUN = ("run", "--profile", "full", "--provider", "demo")


def test_a9_a_missing_database_is_refused_and_not_made(small):
    """A9."""
    small.database.unlink()
    for command in (RUN, ("resume", "1"), ("runs",), ("backup", "copy.db")):
        said = refused(small, *command, code=3)
        assert str(small.database) in said and "init-db" in said
    assert not small.database.exists()


def test_a9_a_schema_of_another_release_is_refused_and_left_as_it_is(small):
    """A9."""
    database = Database(f"sqlite:///{small.database}")
    database.downgrade()
    database.close()
    assert "magistrate migrate" in refused(small, *RUN, code=3)
    database.migrate()
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from-the-future'")
    database.close()
    for command in (RUN, ("serve",), ("init-db",), ("migrate",), ("resume", "1")):
        assert "another release" in refused(small, *command, code=3)


def test_a9_a_damaged_or_foreign_file_is_refused_and_left_as_it_is(small):
    """A9."""
    small.database.write_bytes(b"not a database at all" * 300)
    for command in (RUN, ("serve",), ("init-db",)):
        assert "is not a database" in refused(small, *command, code=2)
    small.database.unlink()
    with sqlite3.connect(small.database) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    assert "another program" in refused(small, "serve", code=2)


def test_a9_a_read_only_database_is_refused_and_left_as_it_is(small):
    """A9."""
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.copytree(small.folder, folder, dirs_exist_ok=True)
        folder.chmod(0o777)
        small.folder = folder
        small.variables |= {"DATABASE_URL": f"sqlite:///{small.database}", "HOME": str(folder)}
        small.variables["BANK_FILE"] = str(folder / "bank" / "dataset.json")
        small.database.chmod(0o444)
        small.user = NOBODY if os.geteuid() == 0 else None
        for command in (RUN, ("serve",), ("init-db",)):
            said = refused(small, *command, code=2)
            assert str(small.database) in said and "read-only" in said
        small.database.chmod(0o666)
        folder.chmod(0o755)
        if small.user is not None:
            assert "read-only" in refused(small, *RUN, code=2)
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a10_a_start_prints_how_the_database_is_kept_and_the_values_are_the_documented_ones(small):
    """A10. The pragmas a connection really has are compared in the tests of the store."""
    small.database.unlink()
    printed = small("init-db").stdout.splitlines()[0]
    version = installed_driver().sqlite_version
    assert printed == (
        f"database: driver pysqlite3, sqlite_version {version}, journal_mode wal, synchronous full, foreign_keys on"
    )


@pytest.mark.parametrize("version", ["3.8.0", "3.40.1", "3.44.5", "3.50.6", "3.51.2"])
def test_a10_a_version_with_the_wal_reset_fault_gets_the_rollback_journal_and_says_so(tmp_path, version):
    """A10."""

    class Faulty:
        """The standard module under another version."""

        __name__ = "sqlite3"
        sqlite_version = version
        sqlite_version_info = tuple(map(int, version.split(".")))

        def __getattr__(self, name):
            return getattr(sqlite3, name)

    database = Database(f"sqlite:///{tmp_path / 'platform.db'}", driver=Faulty())
    try:
        database.migrate()
        facts = database.facts()
    finally:
        database.close()
    assert (facts["journal_mode"], facts["synchronous"], facts["foreign_keys"]) == ("delete", "full", "on")
    assert version in facts["journal_mode_reason"] and "WAL-reset fault" in facts["journal_mode_reason"]
