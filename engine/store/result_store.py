"""Results: what came of each planned instance, as lists, one by one, and as counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    union_all,
    update,
)

from engine.domain.base import Page
from engine.domain.cases import Instance
from engine.domain.runs import (
    Answered,
    ClauseCounts,
    Execution,
    ExecutionStatus,
    QueueItem,
    Result,
    ResultDetail,
    ResultFilter,
    RunStatus,
)
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import InputError, NotFoundError
from engine.store import result_rows
from engine.store.database import Database
from engine.store.run_store import require_run
from engine.store.shown import DECISIVE, effective_verdict, with_shown_attempt
from engine.store.tables import (
    IS_AUDITED,
    WAITS_FOR_A_PERSON,
    attempts,
    executions,
    instances,
    reviews,
    runs,
    transcripts,
)

NO_VERDICT = "none"
"""The word for a null verdict in filters and facets."""

LONGEST_SEARCH = 1000
"""Characters of a search text; SQLite refuses much longer patterns."""

IDS_AT_ONCE = 5000
"""Parameters of one statement; SQLite allows some 32,000."""

_GOLDEN, _WHOLE = 2_654_435_761, 2**32
"""Multiples of the golden section of a whole, taken modulo the whole, lie evenly; ordered by them, neighbours part."""

BATCH = 100
"""Results held in memory at a time while streaming."""


class ResultStore:
    """One short transaction a call; `stream` alone holds its snapshot for as long as it is read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pending(self, run_id: int) -> list[Execution]:
        """Planned, not skipped and not yet tried, in plan order."""
        query = _with_instances(
            executions.c.run_id == run_id,
            executions.c.shown_attempt.is_(None),
            executions.c.skip_reason.is_(None),
        )
        with self._database.reading() as connection:
            return [_execution(row) for row in connection.execute(query)]

    def skip(self, run_id: int, reasons: Mapping[int, str]) -> None:
        """Say why executions (by id) cannot be tried. One that was tried already stays as it is."""
        if not reasons:
            return
        statement = (
            update(executions)
            .where(
                executions.c.run_id == run_id,
                executions.c.id == bindparam("skipped_id"),
                executions.c.shown_attempt.is_(None),
            )
            .values(skip_reason=bindparam("reason"))
        )
        with self._database.writing() as connection:
            connection.execute(
                statement, [{"skipped_id": key, "reason": reason} for key, reason in sorted(reasons.items())]
            )

    def skipped(self, run_id: int) -> dict[str, int]:
        """How many were skipped, by reason, the commonest first."""
        count = func.count().label("n")
        query = (
            select(executions.c.skip_reason, count)
            .where(executions.c.run_id == run_id, executions.c.skip_reason.is_not(None))
            .group_by(executions.c.skip_reason)
            .order_by(count.desc(), executions.c.skip_reason)
        )
        with self._database.reading() as connection:
            return {row.skip_reason: row.n for row in connection.execute(query)}

    def pending_ids(self, run_id: int) -> list[int]:
        """Executions that are planned, not skipped and not yet tried, in plan order."""
        query = (
            select(executions.c.id)
            .where(
                executions.c.run_id == run_id,
                executions.c.shown_attempt.is_(None),
                executions.c.skip_reason.is_(None),
            )
            .order_by(executions.c.id)
        )
        with self._database.reading() as connection:
            return list(connection.scalars(query))

    def failed(self, run_id: int) -> list[int]:
        """Executions whose shown attempt is an execution error, in plan order."""
        query = (
            select(executions.c.id)
            .select_from(with_shown_attempt())
            .where(executions.c.run_id == run_id, attempts.c.execution_status == ExecutionStatus.ERROR.value)
            .order_by(executions.c.id)
        )
        with self._database.reading() as connection:
            return list(connection.scalars(query))

    def planned(self, execution_ids: Sequence[int]) -> list[Execution]:
        """These executions, in plan order."""
        found: list[Execution] = []
        with self._database.reading() as connection:
            for some in _some(execution_ids):
                rows = connection.execute(_with_instances(executions.c.id.in_(some)))
                found.extend(_execution(row) for row in rows)
        return found

    def to_judge(self, run_id: int, *, only_missing: bool) -> list[int]:
        """Executions whose shown attempt answered, in plan order; with `only_missing` those without a verdict."""
        query = (
            select(executions.c.id)
            .select_from(with_shown_attempt())
            .where(executions.c.run_id == run_id, attempts.c.execution_status == ExecutionStatus.COMPLETED.value)
            .order_by(executions.c.id)
        )
        if only_missing:
            query = query.where(attempts.c.automatic_verdict.is_(None))
        with self._database.reading() as connection:
            return list(connection.scalars(query))

    def answered(self, execution_ids: Sequence[int]) -> list[Answered]:
        """The shown attempts of executions that were tried, in plan order; all in memory, so ask for some at a time."""
        with self._database.reading() as connection:
            rows = connection.execute(_with_instances(executions.c.id.in_(execution_ids))).all()
            found = result_rows.attempts_of(connection, execution_ids)
        return [
            Answered(
                execution=_execution(row),
                attempt=next(attempt for attempt in found[row.id] if attempt.number == row.shown_attempt),
            )
            for row in rows
        ]

    def page(self, run_id: int, where: ResultFilter, *, limit: int, offset: int) -> Page[Result]:
        """In plan order.

        Raises:
            NotFoundError: code `run_not_found`.
            InputError: code `bad_filter`; `where.verdict` is no verdict and not `none`, or `where.q` is too long.
        """
        matching = _matching(run_id, where)
        with self._database.reading() as connection:
            require_run(connection, run_id)
            total = connection.scalar(matching.with_only_columns(func.count())) or 0
            ids = connection.scalars(
                matching.with_only_columns(executions.c.id).order_by(executions.c.position).limit(limit).offset(offset)
            ).all()
            return Page(items=tuple(result_rows.results(connection, ids, Result)), total=total)

    def get(self, run_id: int, execution_id: int) -> ResultDetail:
        """Raises NotFoundError, code `result_not_found`: no such execution in this run, or not tried yet."""
        with self._database.reading() as connection:
            _require_result(connection, run_id, execution_id)
            return result_rows.details(connection, [execution_id])[0]

    def require(self, run_id: int, execution_id: int) -> None:
        """Raises NotFoundError as `get` does."""
        with self._database.reading() as connection:
            _require_result(connection, run_id, execution_id)

    def stream(self, run_id: int, where: ResultFilter) -> Iterator[ResultDetail]:
        """In plan order, some at a time, all from one snapshot: what is written meanwhile is not in it.

        With the rollback journal (see `Database.journal_mode`) a long read would hold up every writer, so there each
        batch is a snapshot of its own.

        Raises:
            NotFoundError: code `run_not_found`, at once.
            InputError: code `bad_filter`, at once.
        """
        matching = _matching(run_id, where)
        with self._database.reading() as connection:
            require_run(connection, run_id)
        return self._stream(matching)

    def _stream(self, matching: Select[Any]) -> Iterator[ResultDetail]:
        position: int | None = -1
        if self._database.journal_mode == "wal":
            with self._database.reading() as connection:
                while position is not None:
                    batch, position = _batch(connection, matching, after=position)
                    yield from batch
        while position is not None:
            with self._database.reading() as connection:
                batch, position = _batch(connection, matching, after=position)
            yield from batch

    def facets(self, run_id: int, where: ResultFilter) -> dict[str, dict[str, int]]:
        """For `verdict`, `execution_status`, `clause` and `mode`: how many results each value would leave, all other
        conditions kept. A null verdict counts as `none`."""
        query = _matching(run_id, ResultFilter(q=where.q))
        effective = func.coalesce(effective_verdict(), NO_VERDICT).label("verdict")
        columns = (effective, attempts.c.execution_status, executions.c.clause, executions.c.mode)
        with self._database.reading() as connection:
            require_run(connection, run_id)
            counted = connection.execute(
                query.with_only_columns(*columns, func.count().label("n")).group_by(*columns)
            ).all()
        wanted = {
            "verdict": _verdict_word(where),
            "execution_status": where.execution_status,
            "clause": where.clause,
            "mode": where.mode,
        }
        facets: dict[str, dict[str, int]] = {}
        for name in wanted:
            others = [(other, value) for other, value in wanted.items() if other != name and value is not None]
            counts: Counter[str] = Counter()
            for row in counted:
                values = row._mapping
                if all(values[other] == value for other, value in others):
                    counts[values[name]] += row.n
            facets[name] = dict(sorted(counts.items()))
        return facets

    def by_clause(self, run_id: int) -> list[ClauseCounts]:
        """One row per clause of the plan, in the order of the clauses."""
        return self._by(run_id, executions.c.clause)

    def by_mode(self, run_id: int) -> list[ClauseCounts]:
        """One row per mode of the plan."""
        return self._by(run_id, executions.c.mode)

    def _by(self, run_id: int, key: ColumnElement[str]) -> list[ClauseCounts]:
        skipped = executions.c.skip_reason.is_not(None).label("skipped")
        columns = (key.label("key"), attempts.c.execution_status, effective_verdict().label("verdict"), skipped)
        with self._database.reading() as connection:
            require_run(connection, run_id)
            counted = connection.execute(
                select(*columns, func.count().label("n"))
                .select_from(with_shown_attempt(even_without=True))
                .where(executions.c.run_id == run_id)
                .group_by(*columns)
            ).all()
        tallies: dict[str, Counter[str]] = defaultdict(Counter)
        for row in counted:
            tally = tallies[row.key]
            tally["planned"] += row.n
            if row.skipped:
                tally["skipped"] += row.n
            elif row.execution_status == ExecutionStatus.ERROR:
                tally["errors"] += row.n
            elif row.execution_status == ExecutionStatus.COMPLETED:
                tally["executed"] += row.n
                tally[row.verdict or NO_VERDICT] += row.n
                tally["pending"] += 0 if row.verdict in DECISIVE else row.n
        return [
            ClauseCounts(
                key=word,
                planned=tally["planned"],
                executed=tally["executed"],
                passed=tally["pass"],
                fail=tally["fail"],
                pending=tally["pending"],
                needs_human_review=tally[Verdict.NEEDS_HUMAN_REVIEW],
                judge_format_error=tally[Verdict.JUDGE_FORMAT_ERROR],
                undecided=tally[NO_VERDICT],
                errors=tally["errors"],
                skipped=tally["skipped"],
            )
            for word, tally in sorted(tallies.items())
        ]

    def queue(
        self, *, run_id: int | None = None, clause: str | None = None, limit: int, offset: int
    ) -> Page[QueueItem]:
        """What waits for a person: the oldest run first, in it what the judges left open, in plan order, then what was
        drawn to be audited, in no order of the plan's: whoever stops half-way has looked at a fair half.
        """
        unseen = or_(reviews.c.verdict.is_(None), reviews.c.verdict == ReviewVerdict.CLEAR.value)
        asked = [attempts.c.execution_status == ExecutionStatus.COMPLETED.value, unseen]
        if clause is not None:
            asked.append(executions.c.clause == clause)
        columns = (executions.c.id, executions.c.run_id)
        open_ones = select(*columns, literal(0).label("audited")).where(text(f"attempts.{WAITS_FOR_A_PERSON}"), *asked)
        audited = select(*columns, literal(1).label("audited")).where(
            text(f"executions.{IS_AUDITED}"), attempts.c.automatic_verdict.in_(DECISIVE), *asked
        )
        if run_id is not None:
            # The ids of a run's executions lie together; the bounds let the index of the queue do the work, and
            # "+ 0" keeps the planner from going through the whole run instead.
            of_run = select(executions.c.id).where(executions.c.run_id == run_id).limit(1)
            first = of_run.order_by(executions.c.position).scalar_subquery()
            last = of_run.order_by(executions.c.position.desc()).scalar_subquery()
            open_ones = open_ones.where(attempts.c.execution_id.between(first, last), executions.c.run_id + 0 == run_id)
            audited = audited.where(executions.c.run_id == run_id)
        waiting = union_all(
            open_ones.select_from(with_shown_attempt()), audited.select_from(with_shown_attempt())
        ).subquery()
        place = case((waiting.c.audited == 1, waiting.c.id * _GOLDEN % _WHOLE), else_=waiting.c.id)
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(waiting)) or 0
            rows = connection.execute(
                select(waiting.c.id, waiting.c.audited)
                .order_by(waiting.c.run_id, waiting.c.audited, place, waiting.c.id)
                .limit(limit)
                .offset(offset)
            ).all()
            found = {
                item.execution_id: item for item in result_rows.results(connection, [row.id for row in rows], QueueItem)
            }
            return Page(items=tuple(found[row.id] for row in rows), total=total)

    def errors(self, run_id: int) -> list[tuple[str, int, str]]:
        """Kinds of execution errors: code, how many, and the message of the first in plan order; commonest first."""
        kinds = (
            select(
                attempts.c.error_code,
                func.count().label("n"),
                func.min(executions.c.id).label("first_id"),
            )
            .select_from(with_shown_attempt())
            .where(
                executions.c.run_id == run_id,
                attempts.c.execution_status == ExecutionStatus.ERROR.value,
            )
            .group_by(attempts.c.error_code)
            .subquery()
        )
        first = executions.join(kinds, kinds.c.first_id == executions.c.id).join(
            attempts,
            and_(attempts.c.execution_id == executions.c.id, attempts.c.number == executions.c.shown_attempt),
        )
        query = (
            select(kinds.c.error_code, kinds.c.n, attempts.c.error_message)
            .select_from(first)
            .order_by(kinds.c.n.desc(), kinds.c.error_code)
        )
        with self._database.reading() as connection:
            return [(row.error_code or "unknown", row.n, row.error_message or "") for row in connection.execute(query)]

    def median_latency_s(self, provider_id: int) -> float | None:
        """Seconds an answered instance took in the middle case of this provider's newest completed run."""
        newest = (
            select(runs.c.id)
            .where(runs.c.provider_id == provider_id, runs.c.status == RunStatus.COMPLETED.value)
            .order_by(runs.c.id.desc())
            .limit(1)
            .scalar_subquery()
        )
        ranked = (
            select(
                attempts.c.latency_ms,
                func.row_number().over(order_by=attempts.c.latency_ms).label("place"),
                func.count().over().label("n"),
            )
            .select_from(with_shown_attempt())
            .where(executions.c.run_id == newest, attempts.c.execution_status == ExecutionStatus.COMPLETED.value)
            .subquery()
        )
        middle = select(func.avg(ranked.c.latency_ms)).where(
            2 * ranked.c.place >= ranked.c.n, 2 * ranked.c.place <= ranked.c.n + 2
        )
        with self._database.reading() as connection:
            median_ms = connection.scalar(middle)
        return None if median_ms is None else float(median_ms) / 1000


def _require_result(connection: Connection, run_id: int, execution_id: int) -> None:
    known = connection.scalar(
        select(executions.c.id).where(
            executions.c.id == execution_id,
            executions.c.run_id == run_id,
            executions.c.shown_attempt.is_not(None),
        )
    )
    if known is None:
        raise NotFoundError(f"run {run_id} has no result {execution_id}", code="result_not_found")


def _with_instances(*conditions: ColumnElement[bool]) -> Select[Any]:
    return (
        select(executions.c.id, executions.c.attempts, executions.c.shown_attempt, instances.c.body)
        .join_from(executions, instances)
        .where(*conditions)
        .order_by(executions.c.id)
    )


def _some(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Few enough at a time for one statement."""
    for start in range(0, len(ids), IDS_AT_ONCE):
        yield ids[start : start + IDS_AT_ONCE]


def _execution(row: Row[Any]) -> Execution:
    return Execution(execution_id=row.id, instance=Instance.model_validate_json(row.body), attempts=row.attempts)


def _verdict_word(where: ResultFilter) -> str | None:
    if where.verdict is None or where.verdict == NO_VERDICT:
        return where.verdict
    try:
        return Verdict(where.verdict).value
    except ValueError as error:
        known = ", ".join([*Verdict, NO_VERDICT])
        raise InputError(f"no verdict {where.verdict!r}; known: {known}", code="bad_filter") from error


def _matching(run_id: int, where: ResultFilter) -> Select[Any]:
    """Results of the run under all conditions of the filter; columns and order are the caller's."""
    tables: FromClause = with_shown_attempt()
    conditions: list[ColumnElement[bool]] = [executions.c.run_id == run_id]
    if where.execution_status is not None:
        conditions.append(attempts.c.execution_status == where.execution_status.value)
    if where.clause is not None:
        conditions.append(executions.c.clause == where.clause)
    if where.mode is not None:
        conditions.append(executions.c.mode == where.mode.value)
    word = _verdict_word(where)
    if word == NO_VERDICT:
        conditions.append(effective_verdict().is_(None))
    elif word is not None:
        conditions.append(effective_verdict() == word)
    if where.q and len(where.q) > LONGEST_SEARCH:
        raise InputError(f"a search text has at most {LONGEST_SEARCH} characters", code="bad_filter")
    if where.q:
        tables = tables.join(instances, instances.c.execution_id == executions.c.id).join(
            transcripts,
            and_(transcripts.c.execution_id == attempts.c.execution_id, transcripts.c.number == attempts.c.number),
        )
        searched = (
            executions.c.instance_id,
            instances.c.question,
            transcripts.c.answer,
            attempts.c.error_message,
        )
        pattern = "%" + where.q.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
        conditions.append(or_(*(column.like(pattern, escape="\\") for column in searched)))
    return select(literal_column("1")).select_from(tables).where(*conditions)


def _batch(connection: Connection, matching: Select[Any], *, after: int) -> tuple[list[ResultDetail], int | None]:
    """The next results and the position to go on from, None at the end."""
    rows = connection.execute(
        matching.with_only_columns(executions.c.id, executions.c.position)
        .where(executions.c.position > after)
        .order_by(executions.c.position)
        .limit(BATCH)
    ).all()
    return result_rows.details(connection, [row.id for row in rows]), rows[-1].position if len(rows) == BATCH else None
