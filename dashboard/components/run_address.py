"""The run that the address names, and the runs that a page offers."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import errors
from engine.domain.runs import Run
from engine.services import runs

OFFERED = 100
"""So many of the newest runs."""


def number(text: str | None) -> int | None:
    """The number that a part of an address says; None where it is none."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def asked() -> int | None:
    """The run of the address, which may be older than the newest ones on offer."""
    return number(st.query_params.get("run"))


def offered() -> list[Run]:
    """The newest runs, and the one of the address; says so where there is no such run."""
    engine, user = session.engine(), session.user()
    listed = list(runs.page(engine, actor=user, limit=OFFERED).items)
    wanted = asked()
    if wanted is not None and all(run.id != wanted for run in listed):
        with errors.shown():
            listed.append(runs.get(engine, wanted, actor=user))
    return listed
