"""Runs that are killed with SIGKILL and resumed by a new process, and what must hold after each kill."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx

from tests.support import ledger
from tests.support.command_line import CommandLine
from tests.support.ledger import Ledger
from tests.support.scripted_server import Received, ScriptedServer

MODEL, JUDGE = "under-test", "judge"
QUESTION = re.compile(rb"uestion number (\d+):")
POINTS = (
    "planned",
    "probed",
    "claimed:5",
    "answered:6",
    "committing:3",
    "committed:3",
    "judging:4",
    "judged:5",
    "finishing",
)
"""Each moment of a run once, in an order in which one run of 60 items can meet them all."""
PATIENCE_S = 60.0


@dataclass
class KilledRun:
    """Runs of profile `full` on the bank of `tests.support.engines.case`, one after the other, killed on the way.

    The answers cost a call each and so do the opinions of an LLM judge; a run is started anew when one is complete.
    """

    command: CommandLine
    server: ScriptedServer
    in_flight: int
    kills: int = 0
    """Processes that a kill ended while they had not ended by themselves."""
    most_extra: int = 0
    """The most calls of one process whose answer was not kept."""
    most_extra_opinions: int = 0
    run_id: int | None = None
    _before: Ledger | None = None
    _calls_seen: int = 0
    _finished: list[int] = field(default_factory=list)

    @property
    def runs_finished(self) -> int:
        return len(self._finished)

    def start(self, **variables: str) -> subprocess.Popen[str]:
        """`run`, or `resume` where there is something to resume."""
        if self.run_id is not None:
            return self.command.start("resume", self.run_id, **variables)
        arguments = ["run", "--profile", "full", "--base-url", self.server.base_url, "--model", MODEL]
        arguments += ["--judge-model", JUDGE, "--concurrency", str(self.in_flight)]
        return self.command.start(*arguments, **variables)

    def kill_at(self, moment: str) -> None:
        """A process that ends itself at a named moment; it must reach it."""
        with self.start(MAGISTRATE_KILL_AT=moment) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == -signal.SIGKILL, f"{moment} was not reached: exit {process.returncode}\n{out}{err}"
        self.check()

    def kill_soon(self, chance: random.Random, *, within_s: float, from_start: bool) -> None:
        """A process that is killed at a random moment after it was started, or after it began to ask."""
        asked = len(self.server.chats)
        with self.start() as process:
            deadline = time.monotonic() + PATIENCE_S
            while not from_start and len(self.server.chats) == asked and process.poll() is None:
                assert time.monotonic() < deadline, "the run makes no calls"
                time.sleep(0.002)
            time.sleep(chance.uniform(0, within_s))
            process.kill()
            _out, err = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in err, err
        self.check()

    def finish(self) -> Ledger:
        """The last resume runs to the end; the next process starts another run."""
        run_id = self.run_id if self.run_id is not None else self._finished[-1]
        if self.run_id is not None:
            with self.start() as process:
                out, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, f"exit {process.returncode}\n{out}{err}"
            self._compare()
            self._over()
        now = ledger.read(self.command.database, run_id)
        assert now.status == "completed"
        assert (now.succeeded, now.failed, now.pending) == (now.planned, 0, 0)
        assert now.conclusions.keys() == now.answers.keys(), "every answer is judged"
        return now

    def _over(self) -> None:
        assert self.run_id is not None
        self._finished.append(self.run_id)
        self.run_id = self._before = None

    def check(self) -> None:
        """What must hold after a kill."""
        self.kills += 1
        if self.run_id is None:
            newest = ledger.newest_run(self.command.database)
            if newest is None or newest in self._finished:
                assert not self._new_calls(), "nothing is asked for a run that is not stored"
                return
            self.run_id = newest
        if self._compare().status == "completed":
            self._over()

    def _compare(self) -> Ledger:
        assert self.run_id is not None
        before, now, calls = self._before, ledger.read(self.command.database, self.run_id), self._new_calls()
        ledger.require_sound(self.command.database)
        asked = Counter(_item(call) for call in calls if _model(call) == MODEL)
        opinions = Counter(_item(call) for call in calls if _model(call) == JUDGE)
        assert all(number == 1 for number in asked.values()), "one process asks an item once"
        known, concluded = (before.answers, before.conclusions) if before is not None else ({}, {})
        assert not asked.keys() & known.keys(), "what was answered is not asked again"
        assert not opinions.keys() & concluded.keys(), "what was judged is not judged again"
        assert {name: now.answers.get(name) for name in known} == known, "no answer is lost or changed"
        assert {name: now.conclusions.get(name) for name in concluded} == concluded, "no verdict is lost or changed"
        assert now.failed == 0
        extra = asked.total() - (len(now.answers) - len(known))
        assert 0 <= extra <= self.in_flight, f"{extra} calls are paid twice"
        extra_opinions = opinions.total() - (len(now.conclusions) - len(concluded))
        assert 0 <= extra_opinions <= 2 * self.in_flight, f"{extra_opinions} opinions are paid twice"
        self.most_extra = max(self.most_extra, extra)
        self.most_extra_opinions = max(self.most_extra_opinions, extra_opinions)
        self._before = now
        return now

    def _new_calls(self) -> list[Received]:
        """Calls since the last look. What the dead process had sent already is waited for."""
        deadline = time.monotonic() + PATIENCE_S
        httpx.get(f"{self.server.base_url}/models")
        while self.server.in_flight:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        calls = [call for call in self.server.chats if QUESTION.search(call.content)]
        new, self._calls_seen = calls[self._calls_seen :], len(calls)
        return new


def _model(call: Received) -> str:
    return str(call.json["model"])


def _item(call: Received) -> str:
    found = QUESTION.search(call.content)
    assert found is not None
    return f"case-{int(found.group(1)):05d}"
