"""What a database file says of one run, read row by row and not through the product's own queries.

The ledger invariant: planned = succeeded + failed + skipped + pending, exactly; each item has at most one current
answer. An item under way is pending: the file knows no other state.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.domain.runs import ExecutionStatus
from engine.store.database import installed_driver

COMPLETED = ExecutionStatus.COMPLETED.value


@dataclass(frozen=True)
class Ledger:
    """Counts of items, and by `instance_id` the bytes that may not change any more."""

    status: str
    error: str | None
    planned: int
    succeeded: int
    failed: int
    skipped: int
    pending: int
    answered: int
    """Attempts recorded as answered, earlier ones of an item included."""
    answers: dict[str, str]
    """The current answer of every item that has one, as stored, its verdict aside."""
    conclusions: dict[str, str]
    """The verdict and the judgements of every answer that was judged."""


def read(database: Path, run_id: int) -> Ledger:
    """Raises AssertionError where the file contradicts itself, LookupError where it has no such run."""
    with _opened(database) as ask:
        found = ask("SELECT status, error, total_count FROM runs WHERE id = ?", run_id)
        if not found:
            raise LookupError(f"no run {run_id}")
        items = ask("SELECT * FROM executions WHERE run_id = ? ORDER BY position", run_id)
        within = "WHERE execution_id IN (SELECT id FROM executions WHERE run_id = ?)"
        attempts = ask(f"SELECT * FROM attempts {within}", run_id)
        transcripts = ask(f"SELECT * FROM transcripts {within}", run_id)
        trail = ask(f"SELECT * FROM judgements {within} ORDER BY execution_id, number, round, position", run_id)
    (run,) = found
    assert run["total_count"] == len(items), "every planned item has its row"
    told = {(row["execution_id"], row["number"]): row for row in transcripts}
    made = {(row["execution_id"], row["number"]): row for row in attempts}
    assert told.keys() == made.keys(), "every attempt has its texts, and no text is without its attempt"
    counts = {"succeeded": 0, "failed": 0, "skipped": 0, "pending": 0}
    answers: dict[str, str] = {}
    conclusions: dict[str, str] = {}
    for item in items:
        numbers = sorted(number for key, number in made if key == item["id"])
        assert numbers == list(range(1, item["attempts"] + 1)), f"{item['instance_id']}: attempts are counted"
        answered = [number for number in numbers if made[item["id"], number]["execution_status"] == COMPLETED]
        assert item["shown_attempt"] == (answered or numbers or [None])[-1], f"{item['instance_id']}: the newest counts"
        if item["skip_reason"] is not None:
            assert not numbers, f"{item['instance_id']} was skipped and asked"
            counts["skipped"] += 1
        elif not numbers:
            counts["pending"] += 1
        elif not answered:
            counts["failed"] += 1
        else:
            counts["succeeded"] += 1
            key = (item["id"], answered[-1])
            answer = {**made[key], **told[key]}
            verdict, rounds = answer.pop("automatic_verdict"), answer.pop("rounds")
            answer.pop("latest_review_id")
            answers[item["instance_id"]] = json.dumps(answer, sort_keys=True)
            judged = [row for row in trail if (row["execution_id"], row["number"]) == key]
            assert {row["round"] for row in judged} == set(range(1, rounds + 1)), "a verdict comes with its trail"
            if rounds:
                conclusions[item["instance_id"]] = json.dumps([verdict, judged], sort_keys=True)
    assert run["total_count"] == sum(counts.values())
    return Ledger(
        status=run["status"],
        error=run["error"],
        planned=run["total_count"],
        answered=sum(row["execution_status"] == COMPLETED for row in attempts),
        answers=answers,
        conclusions=conclusions,
        **counts,
    )


def require_sound(database: Path) -> None:
    """The file passes SQLite's own check and every reference leads somewhere."""
    with _opened(database) as ask:
        assert ask("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        assert ask("PRAGMA foreign_key_check") == []


def newest_run(database: Path) -> int | None:
    with _opened(database) as ask:
        return ask("SELECT max(id) AS newest FROM runs")[0]["newest"]


@contextlib.contextmanager
def _opened(database: Path) -> Iterator[Any]:
    connection = installed_driver().connect(str(database), timeout=30, isolation_level=None)

    def ask(question: str, *values: object) -> list[dict[str, Any]]:
        cursor = connection.execute(question, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    try:
        connection.execute("BEGIN")
        yield ask
    finally:
        connection.close()
