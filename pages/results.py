"""Results of one run: filter, list, and one of them in full."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from dashboard import session
from dashboard.components import (
    decision,
    download,
    errors,
    filters,
    pager,
    result_detail,
    result_table,
    run_address,
    run_again,
    run_progress,
    verdict,
)
from dashboard.i18n import _
from engine.services import results, runs

SIZE = 50

# read
engine, user = session.engine(), session.user()
listed = run_address.offered()
filters.take_address(listed)

# draw
head = st.container(horizontal=True, vertical_alignment="center", gap="small")
head.title(_("Results"), anchor=False, width="content")
if not listed:
    st.info(_("Nothing has run yet."), icon=":material/info:")
    st.page_link(session.page("runs"), label=_("Start a run"), icon=":material/play_circle:")
    st.stop()
mark = head.empty()
with head:
    filters.draw_run(listed)
run = next(each for each in listed if each.id == st.session_state[filters.KEY("run")])
if run.simulated:
    with mark:
        verdict.simulated()
with head:
    download.draw(run)
if not run.status.is_over:
    run_progress.follow(run.id, seen=runs.progress(engine, run.id, actor=user).done, since=time.monotonic())
filters.draw(results.facets(engine, run.id, filters.where(), actor=user))
page = pager.read(filters.KEY("page"), SIZE, partial(results.page, engine, run.id, filters.where(), actor=user))
rows, detail = st.columns([2, 3], gap="medium")
with rows:
    if page.items:
        st.session_state[filters.KEY("id")] = result_table.draw(
            page.items, selected=st.session_state.get(filters.KEY("id")), key=filters.table_key(run, page.total)
        )
        pager.draw(filters.KEY("page"), total=page.total, size=SIZE, on_change=filters.nothing_selected)
with detail, errors.shown():
    selected = st.session_state.get(filters.KEY("id"))
    if not run.completed_count + run.error_count:
        st.info(_("This run has no result yet."), icon=":material/inbox:")
    elif not page.total:
        st.info(_("No result matches these filters."), icon=":material/filter_alt_off:")
    elif selected is not None:
        result = results.get(engine, run.id, selected, actor=user)
        result_detail.draw(result)
        with st.container(horizontal=True, gap="small"):
            decision.draw(result)
            run_again.draw_retry_one(run, result)
filters.write_address()
