"""Banks: each version is stored once, whole, and never changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from engine.domain.banks import BankInfo, CaseChange, CaseFilter, CaseRow, InstanceSketch
from engine.domain.base import Page, utc_now
from engine.domain.cases import Case, Fixture, Mode, Selection, Severity, Technique
from engine.errors import ConflictError, InputError, NotFoundError
from engine.store import bank_sketches
from engine.store.database import Database
from engine.store.tables import bank_case_texts, bank_cases, banks

BATCH = 500
"""Cases held in memory at a time while writing or streaming."""

LONGEST_SEARCH = 1000
"""Characters of a search text; SQLite refuses much longer patterns."""

FACETS = ("clause", "mode", "language", "severity")

_FIXTURES = TypeAdapter(tuple[Fixture, ...])


class BankStore:
    """One short transaction a call, but for `add`, which holds the write lock while it writes, and `stream`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        version: str | None,
        sha256: str,
        cases: Iterable[Case],
        *,
        created_by: str,
        source: str,
        licence: str | None = None,
        fixtures: Sequence[Fixture] = (),
        again: bool = False,
    ) -> BankInfo:
        """Store a version of a bank in one transaction: all of it or nothing.

        Args:
            name: Of the bank.
            version: None takes the next free number.
            sha256: Names the content.
            cases: In the order in which lists show them.
            created_by: Who.
            source: The format it came from, or `bundled`.
            licence: Of the questions, where it is known.
            fixtures: Those the cases use.
            again: Whether another content may bear a version that was used before.

        Raises:
            ConflictError: code `bank_exists`: the same content is there under that name; `version_taken`: another
                content has that version.
            InputError: code `duplicate_case`: two cases have one id; `unstorable_value`.
        """
        with self._database.writing() as connection:
            _require_new(connection, name, sha256, version=None if again else version)
            key = connection.execute(
                insert(banks).values(
                    name=name,
                    version=version or _next_version(connection, name),
                    sha256=sha256,
                    cases=0,
                    instances=0,
                    created_at=utc_now(),
                    created_by=created_by,
                    source=source,
                    licence=licence,
                    fixtures=to_json(tuple(fixtures)).decode(),
                )
            ).inserted_primary_key
            assert key is not None
            bank_id = int(key[0])
            counted, instances = _insert_cases(connection, bank_id, cases)
            connection.execute(update(banks).where(banks.c.id == bank_id).values(cases=counted, instances=instances))
            return _get(connection, bank_id)

    def page(self, *, name: str | None = None, limit: int, offset: int) -> Page[BankInfo]:
        """Versions of all banks, or of one, newest first."""
        wanted = () if name is None else (banks.c.name == name,)
        with self._database.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(banks).where(*wanted)) or 0
            rows = connection.execute(
                _infos().where(*wanted).order_by(banks.c.id.desc()).limit(limit).offset(offset)
            ).all()
        return Page(items=tuple(_info(row) for row in rows), total=total)

    def names(self) -> list[str]:
        """Of all banks, sorted."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(banks.c.name).distinct().order_by(banks.c.name)))

    def by_name(self, name: str, version: str | None = None) -> BankInfo:
        """The newest version, or the newest that is called `version` or has that SHA-256.

        Raises:
            NotFoundError: code `unknown_bank` or `unknown_version`; names what there is.
        """
        with self._database.reading() as connection:
            of_name = _infos().where(banks.c.name == name).order_by(banks.c.id.desc())
            rows = connection.execute(of_name).all()
            if not rows:
                known = ", ".join(connection.scalars(select(banks.c.name).distinct().order_by(banks.c.name))) or "none"
                raise NotFoundError(f"no bank named {name!r}; known: {known}", code="unknown_bank")
        found = next((row for row in rows if version in (None, row.version, row.sha256)), None)
        if found is None:
            known = ", ".join(dict.fromkeys(row.version for row in rows))
            raise NotFoundError(f"bank {name!r} has no version {version!r}; known: {known}", code="unknown_version")
        return _info(found)

    def by_content(self, name: str, sha256: str) -> BankInfo | None:
        """The version of a bank that has this content."""
        with self._database.reading() as connection:
            row = connection.execute(_infos().where(banks.c.name == name, banks.c.sha256 == sha256)).first()
        return None if row is None else _info(row)

    def fixtures(self, bank_id: int) -> dict[str, Fixture]:
        """The pinned fixtures by `fixture_id`. Raises NotFoundError `unknown_bank`."""
        with self._database.reading() as connection:
            found = connection.scalar(select(banks.c.fixtures).where(banks.c.id == bank_id))
        if found is None:
            raise _not_found(bank_id)
        return {fixture.fixture_id: fixture for fixture in _FIXTURES.validate_json(found)}

    def cases(self, bank_id: int, where: CaseFilter, limit: int, offset: int) -> Page[CaseRow]:
        """In the order of the bank.

        Raises:
            NotFoundError: code `unknown_bank`.
            InputError: code `bad_filter`; `where.q` is too long.
        """
        matching = _matching(bank_id, where)
        with self._database.reading() as connection:
            total = _require(connection, bank_id)
            ids = matching.with_only_columns(bank_cases.c.id).order_by(bank_cases.c.position).limit(limit)
            if where == CaseFilter():
                ids = ids.where(bank_cases.c.position >= offset)  # positions have no gaps; an offset would be walked
            else:
                total = connection.scalar(matching.with_only_columns(func.count())) or 0
                ids = ids.offset(offset)
            rows = connection.execute(
                select(bank_cases).where(bank_cases.c.id.in_(connection.scalars(ids).all())).order_by(bank_cases.c.id)
            ).all()
        return Page(items=tuple(_case_row(row) for row in rows), total=total)

    def case(self, bank_id: int, case_id: str) -> Case:
        """Raises NotFoundError, code `case_not_found`."""
        with self._database.reading() as connection:
            body = connection.scalar(
                select(bank_case_texts.c.body)
                .join_from(bank_cases, bank_case_texts)
                .where(bank_cases.c.bank_id == bank_id, bank_cases.c.case_id == case_id)
            )
        if body is None:
            raise NotFoundError(f"this bank has no case {case_id!r}", code="case_not_found")
        return Case.model_validate_json(body)

    def stream(
        self,
        bank_id: int,
        *,
        clauses: Collection[str] = (),
        modes: Collection[Mode] = (),
        severities: Collection[Severity] = (),
    ) -> Iterator[Case]:
        """Cases in the order of the bank, some at a time; an empty condition asks nothing.

        A bank never changes, so the batches need no common snapshot. One that is deleted meanwhile ends early.
        """
        whole = select(bank_cases.c.position, bank_case_texts.c.body).join_from(bank_cases, bank_case_texts)
        for row in self._rows(whole.where(*bank_sketches.within(bank_id, clauses, modes, severities))):
            yield Case.model_validate_json(row.body)

    def sketches(self, bank_id: int, where: Selection = Selection()) -> Iterator[InstanceSketch]:
        """The instances of the cases that `where` may select, in the order of the bank.

        A case is read as a whole only where its row does not say it all: tags, an aspect, variants.
        """
        whole = bank_cases.c.id == bank_case_texts.c.case_row_id
        query = select(*bank_sketches.FACTS, bank_case_texts.c.body)
        if where.tags:
            tagged = bank_sketches.tagged(bank_case_texts.c.body, where.tags)
            query = query.join_from(bank_cases, bank_case_texts, whole).where(tagged)
        else:
            query = query.join_from(bank_cases, bank_case_texts, whole & bank_sketches.WHOLE, isouter=True)
        for row in self._rows(
            query.where(*bank_sketches.within(bank_id, where.clauses, where.modes, where.severities))
        ):
            yield from bank_sketches.sketches(row)

    def tallies(self, bank_id: int, where: Selection = Selection()) -> Iterator[tuple[InstanceSketch, int]]:
        """The same instances in no order, each with how many like it there are. Several stand for cases of their own
        without variants, and have no ids."""
        if where.tags:
            yield from ((sketch, 1) for sketch in self.sketches(bank_id, where))
            return
        within = bank_sketches.within(bank_id, where.clauses, where.modes, where.severities)
        alike = [column for column in bank_sketches.FACTS if column.name not in ("position", "case_id")]
        plain: Select[Any] = (
            select(*alike, func.count().label("n")).where(*within, ~bank_sketches.WHOLE).group_by(*alike)
        )
        with self._database.reading() as connection:
            groups: Sequence[Row[Any]] = connection.execute(plain).all()
        for group in groups:
            yield bank_sketches.sketch(group, "", {}), group.n
        whole = (
            select(*bank_sketches.FACTS, bank_case_texts.c.body)
            .join_from(bank_cases, bank_case_texts)
            .where(*within, bank_sketches.WHOLE)
        )
        for row in self._rows(whole):
            yield from ((sketch, 1) for sketch in bank_sketches.sketches(row))

    def _rows(self, query: Select[Any]) -> Iterator[Row[Any]]:
        """Cases in the order of the bank, some at a time."""
        position = -1
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(
                    query.where(bank_cases.c.position > position).order_by(bank_cases.c.position).limit(BATCH)
                ).all()
            yield from rows
            if len(rows) < BATCH:
                return
            position = rows[-1].position

    def coverage(self, bank_id: int) -> dict[tuple[str, Mode], int]:
        """Instances by clause and mode; what has none is absent."""
        count = func.sum(bank_cases.c.instances).label("n")
        query = select(bank_cases.c.clause, bank_cases.c.mode, count).where(bank_cases.c.bank_id == bank_id)
        with self._database.reading() as connection:
            rows = connection.execute(query.group_by(bank_cases.c.clause, bank_cases.c.mode)).all()
        return {(row.clause, Mode(row.mode)): row.n for row in rows}

    def facets(self, bank_id: int, where: CaseFilter) -> dict[str, dict[str, int]]:
        """For `clause`, `mode`, `language` and `severity`: how many cases each value would leave, all other
        conditions kept. Raises InputError `bad_filter`."""
        columns = [bank_cases.c[name] for name in FACETS]
        query = _matching(bank_id, CaseFilter(q=where.q)).with_only_columns(*columns, func.count().label("n"))
        with self._database.reading() as connection:
            _require(connection, bank_id)
            counted = connection.execute(query.group_by(*columns)).all()
        facets: dict[str, dict[str, int]] = {}
        for name in FACETS:
            others = {key: getattr(where, key) for key in FACETS if key != name and getattr(where, key) is not None}
            counts: Counter[str] = Counter()
            for row in counted:
                values = row._mapping
                if all(values[other] == value for other, value in others.items()):
                    counts[values[name]] += row.n
            facets[name] = dict(sorted(counts.items()))
        return facets

    def changes(self, old_id: int, new_id: int) -> list[CaseChange]:
        """Which cases differ between two versions of a bank, by id. A case whose fixture was pinned anew has changed
        too, with the key `fixtures`."""
        old, new = bank_cases.alias("old"), bank_cases.alias("new")
        before, after = bank_case_texts.alias("before"), bank_case_texts.alias("after")
        pairs = (
            select(new.c.case_id, before.c.body.label("before"), after.c.body.label("after"))
            .select_from(
                new.join(after, after.c.case_row_id == new.c.id)
                .join(old, and_(old.c.bank_id == old_id, old.c.case_id == new.c.case_id))
                .join(before, before.c.case_row_id == old.c.id)
            )
            .where(new.c.bank_id == new_id, before.c.body != after.c.body)
        )
        with self._database.reading() as connection:
            gone = connection.scalars(_missing(old_id, elsewhere=new_id)).all()
            come = connection.scalars(_missing(new_id, elsewhere=old_id)).all()
            found = {
                row.case_id: _changed_keys(Case.model_validate_json(row.before), Case.model_validate_json(row.after))
                for row in connection.execute(pairs)
            }
        for case_id in self._with_other_fixtures(old_id, new_id) - set(come):
            found[case_id] = (*(key for key in found.get(case_id, ()) if key != "fixtures"), "fixtures")
        changes = [CaseChange(case_id=case_id, change="removed") for case_id in gone]
        changes += [CaseChange(case_id=case_id, change="added") for case_id in come]
        changes += [CaseChange(case_id=case_id, change="changed", keys=keys) for case_id, keys in found.items() if keys]
        return sorted(changes, key=lambda change: change.case_id)

    def _with_other_fixtures(self, old_id: int, new_id: int) -> set[str]:
        """Cases of the new version that use a fixture which the old one pinned otherwise."""
        before, after = self.fixtures(old_id), self.fixtures(new_id)
        repinned = {name for name in before.keys() & after.keys() if before[name] != after[name]}
        if not repinned:
            return set()
        return {case.case_id for case in self.stream(new_id) if not repinned.isdisjoint(_fixture_ids(case))}

    def delete(self, bank_id: int) -> None:
        """With its cases. Runs keep what they were frozen with. Raises NotFoundError `unknown_bank`."""
        with self._database.writing() as connection:
            if connection.execute(delete(banks).where(banks.c.id == bank_id)).rowcount == 0:
                raise _not_found(bank_id)


def _require_new(connection: Connection, name: str, sha256: str, *, version: str | None) -> None:
    of_name = select(banks.c.version).where(banks.c.name == name)
    same = connection.scalar(of_name.where(banks.c.sha256 == sha256))
    if same is not None:
        raise ConflictError(
            f"bank {name!r} holds exactly these questions already, as version {same}; nothing was stored",
            code="bank_exists",
        )
    if version is not None and connection.scalar(of_name.where(banks.c.version == version)) is not None:
        raise ConflictError(
            f"bank {name!r} has a version {version} with other questions; name another version", code="version_taken"
        )


def _next_version(connection: Connection, name: str) -> str:
    used = set(connection.scalars(select(banks.c.version).where(banks.c.name == name)))
    number = len(used) + 1
    while str(number) in used:
        number += 1
    return str(number)


def _insert_cases(connection: Connection, bank_id: int, cases: Iterable[Case]) -> tuple[int, int]:
    """How many cases and instances."""
    first = (connection.scalar(select(func.max(bank_cases.c.id))) or 0) + 1
    counted = instances = 0
    source = iter(cases)
    while batch := list(islice(source, BATCH)):
        rows = [_values(bank_id, first, counted + number, case) for number, case in enumerate(batch)]
        try:
            connection.execute(insert(bank_cases), rows)
        except IntegrityError as error:
            raise InputError("two cases of the bank have one case_id; rename one", code="duplicate_case") from error
        connection.execute(insert(bank_case_texts), [_texts(first + counted + n, case) for n, case in enumerate(batch)])
        counted += len(batch)
        instances += sum(row["instances"] for row in rows)
    return counted, instances


def _values(bank_id: int, first: int, position: int, case: Case) -> dict[str, Any]:
    return {
        "id": first + position,
        "bank_id": bank_id,
        "position": position,
        "case_id": case.case_id,
        "clause": case.clause,
        "mode": case.mode.value,
        "language": case.language,
        "severity": case.severity.value,
        "technique": case.technique.value,
        "title": case.title,
        "instances": 1 + len(case.variants),
    }


def _texts(row_id: int, case: Case) -> dict[str, Any]:
    words = [case.title, *(turn.text for turn in case.turns)]
    for variant in case.variants:
        words += [variant.title or "", *(turn.text for turn in variant.turns or ())]
    return {
        "case_row_id": row_id,
        "question": "\n".join(words),
        "body": case.model_dump_json(exclude_defaults=True),
    }


def _matching(bank_id: int, where: CaseFilter) -> Select[Any]:
    """Cases of the bank under all conditions; columns and order are the caller's."""
    tables: FromClause = bank_cases
    conditions: list[ColumnElement[bool]] = [bank_cases.c.bank_id == bank_id]
    for name in FACETS:
        value = getattr(where, name)
        if value is not None:
            conditions.append(bank_cases.c[name] == str(value))
    if where.q and len(where.q) > LONGEST_SEARCH:
        raise InputError(f"a search text has at most {LONGEST_SEARCH} characters", code="bad_filter")
    if where.q:
        tables = tables.join(bank_case_texts)
        pattern = "%" + where.q.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
        conditions.append(
            bank_case_texts.c.question.like(pattern, escape="\\") | bank_cases.c.case_id.like(pattern, escape="\\")
        )
    return select(literal_column("1")).select_from(tables).where(*conditions)


def _missing(bank_id: int, *, elsewhere: int) -> Select[Any]:
    """Ids of the cases of one version that another one lacks."""
    here, there = bank_cases.alias("here"), bank_cases.alias("there")
    same = exists().where(there.c.bank_id == elsewhere, there.c.case_id == here.c.case_id)
    return select(here.c.case_id).where(here.c.bank_id == bank_id, ~same)


def _changed_keys(before: Case, after: Case) -> tuple[str, ...]:
    return tuple(name for name in Case.model_fields if getattr(before, name) != getattr(after, name))


def _fixture_ids(case: Case) -> Iterator[str]:
    yield from case.fixture_ids
    for variant in case.variants:
        for turn in variant.turns or ():
            yield from turn.fixtures


def _infos() -> Select[Any]:
    return select(*(column for column in banks.c if column.name != "fixtures"))


def _info(row: Row[Any]) -> BankInfo:
    return BankInfo(**row._mapping)


def _get(connection: Connection, bank_id: int) -> BankInfo:
    return _info(connection.execute(_infos().where(banks.c.id == bank_id)).one())


def _require(connection: Connection, bank_id: int) -> int:
    """How many cases the bank has. Raises NotFoundError `unknown_bank`."""
    count = connection.scalar(select(banks.c.cases).where(banks.c.id == bank_id))
    if count is None:
        raise _not_found(bank_id)
    return int(count)


def _not_found(bank_id: int) -> NotFoundError:
    return NotFoundError(f"there is no bank {bank_id}", code="unknown_bank")


def _case_row(row: Row[Any]) -> CaseRow:
    return CaseRow(
        case_id=row.case_id,
        clause=row.clause,
        mode=Mode(row.mode),
        language=row.language,
        severity=Severity(row.severity),
        technique=Technique(row.technique),
        title=row.title,
        instances=row.instances,
    )
