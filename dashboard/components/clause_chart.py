"""The 31 clauses of a report as charts: rates when a run has them, filling bars while it goes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import charts, words
from dashboard.i18n import _
from engine.domain.runs import ClauseRow

THRESHOLD = 0.90
"""The share of acceptable answers that TC260-003-2024 asks of generated content."""


def _is_dark() -> bool:
    return st.context.theme.type == "dark"


def figures(row: ClauseRow) -> str:
    """Such as `7/17 · 21.6–64.0 %`; a clause without a verdict says `n/a (0 of 0)`."""
    judged = row.passed + row.fail
    if row.ci_low is None or row.ci_high is None:
        return f"{_('n/a')} ({words.of(0, 0)})"
    bounds = f"{100 * row.ci_low:.1f}–{100 * row.ci_high:.1f} %"
    return f"{words.count(row.passed)}/{words.count(judged)} · {bounds}"


def still_open(row: ClauseRow) -> str:
    """Such as `+2 open`."""
    return _("+{n} open").format(n=words.count(row.pending)) if row.pending else ""


def rates_frame(rows: Sequence[ClauseRow]) -> pd.DataFrame:
    """What `charts.pass_rate_by_clause` draws."""
    return pd.DataFrame(
        {
            "label": words.clause(row.clause),
            "title": f"{row.clause} {words.clause_title(row.clause)}",
            "passed": row.passed,
            "judged": row.passed + row.fail,
            "open": row.pending,
            "rate": row.pass_rate,
            "low": row.ci_low,
            "high": row.ci_high,
            "figures": figures(row),
            "still_open": still_open(row),
        }
        for row in rows
    ).astype({"rate": float, "low": float, "high": float})


def progress_frame(rows: Sequence[ClauseRow]) -> pd.DataFrame:
    """What `charts.progress_by_clause` draws: a clause's planned instances, split by what came of them."""
    frame = []
    for row in rows:
        done = row.executed + row.errors + row.skipped
        split = (
            row.passed,
            row.fail,
            row.needs_human_review,
            row.judge_format_error,
            row.undecided,
            row.errors,
            row.skipped,
            max(row.planned - done, 0),
        )
        frame += [
            {
                "label": words.clause(row.clause),
                "title": f"{row.clause} {words.clause_title(row.clause)}",
                "state": state,
                "order": order,
                "n": n,
                "planned": row.planned,
            }
            for order, (state, n) in enumerate(zip(charts.STATES, split, strict=True))
        ]
    return pd.DataFrame(frame)


def draw(rows: Sequence[ClauseRow], *, key: str) -> None:
    """Pass rate by clause."""
    chart = charts.pass_rate_by_clause(rates_frame(rows), threshold=THRESHOLD, dark=_is_dark())
    st.altair_chart(chart, key=key, alt=_("Pass rate by clause with its 95 % interval"))
    st.caption(
        _("Dashed line: {n} %. A diamond lies below it. Open answers are in no rate.").format(n=round(100 * THRESHOLD))
    )


def draw_progress(rows: Sequence[ClauseRow], *, key: str) -> None:
    """Bars that fill."""
    chart = charts.progress_by_clause(progress_frame(rows), dark=_is_dark())
    st.altair_chart(chart, key=key, alt=_("Progress by clause"))


def draw_waiting(rows: Sequence[ClauseRow], *, key: str) -> None:
    """Clauses with open answers, the most open first, and how far the rate can still move."""
    frame = pd.DataFrame(
        {
            "clause": [words.clause(row.clause) for row in rows],
            "open": [row.pending for row in rows],
            "rate": [span(row) for row in rows],
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        height=min(33 * (len(frame) + 1) + 2, 33 * 7),
        row_height=33,
        key=key,
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=170),
            "open": st.column_config.NumberColumn(_("open"), width=56, format="%d"),
            "rate": st.column_config.TextColumn(
                _("rate, worst to best"),
                width=130,
                alignment="right",
                help=_("The pass rate if every open answer failed, and if every one passed."),
            ),
        },
        alt=_("Waiting for a person"),
    )


def span(row: ClauseRow) -> str:
    """The pass rate if all open answers failed, and if all passed."""
    whole = row.passed + row.fail + row.pending
    return f"{100 * row.passed / whole:.0f} – {100 * (row.passed + row.pending) / whole:.0f} %"
