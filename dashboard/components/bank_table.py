"""A page of cases as a list with one selected row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import words
from dashboard.components import rows, untrusted
from dashboard.i18n import _, language
from engine.domain.banks import CaseRow

ROW_HEIGHT = 33


def frame(cases: Sequence[CaseRow]) -> pd.DataFrame:
    """One row a case: title, clause, mode, language, severity, case (str), instances (int)."""
    return pd.DataFrame(
        {
            "title": [untrusted.cell(case.title) for case in cases],
            "clause": [words.clause(case.clause) for case in cases],
            "mode": [words.mode(case.mode) for case in cases],
            "language": [untrusted.cell(case.language) for case in cases],
            "severity": [words.severity(case.severity) for case in cases],
            "instances": [case.instances for case in cases],
            "case": [untrusted.cell(case.case_id) for case in cases],
        }
    )


def draw(cases: Sequence[CaseRow], *, selected: str | None, key: str) -> str:
    """Draw the rows, one of them always selected; returns the id of that case."""
    position = next((i for i, case in enumerate(cases) if case.case_id == selected), None)
    own_key = f"{key}.{language()}"
    event = st.dataframe(
        frame(cases),
        hide_index=True,
        height=min(ROW_HEIGHT * (len(cases) + 1) + 2, 640),
        row_height=ROW_HEIGHT,
        key=own_key,
        on_select=partial(rows.take_cell, own_key),
        selection_mode=["single-row-required", "single-cell"],
        selection_default={"selection": {"rows": [position or 0]}},
        column_config={
            "title": st.column_config.TextColumn(_("title"), width=190),
            "clause": st.column_config.TextColumn(_("clause"), width=126),
            "mode": st.column_config.TextColumn(_("mode"), width=92),
            "language": st.column_config.TextColumn(_("language"), width=66),
            "severity": st.column_config.TextColumn(_("severity"), width=66),
            "instances": st.column_config.NumberColumn(
                _("instances"), width=66, format="%d", help=_("The case and its variants.")
            ),
            "case": st.column_config.TextColumn(_("case"), width=130),
        },
        alt=_("Cases"),
    )
    chosen = event["selection"]["rows"]
    return cases[chosen[0] if chosen and chosen[0] < len(cases) else 0].case_id
