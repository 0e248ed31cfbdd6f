"""B15: any order of what can befall a run, against a model of it, over the real store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event

from engine.domain.runs import ResultFilter, RunStatus
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import ConflictError, NotFoundError
from engine.store import Database, GroupCommit, Stores
from tests.store.samples import answer, failure, judgement, make_run
from tests.support import ledger

SEQUENCES, STEPS = 200, 12
OVER = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED)
EARLY = OVER[1:]


@dataclass
class Item:
    """`attempts` holds True for an answer and False for an error; `verdicts` and `reviewed` speak of an attempt."""

    attempts: list[bool] = field(default_factory=list)
    verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    reviewed: dict[int, str] = field(default_factory=dict)
    skipped: bool = False

    @property
    def shown(self) -> int | None:
        answered = [number for number, good in enumerate(self.attempts, start=1) if good]
        return (answered or [len(self.attempts) or None])[-1]

    @property
    def answered(self) -> bool:
        return any(self.attempts)

    @property
    def verdict(self) -> str | None:
        if not self.answered or self.shown is None:
            return None
        automatic = self.verdicts.get(self.shown)
        return self.reviewed.get(self.shown) or (None if automatic is None else automatic.value)


class Life(RuleBasedStateMachine):
    """One run at a time: the worker's part is played by rules that do what it does, in any order it allows."""

    stores: Stores
    writer: GroupCommit
    file: Path

    @initialize(items=st.integers(min_value=1, max_value=4))
    def create(self, items: int) -> None:
        run, ids = make_run(self.stores, items)
        self.run_id = run.id
        self.items = {key: Item() for key in ids}
        self.status = RunStatus.PENDING
        self.to_ask: list[int] = list(ids)
        self.before = RunStatus.COMPLETED
        """What a job that leaves instances unexecuted returns the run to."""
        self.deleted = False

    @precondition(lambda self: self.deleted)
    @rule(items=st.integers(min_value=1, max_value=4))
    def create_another(self, items: int) -> None:
        gone = self.run_id
        self.create(items)
        assert self.run_id > gone, "an id is never used again"

    # -- what the engine does -----------------------------------------------------------------------------------------

    def alive(self) -> bool:
        return not self.deleted

    def running(self) -> bool:
        return self.alive() and self.status is RunStatus.RUNNING

    def asking(self) -> bool:
        return self.running() and bool(self.to_ask)

    @precondition(lambda self: self.alive() and self.status is RunStatus.PENDING)
    @rule(probed=st.booleans(), skipped=st.booleans())
    def begin(self, probed: bool, skipped: bool) -> None:
        if probed:
            self.stores.runs.set_status(self.run_id, RunStatus.PROBING)
        untouched = [key for key in self.to_ask if not self.items[key].attempts]
        if skipped and untouched:
            self.stores.results.skip(self.run_id, {untouched[0]: "no vision"})
            self.items[untouched[0]].skipped = True
            self.to_ask.remove(untouched[0])
        self.stores.runs.set_status(self.run_id, RunStatus.RUNNING)
        self.status = RunStatus.RUNNING

    @precondition(asking)
    @rule(good=st.booleans(), data=st.data())
    def come_back(self, good: bool, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.to_ask))
        item = self.items[key]
        number = len(item.attempts) + 1
        self.writer.answered(key, answer(number) if good else failure(number)).result(10)
        item.attempts.append(good)
        self.to_ask.remove(key)

    @precondition(lambda self: self.alive() and any(item.attempts for item in self.items.values()))
    @rule(data=st.data())
    def come_back_twice(self, data: st.DataObject) -> None:
        """The same attempt, handed in again by whoever believes that he is alone."""
        key = data.draw(st.sampled_from([key for key, item in self.items.items() if item.attempts]))
        with refused("attempt_conflict"):
            self.writer.answered(key, answer(len(self.items[key].attempts))).result(10)

    @precondition(lambda self: self.running() and any(item.answered for item in self.items.values()))
    @rule(verdict=st.sampled_from([*Verdict, None]), data=st.data())
    def judge(self, verdict: Verdict | None, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([key for key, item in self.items.items() if item.answered]))
        item = self.items[key]
        assert item.shown is not None
        self.writer.judged(key, item.shown, verdict=verdict, judgements=[judgement(verdict)]).result(10)
        item.verdicts[item.shown] = verdict

    @precondition(lambda self: self.running() and not self.to_ask)
    @rule()
    def end(self) -> None:
        left = self.stores.results.pending_ids(self.run_id)
        self.set_status(self.before if left else RunStatus.COMPLETED)

    @precondition(lambda self: self.alive() and self.status not in OVER)
    @rule(status=st.sampled_from(EARLY))
    def stop(self, status: RunStatus) -> None:
        if status is RunStatus.CANCELLED:
            self.stores.runs.request_cancel(self.run_id)
            assert self.run_id in self.stores.runs.cancel_requests()
        self.set_status(status)

    @precondition(alive)
    @rule()
    def crash(self) -> None:
        found = self.stores.runs.interrupt_unfinished("the process ended")
        assert found == ([] if self.status in OVER else [self.run_id])
        if self.status not in OVER:
            self.status, self.to_ask = RunStatus.INTERRUPTED, []

    def set_status(self, status: RunStatus) -> None:
        self.stores.runs.set_status(self.run_id, status)
        self.status, self.to_ask = status, []

    # -- what people do -----------------------------------------------------------------------------------------------

    @precondition(alive)
    @rule()
    def resume(self) -> None:
        reopened = self.stores.runs.reopen(self.run_id, resuming=True)
        assert (reopened is not None) is (self.status in EARLY)
        if reopened is not None:
            assert reopened.status is self.status
            self.status, self.before = RunStatus.PENDING, RunStatus.COMPLETED
            self.to_ask = self.stores.results.pending_ids(self.run_id)
            assert self.to_ask == [k for k, item in self.items.items() if not item.attempts and not item.skipped]
            assert self.stores.runs.cancel_requests() == set(), "an old wish to cancel does not outlive the run's end"

    @precondition(alive)
    @rule(all_failed=st.booleans(), data=st.data())
    def retry(self, all_failed: bool, data: st.DataObject) -> None:
        failed = self.stores.results.failed(self.run_id)
        assert failed == [key for key, item in self.items.items() if item.attempts and not item.answered]
        tried = [key for key, item in self.items.items() if item.attempts]
        wanted = failed if all_failed else [data.draw(st.sampled_from(tried))] if tried else []
        if not wanted:
            return
        reopened = self.stores.runs.reopen(self.run_id)
        assert (reopened is not None) is (self.status in OVER)
        if reopened is not None:
            self.before, self.status, self.to_ask = reopened.status, RunStatus.PENDING, list(wanted)

    @precondition(lambda self: self.alive() and any(item.answered for item in self.items.values()))
    @rule(verdict=st.sampled_from(ReviewVerdict), data=st.data())
    def review(self, verdict: ReviewVerdict, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([key for key, item in self.items.items() if item.answered]))
        item = self.items[key]
        assert item.shown is not None
        self.stores.reviews.add(
            self.run_id,
            key,
            attempt=item.shown,
            verdict=verdict,
            reason="I say so",
            reviewer_id=1,
            reviewer="gly",
            if_version=None,
        )
        item.reviewed[item.shown] = "" if verdict is ReviewVerdict.CLEAR else verdict.value

    @precondition(alive)
    @rule()
    def delete(self) -> None:
        if self.status not in OVER:
            with refused("run_not_terminal"):
                self.stores.runs.delete(self.run_id)
            return
        self.stores.runs.delete(self.run_id)
        self.deleted = True

    # -- what holds after every step ----------------------------------------------------------------------------------

    @invariant()
    def the_ledger_is_right(self) -> None:
        if self.deleted:
            with refused("run_not_found"):
                self.stores.runs.get(self.run_id)
            return
        kept = ledger.read(self.file, self.run_id)
        items = self.items.values()
        assert kept.status == self.status
        assert kept.succeeded == sum(item.answered for item in items)
        assert kept.failed == sum(bool(item.attempts) and not item.answered for item in items)
        assert kept.skipped == sum(item.skipped for item in items)
        assert kept.planned == len(self.items) == kept.succeeded + kept.failed + kept.skipped + kept.pending
        assert kept.answered == sum(sum(item.attempts) for item in items)

    @invariant()
    def what_people_see_is_right(self) -> None:
        if self.deleted:
            return
        run = self.stores.runs.get(self.run_id)
        items = self.items.values()
        assert run.completed_count == sum(item.answered for item in items)
        assert run.error_count == sum(bool(item.attempts) and not item.answered for item in items)
        assert sum(run.verdict_counts.model_dump().values()) == run.completed_count
        assert (run.finished_at is not None) is (run.status in OVER)
        shown = self.stores.results.page(self.run_id, ResultFilter(), limit=10, offset=0).items
        assert {each.execution_id: each.verdict for each in shown} == {
            key: item.verdict for key, item in self.items.items() if item.attempts
        }

    def teardown(self) -> None:
        if hasattr(self, "run_id") and not self.deleted:
            self.stores.runs.interrupt_unfinished("the next sequence begins")
            self.stores.runs.delete(self.run_id)


@contextlib.contextmanager
def refused(code: str) -> Iterator[None]:
    try:
        yield
    except (ConflictError, NotFoundError) as error:
        assert error.code == code
    else:
        raise AssertionError(f"this was to be refused as {code}")


@pytest.mark.timeout(300)
def test_no_order_of_events_brings_a_run_into_a_state_it_cannot_be_in() -> None:
    """B15."""
    live(sequences=SEQUENCES, steps=STEPS)


def live(*, sequences: int, steps: int) -> None:
    """So many lives of so many events at most, on one database file; raises what is not as it has to be."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "platform.db"
        database = Database(f"sqlite:///{file}")
        # Power cuts are tried elsewhere; without the wait for the disk there is time for every sequence.
        event.listen(database._engine, "connect", _hurry)
        database.migrate()
        writer = GroupCommit(database)
        writer.start()
        try:
            made: dict[str, Any] = {"stores": Stores.over(database), "writer": writer, "file": file}
            run_state_machine_as_test(
                type("Life", (Life,), made),
                settings=settings(
                    max_examples=sequences,
                    stateful_step_count=steps,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
            ledger.require_sound(file)
        finally:
            writer.stop()
            database.close()


def _hurry(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")
