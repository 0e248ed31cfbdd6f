"""Make a machine ready to serve: the settings file, the database, the first account and provider, the address."""

from __future__ import annotations

import errno
import ipaddress
import os
import secrets
import socket
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engine.accounts.passwords import DEFAULT_USERNAME
from engine.assembly import Engine, open_engine
from engine.domain.providers import ProviderDraft, ProviderKind
from engine.errors import ConflictError, InputError, UnavailableError
from engine.providers.demo import MODEL as DEMO_MODEL
from engine.settings import ROOT, WEAK_SECRET_CHARACTERS, Settings
from engine.store import Database

DEMO_PROVIDER = "demo"

_DEMO_CONCURRENCY = 4
"""Few enough that the first run can be watched."""


class Prepared(NamedTuple):
    """What `prepare` found and did, for the person at the terminal."""

    facts: dict[str, str]
    admin_created: bool
    default_password: bool
    engine_holder: str
    """Who runs the engine of this database already, in words; empty when nobody does."""
    warnings: tuple[str, ...]


def write_env_file(path: Path) -> bool:
    """Write `.env` with a random token secret, readable by the owner only; False when there is one already."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", code="bad_env_file") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("# Written at the first start; .env.example explains every setting.\n")
        file.write(f"APP_ENV=test\nAUTH_TOKEN_SECRET={secrets.token_urlsafe(48)}\n")
    return True


def migrate(settings: Settings, *, down: int = 0) -> dict[str, str]:
    """Bring the schema up to this release, or `down` steps back; returns the database's facts."""
    database = Database(settings.database_url)
    try:
        if down:
            database.downgrade(down)
        else:
            database.migrate()
        return database.facts()
    finally:
        database.close()


def prepare(settings: Settings) -> Prepared:
    """Migrate, and in a new database create the default administrator and the demo provider. May be repeated."""
    require_sound_secret(settings)
    facts = migrate(settings)
    engine = open_engine(settings, run_worker=False, name="init-db")
    try:
        created = engine.accounts.ensure_default_admin()
        if created and not engine.stores.providers.page():
            engine.stores.providers.create(_demo_provider())
        return Prepared(
            facts=facts,
            admin_created=created,
            default_password=_default_password_unchanged(engine),
            engine_holder=_engine_holder(engine),
            warnings=tuple(_open_files(engine)),
        )
    finally:
        engine.close()


def backup(settings: Settings, target: Path) -> None:
    """Copy the database while it is in use. Raises InputError or UnavailableError."""
    database = Database(settings.database_url)
    try:
        database.check()
        database.backup(target)
    finally:
        database.close()


def require_sound_secret(settings: Settings) -> None:
    """Raises InputError `weak_secret` where tokens could be forged."""
    if len(settings.auth_token_secret.get_secret_value()) >= WEAK_SECRET_CHARACTERS:
        return
    if settings.is_production or settings.auth_token_secret.get_secret_value():
        raise InputError(
            f"AUTH_TOKEN_SECRET needs at least {WEAK_SECRET_CHARACTERS} random characters; "
            'make one with: python3 -c "import secrets; print(secrets.token_urlsafe(48))"',
            code="weak_secret",
        )


def require_address(settings: Settings, *, default_password: bool) -> None:
    """Raises InputError for an address that must not be served, ConflictError for one that is taken."""
    if not is_loopback(settings.host) and default_password:
        raise InputError(
            f"HOST={settings.host} would open the product to the network while the first password is unchanged; "
            "start on 127.0.0.1, change the password of gly, then set HOST",
            code="default_password",
        )
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise InputError(f"HOST={settings.host} is not an address of this machine", code="bad_host") from error
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise _unusable(settings, error) from error


def _unusable(settings: Settings, error: OSError) -> InputError | ConflictError:
    where = f"port {settings.port} on {settings.host}"
    if error.errno == errno.EADDRINUSE:
        return ConflictError(
            f"{where} is in use; stop what uses it, or set another one: PORT={settings.port + 1} make run",
            code="port_in_use",
        )
    if error.errno == errno.EACCES:
        return InputError(f"{where} needs more rights; set PORT to one above 1023", code="bad_port")
    return InputError(f"{where} cannot be served: {error.strerror}; set HOST to an address of this machine")


def server_command(settings: Settings) -> list[str]:
    """How Streamlit is started: interpreter, script and flags.

    Streamlit reads `.streamlit/config.toml` of the folder it is started in; ours goes along as flags, so that it holds
    in any folder. What safety depends on is set here, whatever a file says.
    """
    options = dict(_flat(tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))))
    options |= {
        "server.address": settings.host,
        "server.port": settings.port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.maxUploadSize": 64,
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.toolbarMode": "minimal",
        "browser.gatherUsageStats": False,
        "global.developmentMode": False,
        "runner.magicEnabled": False,
        "logger.hideWelcomeMessage": True,
    }
    flags = [part for name, value in options.items() for part in (f"--{name}", _text(value))]
    return [sys.executable, "-m", "streamlit", "run", str(ROOT / "dashboard" / "server.py"), *flags]


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options of nested tables under their dotted names; lists are left out, because a flag cannot carry one."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield prefix + name, value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _demo_provider() -> ProviderDraft:
    return ProviderDraft(
        name=DEMO_PROVIDER,
        kind=ProviderKind.DEMO,
        default_model=DEMO_MODEL,
        is_default=True,
        max_concurrency=_DEMO_CONCURRENCY,
    )


def _engine_holder(engine: Engine) -> str:
    if engine.try_lock():
        engine.unlock()
        return ""
    return engine.lock_holder or "another process"


def _default_password_unchanged(engine: Engine) -> bool:
    first = engine.stores.users.by_name(DEFAULT_USERNAME)
    return first is not None and first.must_change_password


def _open_files(engine: Engine) -> list[str]:
    """Files with secrets or results that others on the machine may read."""
    warnings = []
    for path in (engine.database.path, engine.vault.key_file, Path(".env")):
        if path is None or not path.exists():
            continue
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError as error:
            raise UnavailableError(f"{path.name} cannot be looked at: {error.strerror}") from error
        if mode & 0o077:
            warnings.append(f"{path.name} can be read by others (mode {mode:04o}); run: chmod 600 {path}")
    return warnings
