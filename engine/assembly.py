"""Builds the one Engine from Settings; the only place that picks classes."""

from __future__ import annotations

import contextlib
import getpass
import io
import logging
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO, cast

import structlog
from pydantic import SecretStr

from engine import bank as banks
from engine import providers
from engine.accounts import Accounts
from engine.accounts.audit import Trail
from engine.accounts.vault import Vault
from engine.bank.loading import EMPTY_CELLS_FILE, FIXTURES_FILE, PROFILES_FILE
from engine.domain.accounts import Role, User
from engine.domain.banks import BankInfo
from engine.domain.base import utc_now
from engine.domain.chat import ChatModel, Connection
from engine.domain.providers import ProviderKind
from engine.domain.runs import EndpointSettings
from engine.errors import ConflictError, UnavailableError
from engine.providers import RetryPolicy, demo
from engine.providers.checks import CheckBudget
from engine.providers.probing import probe
from engine.runs import milestones
from engine.runs.worker import Worker
from engine.settings import Settings
from engine.store import Database, EngineLock, GroupCommit, Stores

log = structlog.get_logger(__name__)

BUNDLED_BANK = "regression"

BUNDLED_SOURCE = "bundled"
"""What a stored bank says of itself that was read from the installed files."""

PRODUCT = "magistrate"
"""The actor of what the product does by itself."""

QUICK_RETRY = RetryPolicy(count=1, delay_s=0.5, max_delay_s=2.0)
"""For probes and checks, where a person waits for the word that the endpoint is dead."""

FORGET_FAILURES_AFTER = timedelta(days=1)
"""Failed sign-ins older than this throttle nobody any more."""

LAST_WRITE_S = 1.0
"""How long a process that ends waits at least for the last results to reach the disk."""

INTERRUPTED_BY_RESTART = "the process that ran it ended; resume to go on"


@dataclass(frozen=True)
class Engine:
    """The product without a screen: what services work with."""

    settings: Settings
    database: Database
    stores: Stores
    accounts: Accounts
    vault: Vault
    worker: Worker | None
    """None in a process that does not hold the engine lock."""
    lock_holder: str
    """Who holds the engine lock, in words; empty when nobody does."""
    _lock: EngineLock
    _commit: GroupCommit | None
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the process is told to end; an answer that would go on for as long as its reader stays ends then."""
    _banks: _BankCache = field(default_factory=lambda: _BankCache())
    starting: threading.Lock = field(default_factory=threading.Lock)
    """Held while a run is stored, so that equal requests at the same moment make one run."""
    checks: CheckBudget = field(default_factory=CheckBudget)
    """Who may check a connection now."""

    def bank(self) -> banks.Bank:
        """The bundled bank as its files say now. Raises BankError."""
        return self._banks.load(self.settings.bank_file)

    def store_bundled(self, bank: banks.Bank) -> BankInfo:
        """A bank read from files as the store has it; stored as a new version when its content is not there yet."""
        known = self.stores.banks.by_content(bank.name, bank.sha256)
        if known is not None:
            return known
        used = {fixture_id for instance in bank.instances for fixture_id in instance.fixture_ids}
        try:
            stored = self.stores.banks.add(
                bank.name,
                bank.version,
                bank.sha256,
                bank.cases,
                created_by=PRODUCT,
                source=BUNDLED_SOURCE,
                fixtures=[fixture for name, fixture in bank.fixtures.items() if name in used],
                again=True,
            )
        except ConflictError:
            # Another process or thread saw the changed files in the same moment.
            return self.stores.banks.by_name(bank.name, bank.sha256)
        Trail(self.stores.audit).note(
            PRODUCT, "bank.sync", f"bank:{stored.id}", name=bank.name, version=bank.version, sha256=bank.sha256
        )
        return stored

    def require_worker(self) -> Worker:
        """Raises UnavailableError when this process may not run runs."""
        if self.worker is None:
            raise UnavailableError(
                f"the engine runs elsewhere: {self.lock_holder or 'another process'} holds the lock of this database; "
                "start and steer runs there, or stop it first",
                code="engine_locked_elsewhere",
            )
        return self.worker

    def require_alive(self) -> None:
        """Raises UnavailableError, code `engine_stopped`, when a thread that runs need has ended in this process."""
        if self.worker is not None:
            self.worker.require_alive()
        if self._commit is not None and not self._commit.is_alive:
            raise UnavailableError(
                "results cannot be stored, because their writer has stopped; restart the server", code="engine_stopped"
            )

    def nobody_runs(self) -> bool:
        """Whether no process works on runs: the one that did has died, and no other has taken over yet."""
        return self.worker is None and self._lock.is_free()

    def try_lock(self) -> bool:
        """Take the engine lock for a moment, to act on runs that nobody works on. Release with `unlock`."""
        return self._lock.acquire()

    def unlock(self) -> None:
        self._lock.release()

    def client(self, settings: EndpointSettings, *, key: SecretStr | None, patient: bool) -> Connection:
        """A client for an endpoint; the caller closes it."""
        retry = self._retry() if patient else QUICK_RETRY
        if settings.kind == ProviderKind.DEMO:
            slowest_s = self.settings.demo_answer_seconds
            return demo.build(settings, api_key=None, retry=retry, quickest_s=slowest_s / 5, slowest_s=slowest_s)
        return providers.build(settings, api_key=key, retry=retry, allowed_hosts=self.settings.allowed_hosts)

    def stored_key(self, provider_id: int) -> SecretStr | None:
        """The key of a configured provider. Raises UnavailableError when it cannot be decrypted."""
        ciphertext = self.stores.providers.key_ciphertext(provider_id)
        return self.vault.open(ciphertext) if ciphertext is not None else None

    def record(self, actor: User, action: str, target: str, *, outcome: str = "ok", **detail: Any) -> None:
        """Append to the audit trail. Raises UnavailableError, and then the act is not done."""
        Trail(self.stores.audit).note(actor.username, action, target, outcome=outcome, **detail)

    def close(self) -> None:
        self.stopping.set()
        left_s = self.worker.stop() if self.worker is not None else 0.0
        if self._commit is not None:
            self._commit.stop(wait_s=max(LAST_WRITE_S, left_s))
        self._lock.release()
        self.database.close()

    def connect(self, settings: EndpointSettings, *, patient: bool) -> ChatModel:
        """A client for a run's frozen endpoint, with the key that is stored now."""
        key: SecretStr | None = None
        if settings.api_key_env is not None:
            value = os.environ.get(settings.api_key_env)
            if value is None:
                raise UnavailableError(
                    f"the run takes its key from the environment variable {settings.api_key_env}, which is not set",
                    code="key_variable_missing",
                )
            key = SecretStr(value)
        elif settings.provider_id is not None:
            key = self.stored_key(settings.provider_id)
        return self.client(settings, key=key, patient=patient)

    def _retry(self) -> RetryPolicy:
        return RetryPolicy(
            count=self.settings.request_retry_count,
            delay_s=self.settings.request_retry_delay_seconds,
            max_delay_s=self.settings.request_retry_max_delay_seconds,
        )


class _BankCache:
    """Loading costs a third of a second; files that have not changed are not read again."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._stamp: tuple[object, ...] | None = None
        self._bank: banks.Bank | None = None

    def load(self, dataset: Path) -> banks.Bank:
        with self._mutex:
            stamp = tuple(
                _stamp(dataset.with_name(name))
                for name in (dataset.name, FIXTURES_FILE, PROFILES_FILE, EMPTY_CELLS_FILE)
            )
            if self._bank is None or stamp != self._stamp:
                self._bank, self._stamp = banks.load(dataset), stamp
            return self._bank


def _stamp(path: Path) -> tuple[str, int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None  # the loader says in words what is wrong with it
    return str(path), facts.st_mtime_ns, facts.st_size


def open_engine(settings: Settings, *, run_worker: bool, name: str) -> Engine:
    """Open the database and, where asked and where nobody else does, start the engine in this process.

    Args:
        settings: Of this process.
        run_worker: Whether this process wants to run runs; it then takes the engine lock if it is free.
        name: How others see the holder, such as `serve` or `run`.

    Raises:
        InputError: a setting cannot be used (`bad_database_url`, `weak_secret`, `bad_setting`).
        UnavailableError: the database cannot be read, or its schema is not this release's.
    """
    database = Database(settings.database_url)
    try:
        return _open(settings, database, run_worker=run_worker, name=name)
    except BaseException:
        database.close()
        raise


def _open(settings: Settings, database: Database, *, run_worker: bool, name: str) -> Engine:
    database.check()
    milestones.arm("" if settings.is_production else settings.magistrate_kill_at)
    stores = Stores.over(database)
    lock = EngineLock(database, name=name)
    locked = run_worker and lock.acquire()
    commit = GroupCommit(database, milestone=milestones.reached) if locked else None
    engine = Engine(
        settings=settings,
        database=database,
        stores=stores,
        accounts=_accounts(settings, stores),
        vault=Vault(settings.secrets_key_file or _beside(database)),
        worker=None,
        lock_holder="" if locked else lock.holder(),
        _lock=lock,
        _commit=commit,
    )
    if commit is None:
        return engine
    interrupted = stores.runs.interrupt_unfinished(INTERRUPTED_BY_RESTART)
    if interrupted:
        log.info("runs_interrupted", run_ids=interrupted)
    stores.sessions.remove_expired(utc_now())
    stores.sessions.remove_failures(utc_now() - FORGET_FAILURES_AFTER)
    commit.start()
    worker = Worker(
        stores=stores,
        commit=commit,
        connect=engine.connect,
        probe=probe,
        pause_max_s=settings.run_pause_max_seconds,
    )
    worker.start()
    object.__setattr__(engine, "worker", worker)
    return engine


def _accounts(settings: Settings, stores: Stores) -> Accounts:
    return Accounts(
        stores,
        token_secret=settings.auth_token_secret,
        access_ttl_s=settings.auth_token_ttl_seconds,
        refresh_window_s=settings.auth_token_refresh_window_seconds,
        refresh_ttl_s=settings.auth_refresh_token_ttl_seconds,
        production=settings.is_production,
    )


def _beside(database: Database) -> Path:
    path = database.path
    return path.with_name(f"{path.name}.key") if path is not None else Path("magistrate.key")


def command_line_user() -> User:
    """Who the command line acts as: an administrator named after the system's user."""
    try:
        system_user = getpass.getuser()
    except (KeyError, OSError):
        system_user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return User(
        id=0,
        username=f"cli:{system_user}",
        display_name=system_user,
        role=Role.ADMIN,
        is_active=True,
        must_change_password=False,
        created_at=utc_now(),
    )


def configure_logging(settings: Settings) -> None:
    """Structured logs on stderr: JSON where LOG_JSON asks, else for people. Ids only, no prompts, answers or keys."""
    named = logging.getLevelNamesMapping().get(settings.log_level.upper(), logging.INFO)
    level = logging.DEBUG if settings.app_debug else named
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if settings.log_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain_traceback)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if settings.log_json else _keep,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Unbreakable(sys.stderr))),
        cache_logger_on_first_use=True,
    )


class _Unbreakable(io.TextIOBase):
    """A log that cannot be written, on a full disk above all, must not take the work with it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


_plain_traceback: Callable[..., None] = structlog.dev.plain_traceback


def _keep(_logger: object, _method: str, event: Any) -> Any:
    return event


__all__ = ["BUNDLED_BANK", "Engine", "command_line_user", "configure_logging", "open_engine"]
