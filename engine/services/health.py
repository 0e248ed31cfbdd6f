"""Whether the product can work."""

from __future__ import annotations

from typing import Literal

from engine import __version__
from engine.assembly import Engine
from engine.domain.base import Model


class Health(Model):
    status: Literal["ok"]
    version: str
    database: Literal["ok"]
    engine: Literal["running", "locked_elsewhere"]


def report(engine: Engine) -> Health:
    """Open to everybody; says nothing about the installation but that it works.

    Raises:
        UnavailableError: the database does not answer, or the engine's thread has died.
    """
    engine.database.ping()
    if engine.worker is None:
        return Health(status="ok", version=__version__, database="ok", engine="locked_elsewhere")
    engine.worker.require_alive()
    return Health(status="ok", version=__version__, database="ok", engine="running")
