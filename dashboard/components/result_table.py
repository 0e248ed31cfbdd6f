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
    """One row a result: clause (str), mode (str), outcome (list of one word)."""
    return pd.DataFrame(
        {
            "clause": [words.clause(result.clause) for result in results],
            "mode": [words.mode(result.mode) for result in results],
            "outcome": [[outcome(result)] for result in results],
        }
    )


def draw(results: Sequence[Result], *, selected: int | None, key: str) -> int:
    """Draw the rows, one of them always selected; returns the execution id of that one."""
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
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [position or 0]}},
        column_order=("outcome", "clause", "mode"),
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=152),
            "mode": st.column_config.TextColumn(_("mode"), width=108),
            "outcome": st.column_config.MultiselectColumn(
                _("verdict"),
                width=92,
                options=[*(verdict.word(value) for value, _look in outcomes), _("error")],
                color=[*(look.shade(dark=dark) for _value, look in outcomes), palette.ERROR.shade(dark=dark)],
            ),
        },
        alt=_("Results"),
    )
    rows = event["selection"]["rows"]
    return results[rows[0] if rows and rows[0] < len(results) else 0].execution_id
