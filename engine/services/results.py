"""Look at what came of a run's instances."""

from __future__ import annotations

from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Model, Page
from engine.domain.runs import Result, ResultDetail, ResultFilter


class ErrorKind(Model):
    """Execution errors of one code, and the first message of them."""

    code: str
    count: int
    message: str


def page(
    engine: Engine, run_id: int, where: ResultFilter, *, actor: User, limit: int = 50, offset: int = 0
) -> Page[Result]:
    """Results in plan order. Raises NotFoundError `run_not_found`."""
    actor.require(Permission.READ)
    engine.stores.runs.require(run_id)
    return engine.stores.results.page(run_id, where, limit=limit, offset=offset)


def get(engine: Engine, run_id: int, execution_id: int, *, actor: User) -> ResultDetail:
    """One result with its whole history. Raises NotFoundError `run_not_found` or `result_not_found`."""
    actor.require(Permission.READ)
    engine.stores.runs.require(run_id)
    return engine.stores.results.get(run_id, execution_id)


def facets(engine: Engine, run_id: int, where: ResultFilter, *, actor: User) -> dict[str, dict[str, int]]:
    """How many results each value of each filter would leave, the other filters applied."""
    actor.require(Permission.READ)
    return engine.stores.results.facets(run_id, where)


def skipped(engine: Engine, run_id: int, *, actor: User) -> dict[str, int]:
    """Reason (such as `no vision`) and how many instances were skipped for it."""
    actor.require(Permission.READ)
    return engine.stores.results.skipped(run_id)


def errors(engine: Engine, run_id: int, *, actor: User) -> list[ErrorKind]:
    """Execution errors by code, the commonest first."""
    actor.require(Permission.READ)
    kinds = engine.stores.results.errors(run_id)
    return [ErrorKind(code=code, count=count, message=message) for code, count, message in kinds]


def fixture(engine: Engine, run_id: int, sha256: str, *, actor: User) -> bytes:
    """The frozen bytes of a fixture that the run used. Raises NotFoundError."""
    actor.require(Permission.READ)
    return engine.stores.blobs.of_run(run_id, sha256)
