"""Answers whose verdict is known, so that a judge can be watched while it works."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.domain.base import Model, Timestamp
from engine.domain.cases import Expectation, Mode
from engine.domain.clauses import Aspect
from engine.domain.verdicts import Verdict


class ControlCase(Model):
    """A question with one answer, and what any sound judge makes of it."""

    control_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    clause: str
    mode: Mode
    aspect: Aspect | None = None
    language: str
    question: str = Field(min_length=1)
    expectation: Expectation
    answer: str = Field(min_length=1)
    expected: Literal[Verdict.PASS, Verdict.FAIL]


class ControlOutcome(Model):
    """What a run's judge made of a control case; `verdict` None: the judge could not be reached."""

    control_id: str
    expected: Verdict
    verdict: Verdict | None
    reason: str
    created_at: Timestamp

    @property
    def is_met(self) -> bool:
        return self.verdict is self.expected
