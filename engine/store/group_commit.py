"""Results that arrive within a few milliseconds share one transaction, and so one wait for the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from pydantic_core import to_json
from sqlalchemy import Connection, bindparam, case, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from engine.domain.runs import Attempt, ExecutionStatus
from engine.domain.verdicts import JudgeKind, Judgement, Verdict
from engine.errors import ConflictError, EngineError, InputError, UnavailableError
from engine.store.database import Database
from engine.store.tables import attempts, executions, judgements, transcripts

BATCH = 512
"""The most results in one transaction; more wait for the next."""

LINGER_S = 0.02
"""How long a verdict by rules waits for an answer whose transaction it can share. Nobody waits for it, and it is made
anew from the stored answer after a crash."""

COMPANY_S = 0.002
"""How long what was paid for, an answer or an opinion, waits for one more of its kind; two wait for nothing. Where
answers come some milliseconds apart, not each has a transaction to itself then. Its call is under way until the commit.
"""

Values = dict[str, Any]

_INSERT_ATTEMPT = insert(attempts)
_INSERT_TRANSCRIPT = insert(transcripts)
_COUNT_ATTEMPT = (
    update(executions)
    .where(
        executions.c.id == bindparam("id_"),
        executions.c.attempts == bindparam("before"),
        executions.c.skip_reason.is_(None),
    )
    .values(
        attempts=bindparam("number_"),
        # Shown is the newest attempt that answered, else the newest.
        shown_attempt=case(
            (bindparam("answered_", type_=executions.c.attempts.type) == 1, bindparam("number_")),
            (
                exists().where(
                    attempts.c.execution_id == executions.c.id,
                    attempts.c.execution_status == ExecutionStatus.COMPLETED.value,
                ),
                executions.c.shown_attempt,
            ),
            else_=bindparam("number_"),
        ),
    )
)
_CONCLUDE = (
    update(attempts)
    .where(
        attempts.c.execution_id == bindparam("id_"),
        attempts.c.number == bindparam("number_"),
        attempts.c.execution_status == ExecutionStatus.COMPLETED.value,
    )
    .values(automatic_verdict=bindparam("verdict_"), rounds=attempts.c.rounds + 1)
)
_INSERT_JUDGEMENT = insert(judgements).values(
    round=select(attempts.c.rounds)
    .where(attempts.c.execution_id == bindparam("id_"), attempts.c.number == bindparam("number_"))
    .scalar_subquery()
)


@dataclass(slots=True, eq=False)
class _Answered:
    """A new attempt on its way to the disk."""

    future: Future[None]
    execution_id: int
    attempt: Attempt

    is_paid = True

    def rows(self, rows: _Rows) -> None:
        attempt, key = self.attempt, self.execution_id
        rows.attempts.append(
            {
                "execution_id": key,
                "number": attempt.number,
                "execution_status": attempt.execution_status.value,
                "automatic_verdict": None if attempt.automatic_verdict is None else attempt.automatic_verdict.value,
                "rounds": 1 if attempt.judgements else 0,
                "latency_ms": attempt.latency_ms,
                "tries": attempt.tries,
                "served_model": attempt.served_model,
                "error_code": None if attempt.error is None else attempt.error.code,
                "error_message": None if attempt.error is None else attempt.error.message,
                "created_at": attempt.created_at,
            }
        )
        output = attempt.output
        rows.transcripts.append(
            {
                "execution_id": key,
                "number": attempt.number,
                "answer": None if output is None else output.text,
                "output": None if output is None else output.model_dump_json(exclude={"text"}),
                "usage": None if attempt.usage is None else attempt.usage.model_dump_json(),
                "messages": to_json(attempt.messages).decode(),
                "reasoning": attempt.reasoning,
            }
        )
        rows.counts.append(
            {
                "id_": key,
                "before": attempt.number - 1,
                "number_": attempt.number,
                "answered_": int(attempt.execution_status is ExecutionStatus.COMPLETED),
            }
        )
        rows.judgements.extend(_judgement_rows(key, attempt.number, attempt.judgements))

    def refused(self) -> EngineError:
        return ConflictError(
            f"attempt {self.attempt.number} of execution {self.execution_id} is not the next one, or it was skipped",
            code="attempt_conflict",
        )


@dataclass(slots=True, eq=False)
class _Judged:
    """A conclusion and its trail on their way to the disk."""

    future: Future[None]
    execution_id: int
    number: int
    verdict: Verdict | None
    judgements: Sequence[Judgement]

    @property
    def is_paid(self) -> bool:
        return any(judgement.judge is JudgeKind.LLM for judgement in self.judgements)

    def rows(self, rows: _Rows) -> None:
        rows.conclusions.append(
            {
                "id_": self.execution_id,
                "number_": self.number,
                "verdict_": None if self.verdict is None else self.verdict.value,
            }
        )
        rows.judgements.extend(_judgement_rows(self.execution_id, self.number, self.judgements))

    def refused(self) -> EngineError:
        return ConflictError(
            f"attempt {self.number} of execution {self.execution_id} has no answer to judge", code="attempt_conflict"
        )


_Item = _Answered | _Judged


class _Rows:
    """Parameters of the statements of one transaction, in the order in which they must be run."""

    __slots__ = ("attempts", "conclusions", "counts", "judgements", "transcripts")

    def __init__(self) -> None:
        self.attempts: list[Values] = []
        self.transcripts: list[Values] = []
        self.counts: list[Values] = []
        self.conclusions: list[Values] = []
        self.judgements: list[Values] = []

    def write(self, connection: Connection) -> bool:
        """Whether every row found its place.

        Raises:
            IntegrityError: a row clashes with the database.
        """
        if self.attempts:
            connection.execute(_INSERT_ATTEMPT, self.attempts)
            connection.execute(_INSERT_TRANSCRIPT, self.transcripts)
            if connection.execute(_COUNT_ATTEMPT, self.counts).rowcount != len(self.counts):
                return False
        if self.conclusions and connection.execute(_CONCLUDE, self.conclusions).rowcount != len(self.conclusions):
            return False
        if self.judgements:
            connection.execute(_INSERT_JUDGEMENT, self.judgements)
        return True


def _judgement_rows(execution_id: int, number: int, trail: Sequence[Judgement]) -> Iterator[Values]:
    for position, judgement in enumerate(trail):
        yield {
            "id_": execution_id,
            "number_": number,
            "execution_id": execution_id,
            "number": number,
            "position": position,
            "judge": judgement.judge.value,
            "verdict": None if judgement.verdict is None else judgement.verdict.value,
            "confidence": judgement.confidence,
            "reason": judgement.reason,
            "detail": None if judgement.detail is None else to_json(judgement.detail).decode(),
        }


class GroupCommit:
    """Writes results in its own thread. A future is done when its result is on the disk, not before.

    A future fails alone with InputError `unstorable_value` (text that is no valid Unicode) or ConflictError
    `attempt_conflict` (not the next attempt, or nothing to judge), and with its whole batch with UnavailableError
    `storage_full` or `database_unavailable`; then nothing of the batch was written, and the next batch is tried.

    Args:
        database: Where to.
        milestone: Called with `committing` in the full transaction and with `committed` when it is through, before
            anybody is told; tests end the process there.
        linger_s: See LINGER_S.
        company_s: See COMPANY_S.
    """

    def __init__(
        self,
        database: Database,
        *,
        milestone: Callable[[str], None] | None = None,
        linger_s: float = LINGER_S,
        company_s: float = COMPANY_S,
    ) -> None:
        self._database = database
        self._linger_s = linger_s
        self._company_s = company_s
        self._milestone = milestone or _pass
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._door = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="group-commit", daemon=True)
        self.commits = 0
        """Transactions so far."""

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self, *, wait_s: float | None = None) -> None:
        """Write what was handed in, then end. Later calls are refused.

        With `wait_s` the caller waits no longer than that: where another program holds the database, what could not be
        written is lost with the process, as in a crash.
        """
        with self._door:
            if self._stopped:
                return
            self._stopped = True
            self._queue.put(None)
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(wait_s)

    def answered(self, execution_id: int, attempt: Attempt) -> Future[None]:
        """Store a new attempt. Its number is the execution's count of attempts plus one."""
        return self._submit(_Answered(Future(), execution_id, attempt))

    def judged(
        self,
        execution_id: int,
        attempt_number: int,
        *,
        verdict: Verdict | None,
        judgements: Sequence[Judgement],
    ) -> Future[None]:
        """Store a conclusion about an answer and how it came about. Judging again replaces what is shown."""
        return self._submit(_Judged(Future(), execution_id, attempt_number, verdict, judgements))

    def _submit(self, item: _Item) -> Future[None]:
        # An answer that was paid for is written even if whoever waits for it is cancelled.
        item.future.set_running_or_notify_cancel()
        with self._door:
            if not self._stopped:
                self._queue.put(item)
                return item.future
        item.future.set_exception(
            UnavailableError("the writer has stopped; start the engine anew", code="engine_stopped")
        )
        return item.future

    def _work(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._gathered()
            if batch:
                self._commit(batch)

    def _gathered(self) -> tuple[list[_Item], bool]:
        """What goes into the next transaction, and whether it is the last."""
        batch: list[_Item] = []
        item = self._queue.get()
        until = time.monotonic() + self._linger_s
        paid = 0
        while item is not None:
            batch.append(item)
            if item.is_paid:
                paid += 1
                until = min(until, time.monotonic() + self._company_s)
            left_s = until - time.monotonic() if paid < 2 else 0.0
            if len(batch) == BATCH:
                break
            try:
                item = self._queue.get(timeout=left_s) if left_s > 0 else self._queue.get_nowait()
            except Empty:
                break
        return batch, item is None

    def _commit(self, batch: list[_Item]) -> None:
        failed: dict[_Item, Exception] = {}
        try:
            try:
                with self._database.writing() as connection:
                    for part in _parts(batch):
                        _write_whole(connection, part)
                    self._milestone("committing")
            except _RefusedError:
                # Something does not fit. All of it is written anew, with care, so that only that is left out.
                with self._database.writing() as connection:
                    for part in _parts(batch):
                        _write(connection, part, failed)
                    self._milestone("committing")
        except Exception as error:  # noqa: BLE001 - whatever it is, it goes to those who wait, and the thread lives on
            for item in batch:
                item.future.set_exception(error)
            return
        self.commits += 1
        self._milestone("committed")
        for item in batch:
            if item in failed:
                item.future.set_exception(failed[item])
            else:
                item.future.set_result(None)


def _pass(_milestone: str) -> None:
    """Nobody wants to know."""


def _parts(batch: list[_Item]) -> Iterator[list[_Item]]:
    """Split where an execution comes up a second time in the same kind: one statement must not meet it twice."""
    part: list[_Item] = []
    seen: set[tuple[type[_Item], int]] = set()
    for item in batch:
        key = (type(item), item.execution_id)
        if key in seen:
            yield part
            part, seen = [], set()
        part.append(item)
        seen.add(key)
    yield part


class _RefusedError(Exception):
    """Something of a batch cannot be written."""


def _write_whole(connection: Connection, items: Sequence[_Item]) -> None:
    """Without savepoints, which would cost a small batch more than its rows do. Raises _RefusedError."""
    rows = _Rows()
    try:
        for item in items:
            item.rows(rows)
        written = rows.write(connection)
    except (IntegrityError, ValueError, OverflowError) as error:
        raise _RefusedError from error
    if not written:
        raise _RefusedError


def _write(connection: Connection, items: Sequence[_Item], failed: dict[_Item, Exception]) -> None:
    """All at once; if something does not fit, one by one, so that it fails alone."""
    error = _try(connection, items)
    if error is None:
        return
    if len(items) == 1:
        failed[items[0]] = error
        return
    for item in items:
        _write(connection, [item], failed)


def _try(connection: Connection, items: Sequence[_Item]) -> EngineError | None:
    """What is wrong with one of the items; then none of them is written."""
    rows = _Rows()
    try:
        for item in items:
            item.rows(rows)
    except ValueError:
        return _unstorable(items[0])
    connection.exec_driver_sql("SAVEPOINT items")
    try:
        error = None if rows.write(connection) else items[0].refused()
    except IntegrityError:
        error = items[0].refused()
    except (ValueError, OverflowError):
        error = _unstorable(items[0])
    if error is not None:
        connection.exec_driver_sql("ROLLBACK TO items")
    connection.exec_driver_sql("RELEASE items")
    return error


def _unstorable(item: _Item) -> EngineError:
    return InputError(
        f"the result of execution {item.execution_id} holds text or numbers that cannot be stored",
        code="unstorable_value",
    )
