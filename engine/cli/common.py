"""What every command needs: exit codes, settings, the engine, and a way to refuse wrong use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from engine.cli.ending import ending
from engine.errors import InputError

if TYPE_CHECKING:
    from engine.assembly import Engine
    from engine.domain.accounts import User
    from engine.domain.providers import Provider
    from engine.domain.runs import EndpointSettings
    from engine.settings import Settings

DONE, FINDINGS, WRONG_USE, NOT_DONE, INTERRUPTED = 0, 1, 2, 3, 130

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
RunId = Annotated[int, typer.Argument(metavar="RUN", help="The run's number.")]


def wrong_use(message: str) -> NoReturn:
    """Exit 2 with these words."""
    raise InputError(message, code="wrong_use")


def load_settings() -> Settings:
    """The settings of this process, with logging set up by them."""
    from engine import settings
    from engine.assembly import configure_logging

    loaded = settings.load()
    configure_logging(loaded)
    return loaded


@contextlib.contextmanager
def opened_engine(name: str, *, worker: bool) -> Iterator[tuple[Engine, User]]:
    """The engine and who the command line acts as; with `worker`, exit 3 when another process has the lock.

    With `worker`, signals are only taken note of: see `ending`.
    """
    from engine.assembly import command_line_user, open_engine

    with ending.noted() if worker else contextlib.nullcontext():
        engine = open_engine(load_settings(), run_worker=worker, name=name)
        try:
            if worker:
                engine.require_worker()
                ending.look()
            yield engine, command_line_user()
        finally:
            engine.close()


def provider_named(engine: Engine, name: str) -> Provider:
    """A configured provider."""
    from engine.assembly import command_line_user
    from engine.services import providers

    return providers.by_name(engine, name, actor=command_line_user())


def endpoint_given(
    settings: Settings, url: str, kind: str, key_variable: str | None, model: str | None, concurrency: int | None = None
) -> EndpointSettings:
    """An endpoint named by options instead of by a configured provider."""
    from urllib.parse import urlsplit

    from engine import providers
    from engine.domain.runs import EndpointSettings

    if kind not in providers.PROVIDERS:
        wrong_use(f"no kind of provider named {kind!r}; known: {', '.join(sorted(providers.PROVIDERS))}")
    if model is None:
        wrong_use("--base-url needs --model, the name of the model to examine")
    if key_variable is not None and key_variable not in os.environ:
        wrong_use(f"--api-key-env: the environment variable {key_variable} is not set")
    address = providers.check_base_url(url, settings.allowed_hosts, kind=kind)
    return EndpointSettings(
        provider_id=None,
        name=urlsplit(address).netloc,
        kind=kind,
        base_url=address,
        model=model,
        max_concurrency=concurrency or 8,
        timeout_s=settings.request_timeout_seconds,
        api_key_env=key_variable,
    )
