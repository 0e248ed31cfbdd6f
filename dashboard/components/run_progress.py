"""The live card of a run: what is done, what is left, how it looks so far. Everything comes from the store."""

from __future__ import annotations

import time

import streamlit as st

from dashboard import session, spoken, words
from dashboard.components import (
    clause_chart,
    error_kinds,
    errors,
    judge_alarm,
    run_findings,
    run_title,
    untrusted,
    verdict,
)
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.runs import Progress, Run, RunStatus
from engine.services import reports, results, runs

EVERY_S = 1.0
"""How often the card looks."""
FOLLOW_S = 2.0
"""How often a list of results that still grows is drawn anew."""


def headline(now: Progress) -> str:
    """Such as `262 of 451 · 5 errors · 38 s so far · 27 s left · 5.1 per s · 64 in flight`."""
    parts = [
        words.of(now.done, now.run.total_count),
        _("errors: {n}").format(n=words.count(now.run.error_count)),
        _("{time} so far").format(time=words.duration(now.elapsed_s)),
    ]
    if now.eta_s is not None:
        parts.append(_("{time} left").format(time=words.duration(now.eta_s)))
    if now.rate_per_s is not None:
        parts.append(_("{n} per s").format(n=f"{now.rate_per_s:.1f}"))
    if now.in_flight is not None:
        parts.append(_("{n} in flight").format(n=words.count(now.in_flight)))
    return " · ".join(parts)


@st.fragment(run_every=EVERY_S)
def draw(run_id: int) -> None:
    """Follows the run by itself and redraws the whole page once when it ends."""
    engine, user = session.engine(), session.user()
    now = runs.progress(engine, run_id, actor=user)
    if now.run.status.is_over:
        st.rerun()
    with st.container(border=True):
        title, action = st.columns([5, 1], vertical_alignment="center")
        with title:
            run_title.draw(now.run)
        if user.may(Permission.STEER_RUNS) and action.button(
            _("Cancel"), key=f"run_progress.cancel.{run_id}", icon=":material/stop_circle:", width="stretch"
        ):
            with errors.shown():
                runs.cancel(engine, run_id, actor=user)
        if now.run.status is RunStatus.PROBING:
            st.caption(_("Trying what the model can do before the first question."))
        st.progress(min(now.share_done, 1.0), text=headline(now))
        verdict.counts(now.run, skipped=results.skipped(engine, run_id, actor=user))
        draw_waiting(now.run)
        run_findings.draw_capabilities(now.run)
        run_findings.draw_warnings(judge_alarm.draw(now.run))
        error_kinds.draw(run_id)
    st.subheader(_("By clause, as it fills"))
    clause_chart.draw_progress(reports.by_clause(engine, run_id, actor=user), key=f"run_progress.clauses.{run_id}")


@st.fragment(run_every=FOLLOW_S)
def follow(run_id: int, *, seen: int, since: float) -> None:
    """One line above the results of a run that still goes on; redraws the page when there are more, and at the end.

    Args:
        seen: How many instances were done when the page was drawn.
        since: When that was, on the monotonic clock; a quick run must not keep the page from being drawn to its end.
    """
    now = runs.progress(session.engine(), run_id, actor=session.user())
    if now.run.status.is_over or (now.done != seen and time.monotonic() - since >= FOLLOW_S):
        st.rerun()
    st.caption(f":material/sync: {_('This run is still going; the list follows by itself.')} {headline(now)}")


def draw_waiting(run: Run) -> None:
    """Why nothing moves, in words."""
    if run.waiting is None:
        return
    until = (
        " " + _("Next try at {time}.").format(time=words.clock(run.waiting.until))
        if run.waiting.until is not None
        else ""
    )
    st.warning(f"{words.waiting(run.waiting)}{until}", icon=":material/hourglass_top:")
    st.caption(untrusted.label(spoken.said(run.waiting.message), limit=500))
