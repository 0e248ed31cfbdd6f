"""A page of results as a list with one selected row."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import palette, words
from dashboard.components import verdict
from dashboard.i18n import _, language
from engine.domain.runs import ExecutionStatus, Result

ROW_HEIGHT = 33


def outcome(result: Result) -> str:
    """The verdict, or that there was no answer to judge."""
    return _("error") if result.execution_status is ExecutionStatus.ERROR else verdict.word(result.verdict)


def frame(results: Sequence[Result]) -> pd.DataFrame:
    """One row a result: instance (str), clause (str), mode (str), outcome (list of one word), seconds (float)."""
    return pd.DataFrame(
        {
            "instance": [result.instance_id for result in results],
            "clause": [words.clause(result.clause) for result in results],
            "mode": [words.mode(result.mode) for result in results],
            "outcome": [[outcome(result)] for result in results],
            "seconds": [result.latency_ms / 1000 for result in results],
        }
    )


def draw(results: Sequence[Result], *, selected: int | None, key: str) -> int | None:
    """Draw the rows; returns the execution id of the selected one, None when none is."""
    position = next((i for i, result in enumerate(results) if result.execution_id == selected), None)
    outcomes = [*verdict.LOOKS.items()]
    dark = st.context.theme.type == "dark"
    event = st.dataframe(
        frame(results),
        hide_index=True,
        height=min(ROW_HEIGHT * (len(results) + 1) + 2, 640),
        row_height=ROW_HEIGHT,
        key=f"{key}.{language()}",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [] if position is None else [position]}},
        column_order=("clause", "mode", "outcome", "seconds", "instance"),
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=130),
            "mode": st.column_config.TextColumn(_("mode"), width=92),
            "outcome": st.column_config.MultiselectColumn(
                _("verdict"),
                width=92,
                options=[*(verdict.word(value) for value, _look in outcomes), _("error")],
                color=[*(look.shade(dark=dark) for _value, look in outcomes), palette.ERROR.shade(dark=dark)],
            ),
            "seconds": st.column_config.NumberColumn(_("s"), width=48, format="%.1f", help=_("answer time in seconds")),
            "instance": st.column_config.TextColumn(_("instance"), width=170),
        },
        alt=_("Results"),
    )
    rows = event["selection"]["rows"]
    return results[rows[0]].execution_id if rows and rows[0] < len(results) else None
