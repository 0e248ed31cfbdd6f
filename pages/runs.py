"""Start runs, watch them, steer them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard import session
from dashboard.components import (
    error_kinds,
    errors,
    once,
    pager,
    run_actions,
    run_form,
    run_progress,
    run_summary,
    run_table,
)
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.services import banks, providers, reports, results, runs

SIZE = 15

# read
engine, user = session.engine(), session.user()
known = providers.page(engine, actor=user)

# act
st.title(_("Runs"), anchor=False)
if user.may(Permission.STEER_RUNS):
    with st.expander(_("New run"), icon=":material/add_circle:", expanded=True, key="runs.new"), errors.shown():
        asked = run_form.draw(bank_names=banks.names(engine, actor=user), providers=known)
        if asked is not None:
            key = once.key(session.START_KEY, asked.content)
            run = runs.start(engine, asked.spec, actor=user, idempotency_key=key, rules_only=asked.rules_only)
            once.done(session.START_KEY)
            st.session_state[session.SELECTED_RUN] = run.id

# draw
listed = pager.read(session.RUNS_PAGE, SIZE, partial(runs.page, engine, actor=user))
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
chosen = run_table.draw(listed.items, selected=selected, key=f"runs.history.{pager.current(session.RUNS_PAGE)}")
pager.draw(session.RUNS_PAGE, total=listed.total, size=SIZE)
if chosen is not None and chosen != selected:
    st.session_state[session.SELECTED_RUN] = chosen
    st.rerun()
