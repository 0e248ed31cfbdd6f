"""Runs as a table with one selected row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import words
from dashboard.components import rows, untrusted
from dashboard.i18n import _, language
from engine.domain.runs import Run

ROW_HEIGHT = 33


def seconds(run: Run) -> float | None:
    """How long it took from the first call to its end."""
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at).total_seconds()


def frame(runs: Sequence[Run]) -> pd.DataFrame:
    """One row a run: run (int), state, model, profile, counts (str), rate (0 to 100, None without verdicts), ..."""
    return pd.DataFrame(
        {
            "run": [run.id for run in runs],
            "state": [words.run_status(run.status) for run in runs],
            "model": [untrusted.cell(run.model) + (f" · {_('simulated')}" if run.simulated else "") for run in runs],
            "profile": [untrusted.cell(run.profile) for run in runs],
            "rate": [rate(run) for run in runs],
            "counts": [words.of(run.verdict_counts.passed, judged(run)) for run in runs],
            "open": [run.verdict_counts.needs_human_review + run.verdict_counts.judge_format_error for run in runs],
            "errors": [run.error_count for run in runs],
            "created": [run.created_at for run in runs],
            "took": [words.duration(seconds(run)) for run in runs],
            "who": [untrusted.cell(run.created_by) for run in runs],
        }
    )


def judged(run: Run) -> int:
    return run.verdict_counts.passed + run.verdict_counts.fail


def rate(run: Run) -> float | None:
    return 100 * run.verdict_counts.passed / judged(run) if judged(run) else None


def draw(runs: Sequence[Run], *, selected: int | None, key: str, brief: bool = False) -> int | None:
    """Draw the rows; returns the id of the selected run, None when none is."""
    position = next((i for i, run in enumerate(runs) if run.id == selected), None)
    columns = ("run", "state", "model", "profile", "rate", "counts", "open", "errors", "created", "took", "who")
    own_key = f"{key}.{language()}"
    event = st.dataframe(
        frame(runs),
        hide_index=True,
        row_height=ROW_HEIGHT,
        key=own_key,
        on_select=partial(rows.take_cell, own_key),
        selection_mode=["single-row", "single-cell"],
        selection_default={"selection": {"rows": [] if position is None else [position]}},
        column_order=("run", "model", "rate", "counts") if brief else columns,
        column_config={
            "run": st.column_config.NumberColumn(_("run"), width=46, format="%d"),
            "state": st.column_config.TextColumn(_("state"), width=92),
            "model": st.column_config.TextColumn(_("model"), width=148 if brief else 190),
            "profile": st.column_config.TextColumn(_("profile"), width=80),
            "rate": st.column_config.ProgressColumn(
                _("pass rate"), width=96, format="%.0f %%", min_value=0, max_value=100
            ),
            "counts": st.column_config.TextColumn(_("passed"), width=76, alignment="right"),
            "open": st.column_config.NumberColumn(_("open"), width=52, format="%d"),
            "errors": st.column_config.NumberColumn(_("errors"), width=52, format="%d"),
            "created": st.column_config.DatetimeColumn(
                _("started"),
                width=118,
                format="YYYY-MM-DD HH:mm",
                timezone=str(words.zone()),
                help=_("Your local time, UTC{offset}").format(offset=words.offset()),
            ),
            "took": st.column_config.TextColumn(_("took"), width=84, alignment="right"),
            "who": st.column_config.TextColumn(_("who"), width=80),
        },
        alt=_("Runs"),
    )
    chosen = event["selection"]["rows"]
    return runs[chosen[0]].id if chosen and chosen[0] < len(runs) else None
