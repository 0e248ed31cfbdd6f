"""Commands that set up, keep and serve an installation."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.common import load_settings


def init_db() -> None:
    """Create or upgrade the database; in a new one make the first account and the demo provider."""
    from engine.services import installation

    settings = load_settings()
    prepared = installation.prepare(settings)
    _say_prepared(prepared)


def migrate(down: Annotated[int, typer.Option(help="Go back so many steps instead.", min=0)] = 0) -> None:
    """Bring the database's schema up to this release; creates no account."""
    from engine.services import installation

    facts = installation.migrate(load_settings(), down=down)
    typer.echo("database: " + _facts(facts))


def backup(file: Annotated[Path, typer.Argument(help="Where the copy goes.")]) -> None:
    """Copy the database, also while the server runs. The key file beside it is not copied."""
    from engine.services import installation

    installation.backup(load_settings(), file)
    typer.echo(f"backed up to {file}")


def serve() -> None:
    """Set everything up and serve dashboard, API and engine on one address (HOST, PORT)."""
    from engine.services import installation

    env_file = Path(".env")
    if "AUTH_TOKEN_SECRET" not in os.environ and installation.write_env_file(env_file):
        typer.echo(f"wrote {env_file} with APP_ENV=test and a random AUTH_TOKEN_SECRET (readable by you only)")
    settings = load_settings()
    prepared = installation.prepare(settings)
    _say_prepared(prepared)
    installation.require_address(settings, default_password=prepared.default_password)
    for number in (signal.SIGTERM, signal.SIGINT):
        # A handler of ours that is due when the server takes this process over would be lost with the signal.
        signal.signal(number, signal.SIG_DFL)
    typer.echo("")
    typer.echo(f"  Magistrate: http://{_shown_host(settings.host)}:{settings.port}")
    if prepared.default_password:
        typer.echo("  first sign-in: gly / maxta2026 (change it under Account)")
    if prepared.engine_holder:
        typer.echo(f"  without an engine: {prepared.engine_holder} runs it; start and steer runs there")
    typer.echo("  stop with Ctrl-C")
    typer.echo("")
    sys.stdout.flush()
    command = installation.server_command(settings)
    os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell


def _say_prepared(prepared: Any) -> None:
    typer.echo("database: " + _facts(prepared.facts))
    if prepared.admin_created:
        typer.echo("created the administrator gly and the demo provider")
    for warning in prepared.warnings:
        typer.echo(f"warning: {warning}", err=True)


def _facts(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
