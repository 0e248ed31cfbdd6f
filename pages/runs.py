"""Start runs, watch them, steer them."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import error_kinds, errors, pager, run_actions, run_form, run_progress, run_summary, run_table
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.services import catalog, providers, reports, results, runs

SIZE = 15

# read
engine, user = session.engine(), session.user()
known = providers.page(engine, actor=user)

# act
st.title(_("Runs"), anchor=False)
if user.may(Permission.STEER_RUNS):
    with st.expander(_("New run"), icon=":material/add_circle:", expanded=True, key="runs.new"), errors.shown():
        spec = run_form.draw(profiles=catalog.profiles(engine, actor=user), providers=known)
        if spec is not None:
            run = runs.start(engine, spec, actor=user, idempotency_key=run_form.idempotency_key())
            run_form.started()
            st.session_state[session.SELECTED_RUN] = run.id

# draw
number = pager.current(session.RUNS_PAGE)
listed = runs.page(engine, actor=user, limit=SIZE, offset=(number - 1) * SIZE)
selected = st.session_state.get(session.SELECTED_RUN) or next((run.id for run in listed.items), None)
if selected is None:
    st.info(_("Nothing has run yet."), icon=":material/info:")
    st.stop()
with errors.shown():
    run = runs.get(engine, selected, actor=user)
    if run.status.is_over:
        with st.container(border=True):
            run_summary.draw(
                run, reports.totals(engine, run.id, actor=user), skipped=results.skipped(engine, run.id, actor=user)
            )
            error_kinds.draw(run.id)
            run_actions.draw(run)
    else:
        run_progress.draw(run.id)
st.subheader(_("History"), anchor=False)
chosen = run_table.draw(listed.items, selected=selected, key=f"runs.history.{number}")
pager.draw(session.RUNS_PAGE, total=listed.total, size=SIZE)
if chosen is not None and chosen != selected:
    st.session_state[session.SELECTED_RUN] = chosen
    st.rerun()
