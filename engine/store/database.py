"""The one database file: opening, checking, transactions, migration, backup.

Every transaction is short. Readers see one consistent snapshot; writers of this process take turns before they ask
SQLite for its write lock, because SQLite's own waiting is a lottery in which somebody eventually loses.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from engine.errors import InputError, UnavailableError
from engine.store import schema
from engine.store.turns import Turns

DEFAULT_URL = "sqlite:///./data/platform.db"
"""The only URL whose missing folder is made without being asked."""

OWNER_ONLY = 0o600
HEADER = b"SQLite format 3\x00"


def installed_driver() -> ModuleType:
    """`pysqlite3`, which bundles a current SQLite; the standard module where it has no wheel."""
    try:
        return importlib.import_module("pysqlite3.dbapi2")
    except ImportError:
        return sqlite3


def has_wal_reset_fault(version: tuple[int, ...]) -> bool:
    """Whether this SQLite can corrupt a WAL database that several connections use.

    Source: SQLite's release notes; fixed in 3.51.3 and 3.53.0, back-ported to 3.50.7 and 3.44.6.
    """
    if not (3, 7, 0) <= version < (3, 51, 3):
        return False
    return not (version[:2] == (3, 50) and version >= (3, 50, 7)) and not (
        version[:2] == (3, 44) and version >= (3, 44, 6)
    )


class Database:
    """A SQLite file, opened once per process.

    Args:
        url: `sqlite:///relative/path` or `sqlite:////absolute/path`.
        driver: A DB-API module over SQLite; default: the best one installed.
        wait_s: How long a transaction waits for its turn, for another program's lock and for a free connection.

    Raises:
        InputError: code `bad_database_url`; names the path and the fix. The file is left as it was.
    """

    def __init__(self, url: str, *, driver: ModuleType | None = None, wait_s: float = 30) -> None:
        self.url = url
        self._driver = driver or installed_driver()
        self.path = _path_of(url)
        self._wait_s = wait_s
        _inspect(self.path, self._driver, may_make_folder=url == DEFAULT_URL)
        self.journal_mode = "delete" if has_wal_reset_fault(self._driver.sqlite_version_info) else "wal"
        """`delete` where this SQLite's WAL has the reset fault."""
        self._turns = Turns()
        self._engine = create_engine(
            "sqlite://",
            module=self._driver,
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=56,
            pool_timeout=wait_s,
            hide_parameters=True,  # a parameter may be a prompt, an answer or a key, and errors reach the log
        )
        event.listen(self._engine, "begin", _begin)
        self._writer = self._engine.execution_options(begin=("BEGIN IMMEDIATE",))

    def _connect(self) -> Any:
        # mode=rw: only migrate() makes the file, so that a mistyped path does not become an empty database.
        connection = self._driver.connect(
            f"file:{quote(str(self.path))}?mode=rw",
            uri=True,
            timeout=self._wait_s,
            isolation_level=None,  # the "begin" event says BEGIN; the module's own BEGIN comes too late for reads
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_size_limit=67108864")  # a long read must not leave a huge log for good
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != self.journal_mode:
                connection.execute(f"PRAGMA journal_mode={self.journal_mode}")
        except self._driver.Error:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A short read transaction: one consistent snapshot.

        Raises:
            UnavailableError: the database does not answer; code `database_unavailable`, or what `check` raises.
            InputError: code `unstorable_value`; a number or a text that SQLite cannot hold was asked for.
        """
        with self._in_words(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A short write transaction, holding the write lock from its start; committed on leaving, durably.

        Raises:
            UnavailableError: code `storage_full` or `database_unavailable`; nothing was written.
            InputError: code `unstorable_value`; nothing was written.
        """
        with self._turn(), self._in_words(writing=True), self._writer.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=self._wait_s):
            raise UnavailableError("the database is busy with another change; try again", code="database_unavailable")
        try:
            yield
        finally:
            self._turns.release()

    @contextlib.contextmanager
    def _in_words(self, *, writing: bool = False) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise in_words(error.orig, self.path, writing=writing) from error
        except PoolTimeout as error:
            raise UnavailableError(
                "too many requests use the database at once; try again", code="database_unavailable"
            ) from error
        except (OverflowError, UnicodeEncodeError) as error:  # the driver cannot send such a value
            raise InputError(
                "a number is too large or a text is no valid Unicode; neither can be stored or found",
                code="unstorable_value",
            ) from error

    def facts(self) -> dict[str, str]:
        """What a start-up message and a bug report should say: driver, sqlite_version, journal_mode, synchronous,
        foreign_keys, and `journal_mode_reason` where WAL was refused."""
        with self.reading() as connection:

            def pragma(name: str) -> str:
                return str(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

            levels = {"0": "off", "1": "normal", "2": "full", "3": "extra"}
            facts = {
                "driver": self._driver.__name__.partition(".")[0],
                "sqlite_version": self._driver.sqlite_version,
                "journal_mode": pragma("journal_mode"),
                "synchronous": levels[pragma("synchronous")],
                "foreign_keys": "on" if pragma("foreign_keys") == "1" else "off",
            }
        if self.journal_mode == "delete":
            facts["journal_mode_reason"] = (
                f"SQLite {self._driver.sqlite_version} has the WAL-reset fault; install pysqlite3 for the faster WAL"
            )
        return facts

    def migrate(self) -> None:
        """Make the file if it is missing and bring its schema to this release, all or nothing.

        Raises:
            UnavailableError: code `schema_unknown`; the file belongs to a newer release.
        """
        _make_file(self.path, may_make_folder=self.url == DEFAULT_URL)
        with self._migrating() as connection:
            schema.require_known(schema.revision(connection), self.path)
            schema.upgrade(connection)

    def downgrade(self, steps: int = 1) -> None:
        """Undo the newest migrations. What only the newer schema can hold is lost."""
        with self._migrating() as connection:
            schema.require_known(schema.revision(connection), self.path)
            schema.downgrade(connection, steps)

    @contextlib.contextmanager
    def _migrating(self) -> Iterator[Connection]:
        # SQLite changes a table by making it anew and dropping the old one; with foreign keys on, the drop would
        # cascade. Inside a transaction the pragma is ignored, so it stands before it.
        migrator = self._engine.execution_options(begin=("PRAGMA foreign_keys=OFF", "BEGIN IMMEDIATE"))
        with self._turn(), self._in_words(writing=True), migrator.connect() as connection:
            try:
                with connection.begin():
                    yield connection
                    schema.require_sound_references(connection)
            finally:
                connection.invalidate()

    def check(self) -> None:
        """Raises UnavailableError unless the schema is this release's: code `schema_outdated` or `schema_unknown`,
        with what to do."""
        if not self.path.exists():
            raise UnavailableError(
                f"there is no database at {self.path} yet; make it with `magistrate init-db`", code="schema_outdated"
            )
        with self.reading() as connection:
            schema.require_current(connection, self.path)

    def ping(self) -> None:
        """Raises UnavailableError, code `database_unavailable`, unless the database answers."""
        with self.reading() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()

    def backup(self, target: Path) -> None:
        """Copy the whole database, as of one moment, while it is in use. `target` appears only when it is whole.

        Raises:
            InputError: code `bad_backup_target`; the file exists or cannot be written.
        """
        if target.exists():
            raise InputError(f"{target} exists; a backup never overwrites, name a new file", code="bad_backup_target")
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            partial.unlink(missing_ok=True)
            _create(partial)
            with self.reading() as connection:
                self._copy(connection.connection.driver_connection, partial)
            partial.rename(target)
        except OSError as error:
            raise InputError(f"cannot write the backup {target}: {error.strerror}", code="bad_backup_target") from error
        finally:
            with contextlib.suppress(OSError):  # it is gone after success; a folder that cannot be written never had it
                partial.unlink()

    def _copy(self, source: Any, partial: Path) -> None:
        copy = self._driver.connect(str(partial))
        try:
            # In one step: page by page, the copy would start over whenever somebody writes.
            source.backup(copy)
        except self._driver.Error as error:
            raise InputError(f"the backup could not be made: {error}", code="bad_backup_target") from error
        finally:
            copy.close()

    def close(self) -> None:
        """Close every connection; the last one folds the write-ahead log into the file."""
        self._engine.dispose()


def _begin(connection: Connection) -> None:
    for statement in connection.get_execution_options().get("begin", ("BEGIN",)):
        connection.exec_driver_sql(statement)


def in_words(error: BaseException | None, file: Path, *, writing: bool) -> UnavailableError:
    """What a driver's error means to the people who meet it."""
    name = str(getattr(error, "sqlite_errorname", ""))
    if writing and name.startswith("SQLITE_IOERR"):
        # What a full disk is called depends on where it is met: SQLITE_FULL where SQLite appends, this where a quota,
        # a limit on file sizes or the sync refuses. A failing disk cannot be told apart.
        return UnavailableError(
            f"the storage is full or fails: {file} cannot be written ({name}); make space, look at quotas and limits "
            "on file sizes, and try again",
            code="storage_full",
        )
    if name.startswith("SQLITE_FULL"):
        return UnavailableError(
            f"the storage is full: nothing more can be written to {file}; make space and try again",
            code="storage_full",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        reason = f"another program holds the database {file}; try again when it has finished"
    elif name.startswith("SQLITE_READONLY"):
        reason = f"the database {file} is read-only; make the file and its folder writable"
    elif name.startswith("SQLITE_CANTOPEN"):
        reason = f"the database {file} is missing or cannot be opened; check DATABASE_URL, or run `magistrate init-db`"
    elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        reason = f"the database {file} is damaged; restore a backup"
    elif "no such table" in str(error) or "no such column" in str(error):
        return UnavailableError(
            f"the schema of {file} is not this release's; run `magistrate migrate`", code="schema_outdated"
        )
    else:
        reason = f"the database {file} does not answer ({name or type(error).__name__})"
    return UnavailableError(reason, code="database_unavailable")


def _bad(message: str) -> InputError:
    return InputError(message, code="bad_database_url")


def _path_of(url: str) -> Path:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # The text may hold a password, so the message does not repeat it.
        raise _bad("DATABASE_URL cannot be read; write sqlite:///path/to/file.db") from error
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise _bad(f"DATABASE_URL names {parsed.drivername}; this release speaks SQLite: sqlite:///path/to/file.db")
    if parsed.database in (None, "", ":memory:") or str(parsed.database).startswith("file:"):
        raise _bad("DATABASE_URL must name a file: sqlite:///path/to/file.db")
    if parsed.query:
        raise _bad(f"DATABASE_URL takes no options; leave out {', '.join(sorted(parsed.query))}")
    return Path(str(parsed.database)).expanduser()


def _inspect(file: Path, driver: ModuleType, *, may_make_folder: bool) -> None:
    """Raises InputError unless `file` is ours, or absent where it could be made. Changes nothing."""
    folder = file.parent
    try:
        if not folder.is_dir():
            if folder.exists() or not may_make_folder:
                raise _bad(f"the folder of the database {file} does not exist; make {folder} or change DATABASE_URL")
            return
        if file.is_dir():
            raise _bad(f"the database {file} is a folder; DATABASE_URL must name a file")
        if not _may(folder, os.W_OK | os.X_OK):
            raise _bad(f"the folder of the database {file} is read-only; make {folder} writable")
        if not file.exists():
            return
        if not _may(file, os.R_OK | os.W_OK):
            raise _bad(f"the database {file} is read-only or not ours to read; make it readable and writable")
        with file.open("rb") as opened:
            header = opened.read(len(HEADER))
    except OSError as error:
        raise _bad(f"the database {file} cannot be opened: {error.strerror}") from error
    if not header:
        return
    if header != HEADER:
        raise _bad(f"{file} is not a database; DATABASE_URL must name a SQLite file or a new one")
    connection = None
    try:
        connection = driver.connect(f"file:{quote(str(file))}?mode=ro", uri=True)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except driver.Error as error:
        raise _bad(f"the database {file} cannot be read ({error}); restore a backup") from error
    finally:
        if connection is not None:
            connection.close()
    if tables and schema.VERSION_TABLE not in tables:
        raise _bad(f"{file} is a database of another program; change DATABASE_URL")


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _make_file(file: Path, *, may_make_folder: bool) -> None:
    try:
        if may_make_folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _create(file)
    except OSError as error:
        raise _bad(f"the database {file} cannot be made: {error.strerror}") from error


def _create(file: Path) -> None:
    """An empty file only its owner can read; SQLite gives its companions (-wal, -shm) the same mode."""
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
