"""How far the judges can be trusted: beside people's decisions in a run, and on a labelled file."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import calibration_file, calibration_run, judge_alarm, run_address
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.services import calibration, providers

# read
engine, user = session.engine(), session.user()
listed = run_address.offered()

# draw
title, chosen = st.columns([3, 3], vertical_alignment="bottom")
title.title(_("Judges"), anchor=False)
if not listed:
    st.info(_("Nothing has run yet."), icon=":material/info:")
    st.page_link(session.page("runs"), label=_("Start a run"), icon=":material/play_circle:")
else:
    with chosen:
        run = calibration_run.draw_choice(listed)
    judge_alarm.draw(run, link=False)
    found = calibration.of_run(engine, run.id, actor=user)
    calibration_run.draw_pooled(found)
    calibration_run.draw_sample(found.pooled)
    st.subheader(_("By clause"), anchor=False)
    calibration_run.draw_clauses(found.clauses)
    controls, audit = st.columns([3, 2], gap="large")
    with controls:
        calibration_run.draw_controls(found)
    with audit:
        calibration_run.draw_audit(found.audit, run.id)
        calibration_run.draw_verdicts(found.pooled)
if user.may(Permission.REVIEW):
    st.subheader(_("Measure on a labelled file"), anchor=False)
    calibration_file.draw(providers.page(engine, actor=user))
