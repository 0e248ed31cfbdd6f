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
        UnavailableError: the database does not answer, or a thread of the engine has died.
    """
    engine.database.ping()
    engine.require_alive()
    state: Literal["running", "locked_elsewhere"] = "locked_elsewhere" if engine.worker is None else "running"
    return Health(status="ok", version=__version__, database="ok", engine=state)
