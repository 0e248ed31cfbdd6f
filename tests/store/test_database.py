"""The database file: opening, refusing, migrating, transactions, backup."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import stat
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from engine.errors import InputError, UnavailableError
from engine.store import Database, Stores, schema
from engine.store.database import DEFAULT_URL, has_wal_reset_fault, installed_driver
from engine.store.tables import Row, run_blobs, runs
from tests.store.samples import draft, instance, make_run


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextlib.contextmanager
def ordinary_user():
    """Root may write everything; tests about permissions step down."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_folder():
    """A folder that an ordinary user can reach (tmp_path belongs to the user who runs the tests)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_new_database_and_its_companions_are_readable_by_their_owner_only(database, tmp_path):
    database.ping()
    files = {path.name: mode_of(path) for path in tmp_path.iterdir() if path.name.startswith("platform.db")}
    assert files == {"platform.db": 0o600, "platform.db-wal": 0o600, "platform.db-shm": 0o600}


def test_the_facts_are_those_of_every_connection(database):
    facts = database.facts()
    assert facts == {
        "driver": "pysqlite3",
        "sqlite_version": installed_driver().sqlite_version,
        "journal_mode": "wal",
        "synchronous": "full",
        "foreign_keys": "on",
    }
    with database.reading() as first, database.reading() as second:
        for connection in (first, second):
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_versions_with_the_wal_reset_fault_are_known(version, faulty):
    assert has_wal_reset_fault(version) is faulty


def test_a_driver_with_the_fault_gets_the_rollback_journal_and_says_so(tmp_path):
    class FaultyDriver:
        """The standard module, under the version Debian 12 ships."""

        def __getattr__(self, name):
            return getattr(sqlite3, name)

    faulty = FaultyDriver()
    faulty.__name__ = "sqlite3"
    faulty.sqlite_version_info = (3, 40, 1)
    faulty.sqlite_version = "3.40.1"
    database = Database(url_of(tmp_path / "old.db"), driver=faulty)
    database.migrate()
    facts = database.facts()
    stores = Stores.over(database)
    run, ids = make_run(stores, 2)
    assert (facts["driver"], facts["journal_mode"], facts["synchronous"]) == ("sqlite3", "delete", "full")
    assert "3.40.1" in facts["journal_mode_reason"]
    assert len(ids) == stores.runs.get(run.id).total_count == 2
    database.close()


def test_without_a_wheel_the_standard_module_serves(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysqlite3.dbapi2", None)
    assert installed_driver() is sqlite3


def test_the_migrated_schema_is_the_one_of_the_models(database):
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Row.metadata) == []
        partial = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'ix_attempts_queue'").scalar()
    assert "WHERE automatic_verdict IN" in partial


def test_down_and_up_again_works_and_migrating_twice_changes_nothing(database):
    database.downgrade()
    with database.reading() as connection:
        assert "controls" not in inspect(connection).get_table_names()
    database.downgrade()
    with database.reading() as connection:
        assert "stream" not in {column["name"] for column in inspect(connection).get_columns("providers")}
    database.downgrade()
    with database.reading() as connection:
        assert "runs" in inspect(connection).get_table_names()
        assert "banks" not in inspect(connection).get_table_names()
    database.downgrade()
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]
    with pytest.raises(UnavailableError, match="init-db") as caught:
        database.check()
    assert caught.value.code == "schema_outdated"
    database.migrate()
    database.migrate()
    database.check()
    with pytest.raises(InputError, match="no 5 migrations"):
        database.downgrade(5)
    database.check()


def test_several_that_start_at_once_make_one_database(tmp_path):
    opened = [Database(url_of(tmp_path / "platform.db")) for _ in range(4)]
    together = threading.Barrier(4)
    failures = []

    def migrate(database):
        together.wait()
        try:
            database.migrate()
            database.check()
        except Exception as error:  # noqa: BLE001 - reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=migrate, args=(database,)) for database in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for database in opened:
        database.close()
    assert failures == []


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "half.db"
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        raw.execute("CREATE TABLE runs (something_else TEXT)")
        raw.commit()
    database = Database(url_of(path))
    with pytest.raises(UnavailableError):
        database.migrate()
    with database.reading() as connection:
        assert sorted(inspect(connection).get_table_names()) == ["alembic_version", "runs"]
    database.close()


def test_a_migration_that_breaks_references_is_undone(database):
    with contextlib.closing(sqlite3.connect(database.path)) as raw:
        raw.execute("INSERT INTO run_blobs (run_id, sha256) VALUES (77, 'x')")
        raw.commit()
    with pytest.raises(UnavailableError, match="table run_blobs refers to a missing row of"):
        database.migrate()


def test_check_tells_missing_older_and_newer_apart(tmp_path):
    path = tmp_path / "platform.db"
    database = Database(url_of(path))
    with pytest.raises(UnavailableError, match="init-db") as missing:
        database.check()
    assert not path.exists()
    database.migrate()
    database.check()
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'from-the-future'"))
    database.close()
    before = path.read_bytes()
    for act in (database.check, database.migrate, database.downgrade):
        with pytest.raises(UnavailableError, match="another release") as newer:
            act()
        assert newer.value.code == "schema_unknown"
    assert missing.value.code == "schema_outdated"
    database.close()
    assert path.read_bytes() == before


def test_an_older_schema_is_told_to_migrate_and_keeps_its_runs(database, stores):
    run, _ = make_run(stores, 2)
    database.downgrade()
    with pytest.raises(UnavailableError, match="magistrate migrate") as caught:
        database.check()
    assert caught.value.code == "schema_outdated"
    database.migrate()
    database.check()
    assert stores.runs.get(run.id).total_count == 2


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://gly:hunter2@db/magistrate", "this release speaks SQLite"),
        ("mysql+pymysql://gly:hunter2@db/magistrate", "this release speaks SQLite"),
        ("hunter2 is no url", "cannot be read"),
        ("", "cannot be read"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("sqlite:///file:x?uri=true", "must name a file"),
        ("sqlite:///x.db?password=hunter2", "takes no options; leave out password"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_in_words_without_its_password(url, words):
    with pytest.raises(InputError, match=words) as caught:
        Database(url)
    assert caught.value.code == "bad_database_url"
    assert "hunter2" not in caught.value.message


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=f"make {tmp_path / 'nowhere'} or change DATABASE_URL"):
        Database(url_of(tmp_path / "nowhere" / "platform.db"))
    assert not (tmp_path / "nowhere").exists()


def test_the_folder_of_the_default_url_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = Database(DEFAULT_URL)
    assert not (tmp_path / "data").exists()
    database.migrate()
    database.check()
    database.close()
    assert (tmp_path / "data" / "platform.db").exists()


def test_files_that_are_no_database_of_ours_are_refused_and_left_as_they_are(tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("dear diary, " * 100, encoding="utf-8")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    foreign = tmp_path / "foreign.db"
    with contextlib.closing(sqlite3.connect(foreign)) as raw:
        raw.execute("CREATE TABLE recipes (title TEXT)")
        raw.commit()
    for path, words in ((note, "not a database"), (damaged, "cannot be read"), (foreign, "another program")):
        before = path.read_bytes()
        with pytest.raises(InputError, match=words) as caught:
            Database(url_of(path))
        assert caught.value.code == "bad_database_url"
        assert str(path) in caught.value.message
        assert path.read_bytes() == before
    with pytest.raises(InputError, match="is a folder"):
        Database(url_of(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"note.txt", "damaged.db", "foreign.db"}


def test_an_empty_file_becomes_a_database(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    database = Database(url_of(path))
    database.migrate()
    database.check()
    database.close()


def test_read_only_files_and_folders_are_refused_and_left_as_they_are(shared_folder):
    path = shared_folder / "platform.db"
    database = Database(url_of(path))
    database.migrate()
    database.close()
    before = path.read_bytes()
    path.chmod(0o444)
    with ordinary_user(), pytest.raises(InputError, match="read-only"):
        Database(url_of(path))
    shared_folder.chmod(0o777)
    with ordinary_user(), pytest.raises(InputError, match="read-only"):
        Database(url_of(path))
    shared_folder.chmod(0o000)
    with ordinary_user(), pytest.raises(InputError, match=r"cannot be opened|does not exist"):
        Database(url_of(shared_folder / "deeper" / "platform.db"))
    shared_folder.chmod(0o755)
    assert path.read_bytes() == before


def test_a_folder_that_turns_read_only_before_the_file_is_made_is_named(shared_folder):
    shared_folder.chmod(0o777)
    with ordinary_user():
        database = Database(url_of(shared_folder / "platform.db"))
    shared_folder.chmod(0o555)
    with ordinary_user(), pytest.raises(InputError, match="cannot be made: Permission denied"):
        database.migrate()


def test_a_file_that_turns_read_only_while_open_is_said_so(shared_folder):
    path = shared_folder / "platform.db"
    database = Database(url_of(path))
    database.migrate()
    database.close()
    shared_folder.chmod(0o777)
    path.chmod(0o444)
    with (
        ordinary_user(),
        pytest.raises(UnavailableError, match="read-only") as caught,
        database.writing() as connection,
    ):
        connection.execute(runs.delete())
    database.close()
    assert caught.value.code == "database_unavailable"


def test_a_file_that_vanishes_is_said_so_and_not_made_anew(database):
    database.ping()
    database.close()
    database.path.unlink()
    with pytest.raises(UnavailableError, match="missing or cannot be opened") as caught:
        database.ping()
    assert caught.value.code == "database_unavailable"
    assert not database.path.exists()


def test_a_file_that_is_overwritten_is_called_damaged(database):
    database.close()
    database.path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 8000)
    with pytest.raises(UnavailableError, match="damaged"):
        database.ping()


def test_a_lost_table_is_a_schema_that_does_not_fit(database, stores):
    with database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE audit")
    with pytest.raises(UnavailableError, match="magistrate migrate") as caught:
        stores.audit.page(limit=1, offset=0)
    assert caught.value.code == "schema_outdated"


def test_another_fault_of_the_driver_is_named_too(database):
    with pytest.raises(UnavailableError, match="does not answer"), database.reading() as connection:
        connection.exec_driver_sql("SELECT no_such_function()")


def test_foreign_keys_are_enforced(database):
    with pytest.raises(IntegrityError), database.writing() as connection:
        connection.execute(run_blobs.insert().values(run_id=99, sha256="x"))


def test_a_failed_transaction_leaves_nothing(database, stores):
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        connection.execute(runs.delete())
        raise ZeroDivisionError
    run, _ = make_run(stores)
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        connection.execute(runs.delete())
        raise ZeroDivisionError
    assert stores.runs.get(run.id).id == run.id


def test_a_reader_sees_one_moment(database, stores):
    def count(connection):
        return connection.exec_driver_sql("SELECT count(*) FROM runs").scalar()

    with database.reading() as connection:
        before = count(connection)
        make_run(stores)
        assert count(connection) == before == 0
    with database.reading() as connection:
        assert count(connection) == 1


def test_another_programs_lock_is_waited_for_and_then_named(tmp_path):
    database = Database(url_of(tmp_path / "platform.db"), wait_s=0.05)
    database.migrate()
    with contextlib.closing(installed_driver().connect(str(database.path), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="another program holds") as caught, database.writing():
            pass
        other.execute("ROLLBACK")
    assert caught.value.code == "database_unavailable"
    with database.writing():
        pass
    database.close()


def test_a_writer_of_this_process_that_does_not_end_is_not_waited_for_for_ever(tmp_path):
    database = Database(url_of(tmp_path / "platform.db"), wait_s=0.05)
    database.migrate()
    with database.writing(), pytest.raises(UnavailableError, match="busy with another change"), database.writing():
        pass
    with database.writing():
        pass
    database.close()


def test_when_every_connection_is_taken_the_next_is_told_to_come_back(tmp_path):
    database = Database(url_of(tmp_path / "platform.db"), wait_s=0.05)
    database.migrate()
    with contextlib.ExitStack() as held:
        for _ in range(64):
            held.enter_context(database.reading())
        with pytest.raises(UnavailableError, match="too many requests"):
            database.ping()
    database.ping()
    database.close()


def test_a_full_disk_is_said_so_and_what_was_there_stays(database, stores):
    run, _ = make_run(stores)
    with database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    big = draft(note="x" * 500_000)
    with pytest.raises(UnavailableError, match="storage is full") as caught, database.writing() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")
        connection.execute(runs.update().values(note=big.note))
    assert caught.value.code == "storage_full"
    assert stores.runs.get(run.id).note == "a note"
    with database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        connection.execute(runs.update().values(note=big.note))
    assert stores.runs.get(run.id).note == big.note


def test_a_backup_is_a_whole_database_that_only_its_owner_can_read(database, stores, tmp_path):
    run, ids = make_run(stores, [instance("one"), instance("two")])
    target = tmp_path / "copy.db"
    database.backup(target)
    assert mode_of(target) == 0o600
    assert not list(tmp_path.glob(".*.part*"))
    copy = Database(url_of(target))
    copy.check()
    assert [item.execution_id for item in Stores.over(copy).results.pending(run.id)] == ids
    with copy.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    copy.close()


def test_a_backup_is_consistent_while_others_write(database, stores, tmp_path):
    stop = threading.Event()

    def write():
        while not stop.is_set():
            make_run(stores, 5)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(3):
            database.backup(tmp_path / f"copy-{number}.db")
    finally:
        stop.set()
        thread.join()
    for number in range(3):
        with contextlib.closing(installed_driver().connect(str(tmp_path / f"copy-{number}.db"))) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
            planned, stored = copy.execute(
                "SELECT (SELECT sum(total_count) FROM runs), (SELECT count(*) FROM executions)"
            ).fetchone()
            assert (planned or 0) == stored


def test_a_backup_never_overwrites_and_says_why_it_cannot_write(database, tmp_path):
    kept = tmp_path / "kept.db"
    kept.write_text("precious", encoding="utf-8")
    for target, words in (
        (kept, "never overwrites"),
        (tmp_path / "none" / "x.db", "No such file"),
        (tmp_path, "exists"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            database.backup(target)
        assert caught.value.code == "bad_backup_target"
    assert kept.read_text(encoding="utf-8") == "precious"


def test_a_backup_that_does_not_fit_leaves_no_file(database, stores, tmp_path):
    make_run(stores, 50)
    database.backup(tmp_path / "fits.db")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))  # the disk of this test
    try:
        with pytest.raises(InputError, match="backup could not be made") as caught:
            database.backup(tmp_path / "copy.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code == "bad_backup_target"
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_a_backup_of_a_damaged_database_leaves_no_file(database, stores, tmp_path):
    make_run(stores, 50)
    database.close()
    content = bytearray(database.path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    database.path.write_bytes(content)
    with pytest.raises((InputError, UnavailableError)):
        database.backup(tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_an_error_of_the_database_never_quotes_a_value(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'platform.db'}")
    database.migrate()
    with pytest.raises(IntegrityError) as error, database.writing() as connection:
        connection.execute(text("INSERT INTO runs (note) VALUES (:answer)"), {"answer": "canary-4711"})
    assert "NOT NULL" in str(error.value)
    assert "canary-4711" not in str(error.value)
    database.close()


def test_this_releases_revision_is_the_end_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    assert schema.newest() == ScriptDirectory.from_config(config).get_current_head()
