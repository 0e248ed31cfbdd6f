"""A page of results as a list with one selected row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import palette, words
from dashboard.components import rows, verdict
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
    own_key = f"{key}.{language()}"
    event = st.dataframe(
        frame(results),
        hide_index=True,
        height=min(ROW_HEIGHT * (len(results) + 1) + 2, 640),
        row_height=ROW_HEIGHT,
        key=own_key,
        on_select=partial(rows.take_cell, own_key),
        selection_mode=["single-row-required", "single-cell"],
        selection_default={"selection": {"rows": [position or 0]}},
        column_order=("outcome", "clause", "mode"),
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=152),
            "mode": st.column_config.TextColumn(_("mode"), width=108),
            "outcome": st.column_config.MultiselectColumn(
                _("verdict"),
                width=92,
                options=[*(verdict.word(value) for value, _look in outcomes), _("error")],
                color=[*(look.tint(dark=dark) for _value, look in outcomes), palette.ERROR.tint(dark=dark)],
            ),
        },
        alt=_("Results"),
    )
    chosen = event["selection"]["rows"]
    return results[chosen[0] if chosen and chosen[0] < len(results) else 0].execution_id
