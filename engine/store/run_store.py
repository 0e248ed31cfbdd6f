"""Runs: frozen at creation, steered by their status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import to_json
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as insert_or

from engine.domain.base import Page, utc_now
from engine.domain.cases import Fixture, Instance
from engine.domain.chat import Dialect
from engine.domain.controls import ControlCase
from engine.domain.runs import (
    EndpointSettings,
    Run,
    RunConfig,
    RunDraft,
    RunStatus,
    Waiting,
)
from engine.errors import ConflictError, InputError
from engine.store import run_rows
from engine.store.database import Database
from engine.store.idempotency_store import KEY_LIFE, RUNS_ROUTE, IdempotencyKey, KeyStatus
from engine.store.run_rows import not_found
from engine.store.tables import blobs, executions, idempotency_keys, instances, run_blobs, runs

UNFINISHED = (RunStatus.PENDING, RunStatus.PROBING, RunStatus.RUNNING)
STARTED = (RunStatus.PROBING, RunStatus.RUNNING)

_FIXTURES = TypeAdapter(tuple[Fixture, ...])


class Reopened(NamedTuple):
    """What a run was before it was put back to pending."""

    status: RunStatus
    error: str | None


class RunStore:
    """One short transaction a call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        draft: RunDraft,
        *,
        instances: Sequence[Instance],
        blobs: Mapping[str, bytes],
        audited: frozenset[str] = frozenset(),
        idempotency: IdempotencyKey | None = None,
    ) -> Run:
        """Store the run, its plan in the order given, and its fixtures' bytes by SHA-256; all or nothing.

        `audited` are the instances whose verdict is put before a person even if the judges are sure of it.

        With `idempotency`, the run that the same user made with the same key and body in the last 24 hours is
        answered instead, as `created_by_key` does.

        Raises:
            InputError: code `idempotency_key_conflict`; the key was used with another body.
        """
        now = utc_now()
        with self._database.writing() as connection:
            if idempotency is not None:
                known = _run_of_key(connection, idempotency, now)
                if known is not None:
                    return run_rows.get(connection, known)
            run_id = _insert_run(connection, draft, total=len(instances), now=now)
            _insert_plan(connection, run_id, instances, audited)
            _insert_blobs(connection, run_id, blobs)
            if idempotency is not None:
                _keep_key(connection, idempotency, run_id=run_id, now=now)
            return run_rows.get(connection, run_id)

    def created_by_key(self, idempotency: IdempotencyKey) -> Run | None:
        """The run made with this key and body, or None when there is none yet.

        Raises:
            InputError: code `idempotency_key_conflict`; the key was used with another body.
        """
        with self._database.reading() as connection:
            known = _run_of_key(connection, idempotency, utc_now())
            return None if known is None else run_rows.get(connection, known)

    def get(self, run_id: int) -> Run:
        """Raises NotFoundError, code `run_not_found`."""
        with self._database.reading() as connection:
            return run_rows.get(connection, run_id)

    def page(
        self,
        *,
        status: RunStatus | None = None,
        profile: str | None = None,
        provider_id: int | None = None,
        ends: Mapping[int | None, RunStatus] | None = None,
        limit: int,
        offset: int,
    ) -> Page[Run]:
        """Newest first.

        `ends`: what runs that are unfinished here count as when `status` is asked for, by id; under None, all others.
        """
        wanted = [
            column == value
            for column, value in (
                (_status_as_shown(ends or {}), status),
                (runs.c.profile, profile),
                (runs.c.provider_id, provider_id),
            )
            if value is not None
        ]
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(runs).where(*wanted)) or 0
            rows = connection.execute(
                select(runs).where(*wanted).order_by(runs.c.id.desc()).limit(limit).offset(offset)
            ).all()
            return Page(items=tuple(run_rows.many(connection, rows)), total=total)

    def config(self, run_id: int) -> RunConfig:
        return RunConfig.model_validate_json(self._column(run_id, "config"))

    def fixtures(self, run_id: int) -> dict[str, Fixture]:
        """The frozen fixtures by `fixture_id`."""
        return {fixture.fixture_id: fixture for fixture in _FIXTURES.validate_json(self._column(run_id, "fixtures"))}

    def _column(self, run_id: int, name: str) -> str:
        with self._database.reading() as connection:
            found = connection.scalar(select(runs.c[name]).where(runs.c.id == run_id))
        if found is None:
            raise not_found(run_id)
        return str(found)

    def set_status(
        self, run_id: int, status: RunStatus, *, error: str | None = None, waiting: Waiting | None = None
    ) -> None:
        """Also replaces `error` and `waiting`; keeps the times of starting and finishing."""
        now = utc_now()
        values: dict[str, Any] = {
            "status": status.value,
            "error": error,
            "waiting": _waiting_json(waiting),
            "finished_at": now if status.is_over else None,
        }
        if status in STARTED:
            values["started_at"] = func.coalesce(runs.c.started_at, _literal_moment(now))
        self._update(run_id, values)

    def reopen(self, run_id: int, *, resuming: bool = False) -> Reopened | None:
        """Put a run that is over back to pending, for more work on it; with `resuming` only one that ended early.

        None when it is in no state for it. One of two callers wins.
        """
        wanted = [status.value for status in RunStatus if (status.is_resumable if resuming else status.is_over)]
        with self._database.writing() as connection:
            row = connection.execute(
                select(runs.c.status, runs.c.error).where(runs.c.id == run_id, runs.c.status.in_(wanted))
            ).first()
            if row is None:
                return None
            connection.execute(
                update(runs)
                .where(runs.c.id == run_id)
                .values(
                    status=RunStatus.PENDING.value,
                    error=None,
                    waiting=None,
                    finished_at=None,
                    cancel_requested_at=None,
                )
            )
            return Reopened(RunStatus(row.status), row.error)

    def set_judge(
        self,
        run_id: int,
        judge: EndpointSettings | None,
        *,
        prompt_version: str,
        prompts: Mapping[str, Any] | None = None,
        self_judged: bool,
        controls: Sequence[ControlCase] = (),
        distrusted_clauses: Sequence[str] = (),
        warnings: Sequence[str],
    ) -> None:
        """Who judges the run's answers from now on (None: rules alone) and the run's warnings as they then stand.

        Earlier judgements stay in their history.
        """
        changed = self.config(run_id).model_copy(
            update={
                "judge": judge,
                "judge_prompt_version": None if judge is None else prompt_version,
                "judge_prompts": None if judge is None else prompts,
                "self_judged": self_judged,
                "controls": tuple(controls),
                "distrusted_clauses": tuple(distrusted_clauses),
            }
        )
        values = {
            "config": changed.model_dump_json(),
            "judge_model": None if judge is None else judge.model,
            "judge_provider_id": None if judge is None else judge.provider_id,
            "warnings": _warnings_json(warnings),
        }
        self._update(run_id, values)

    def require(self, run_id: int) -> None:
        """Raises NotFoundError, code `run_not_found`; cheaper than `get`, which counts."""
        self._column(run_id, "status")

    def dialect(self, run_id: int) -> Dialect:
        """How the run's endpoint wants to be spoken to, as its probing found out."""
        return Dialect.model_validate_json(self._column(run_id, "dialect"))

    def set_dialect(
        self, run_id: int, dialect: Dialect, *, told: Sequence[str] = (), untrue: Sequence[str] = ()
    ) -> None:
        """With the warnings that tell of it, and without those it makes untrue."""
        with self._database.writing() as connection:
            warnings = [text for text in _warnings(connection, run_id) if text not in untrue]
            values = {
                "dialect": dialect.model_dump_json(),
                "warnings": _warnings_json([*warnings, *(text for text in told if text not in warnings)]),
            }
            connection.execute(update(runs).where(runs.c.id == run_id).values(**values))

    def set_capabilities(self, run_id: int, capabilities: Mapping[str, bool | None]) -> None:
        self._update(run_id, {"capabilities": json.dumps(dict(capabilities))})

    def add_warning(self, run_id: int, warning: str) -> None:
        """Once; the same warning again changes nothing."""
        with self._database.writing() as connection:
            warnings = _warnings(connection, run_id)
            if warning not in warnings:
                text = _warnings_json([*warnings, warning])
                connection.execute(update(runs).where(runs.c.id == run_id).values(warnings=text))

    def set_waiting(self, run_id: int, waiting: Waiting | None) -> None:
        self._update(run_id, {"waiting": _waiting_json(waiting)})

    def interrupt_unfinished(self, error: str) -> list[int]:
        """Call every run that is not over interrupted; their ids, oldest first. Old cancel requests lapse."""
        with self._database.writing() as connection:
            found = connection.scalars(
                update(runs)
                .where(runs.c.status.in_(UNFINISHED))
                .values(
                    status=RunStatus.INTERRUPTED.value,
                    error=error,
                    waiting=None,
                    finished_at=utc_now(),
                    cancel_requested_at=None,
                )
                .returning(runs.c.id)
            ).all()
        return sorted(found)

    def request_cancel(self, run_id: int) -> None:
        """Leave a request that the engine obeys; it may run in another process."""
        self._update(run_id, {"cancel_requested_at": utc_now()})

    def cancel_requests(self) -> set[int]:
        """Runs that are not over and that somebody wants cancelled."""
        with self._database.reading() as connection:
            return set(
                connection.scalars(
                    select(runs.c.id).where(runs.c.cancel_requested_at.is_not(None), runs.c.status.in_(UNFINISHED))
                )
            )

    def clear_cancel(self, run_id: int) -> None:
        self._update(run_id, {"cancel_requested_at": None})

    def delete(self, run_id: int) -> None:
        """With its results, reviews and the bytes nobody else uses.

        Raises:
            NotFoundError: code `run_not_found`.
            ConflictError: code `run_not_terminal`; the run is not over.
        """
        with self._database.writing() as connection:
            status = connection.scalar(select(runs.c.status).where(runs.c.id == run_id))
            if status is None:
                raise not_found(run_id)
            if not RunStatus(status).is_over:
                raise ConflictError(f"run {run_id} is {status}; cancel it first", code="run_not_terminal")
            used = select(run_blobs.c.sha256).where(run_blobs.c.run_id == run_id)
            hashes = list(connection.scalars(used))
            connection.execute(delete(runs).where(runs.c.id == run_id))
            still_used = exists().where(run_blobs.c.sha256 == blobs.c.sha256)
            for sha256 in hashes:
                connection.execute(delete(blobs).where(blobs.c.sha256 == sha256, ~still_used))

    def uses_provider(self, provider_id: int) -> bool:
        """Whether a run that is not over asks this provider, as the model under test or as the judge."""
        with self._database.reading() as connection:
            return provider_in_use(connection, provider_id)

    def _update(self, run_id: int, values: Mapping[str, Any]) -> None:
        with self._database.writing() as connection:
            if connection.execute(update(runs).where(runs.c.id == run_id).values(**values)).rowcount == 0:
                raise not_found(run_id)


def provider_in_use(connection: Connection, provider_id: int) -> bool:
    return bool(
        connection.scalar(
            select(
                exists().where(
                    runs.c.status.in_(UNFINISHED),
                    or_(runs.c.provider_id == provider_id, runs.c.judge_provider_id == provider_id),
                )
            )
        )
    )


def _status_as_shown(ends: Mapping[int | None, RunStatus]) -> ColumnElement[str]:
    if not ends:
        return runs.c.status
    unfinished = runs.c.status.in_(UNFINISHED)
    known = [(and_(unfinished, runs.c.id == run_id), end.value) for run_id, end in ends.items() if run_id is not None]
    others = [(unfinished, ends[None].value)] if None in ends else []
    return case(*known, *others, else_=runs.c.status)


def require_run(connection: Connection, run_id: int) -> None:
    """Raises NotFoundError, code `run_not_found`."""
    if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
        raise not_found(run_id)


def _warnings(connection: Connection, run_id: int) -> list[str]:
    row = connection.execute(select(runs.c.warnings).where(runs.c.id == run_id)).first()
    if row is None:
        raise not_found(run_id)
    return list(json.loads(row.warnings))


def _warnings_json(warnings: Sequence[str]) -> str:
    return to_json(tuple(warnings)).decode()


def _literal_moment(moment: datetime) -> Any:
    return bindparam(None, moment, type_=runs.c.started_at.type)


def _waiting_json(waiting: Waiting | None) -> str | None:
    # As JSON for people, a time would lose its microseconds.
    return None if waiting is None else to_json(waiting.model_dump()).decode()


def _run_of_key(connection: Connection, idempotency: IdempotencyKey, now: datetime) -> int | None:
    row = connection.execute(
        select(idempotency_keys.c.body_hash, idempotency_keys.c.run_id).where(
            idempotency_keys.c.user_id == idempotency.user_id,
            idempotency_keys.c.route == RUNS_ROUTE,
            idempotency_keys.c.key == idempotency.key,
            idempotency_keys.c.created_at > now - KEY_LIFE,
        )
    ).first()
    if row is None:
        return None
    if row.body_hash != idempotency.body_hash:
        raise InputError(
            "this Idempotency-Key was used with another request; use a new key", code="idempotency_key_conflict"
        )
    return int(row.run_id)


def _keep_key(connection: Connection, idempotency: IdempotencyKey, *, run_id: int, now: datetime) -> None:
    connection.execute(delete(idempotency_keys).where(idempotency_keys.c.created_at <= now - KEY_LIFE))
    connection.execute(
        insert(idempotency_keys).values(
            user_id=idempotency.user_id,
            route=RUNS_ROUTE,
            key=idempotency.key,
            body_hash=idempotency.body_hash,
            status=KeyStatus.DONE.value,
            run_id=run_id,
            created_at=now,
        )
    )


def _insert_run(connection: Connection, draft: RunDraft, *, total: int, now: datetime) -> int:
    judge = draft.config.judge
    inserted = connection.execute(
        insert(runs).values(
            **draft.model_dump(exclude={"config", "fixtures", "warnings"}),
            status=RunStatus.PENDING.value,
            judge_provider_id=None if judge is None else judge.provider_id,
            total_count=total,
            created_at=now,
            capabilities="{}",
            dialect="{}",
            warnings=_warnings_json(draft.warnings),
            config=draft.config.model_dump_json(),
            fixtures=to_json(draft.fixtures).decode(),
        )
    )
    key = inserted.inserted_primary_key
    assert key is not None
    return int(key[0])


def _insert_plan(connection: Connection, run_id: int, plan: Sequence[Instance], audited: frozenset[str]) -> None:
    if not plan:
        return
    connection.execute(
        insert(executions),
        [
            {
                "run_id": run_id,
                "position": position,
                "instance_id": instance.instance_id,
                "case_id": instance.case_id,
                "clause": instance.clause,
                "mode": instance.mode.value,
                "language": instance.language,
                "severity": instance.severity.value,
                "audit": instance.instance_id in audited,
                "attempts": 0,
            }
            for position, instance in enumerate(plan)
        ],
    )
    ids = connection.scalars(
        select(executions.c.id).where(executions.c.run_id == run_id).order_by(executions.c.position)
    ).all()
    connection.execute(
        insert(instances),
        [
            {
                "execution_id": execution_id,
                "question": "\n".join((instance.title, *(turn.text for turn in instance.turns))),
                "body": instance.model_dump_json(),
            }
            for execution_id, instance in zip(ids, plan, strict=True)
        ],
    )


def _insert_blobs(connection: Connection, run_id: int, contents: Mapping[str, bytes]) -> None:
    if not contents:
        return
    connection.execute(
        insert_or(blobs).on_conflict_do_nothing(),
        [{"sha256": sha256, "content": content} for sha256, content in contents.items()],
    )
    connection.execute(insert(run_blobs), [{"run_id": run_id, "sha256": sha256} for sha256 in contents])
