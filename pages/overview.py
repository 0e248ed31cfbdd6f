"""What stands now: the latest run, what waits for a person, what ran before."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import (
    clause_chart,
    engine_elsewhere,
    errors,
    first_steps,
    run_progress,
    run_summary,
    run_table,
)
from dashboard.i18n import _
from engine.services import reports, results, runs

LATEST = 6
PART_PX = 160
"""The chart takes three such parts, its side two; where five do not fit, the chart takes its own row."""

# read
engine, user = session.engine(), session.user()
latest = runs.page(engine, actor=user, limit=LATEST)
run = next((each for each in latest.items if not each.simulated), None) or next(iter(latest.items), None)
live = next((each for each in latest.items if not each.status.is_over), None)

# act
with errors.shown():
    first_steps.start_demo_if_asked()

# draw
st.title(_("Overview"), anchor=False)
engine_elsewhere.draw()
if run is None:
    first_steps.draw()
elif live is not None:
    run_progress.draw(live.id)
else:
    rows = reports.by_clause(engine, run.id, actor=user)
    with st.container(border=True):
        run_summary.draw(
            run, reports.totals(engine, run.id, actor=user), skipped=results.skipped(engine, run.id, actor=user)
        )
    grid = st.grid(5, min_column_width=PART_PX)
    chart, side = grid.cell(column_span=3), grid.cell(column_span=2)
    with chart:
        st.subheader(_("Pass rate by clause"), anchor=False)
        if run.completed_count:
            clause_chart.draw(rows, key="overview.clauses")
        else:
            st.caption(_("This run has no answer to judge."))
    with side:
        st.subheader(_("Waiting for a person"), anchor=False)
        waiting = sorted((row for row in rows if row.pending), key=lambda row: -row.pending)
        if waiting:
            clause_chart.draw_waiting(waiting, key="overview.waiting")
            st.page_link(session.page("review"), label=_("Open the review queue"), icon=":material/balance:")
        else:
            st.caption(_("Nothing of this run waits for a review."))
        st.subheader(_("Latest runs"), anchor=False)
        opened = run_table.draw(latest.items, selected=None, key="overview.runs", brief=True)
        st.caption(words.of(len(latest.items), latest.total))
        if opened is not None:
            st.switch_page(session.page("results"), query_params={"run": str(opened)})
        first_steps.draw_again()
