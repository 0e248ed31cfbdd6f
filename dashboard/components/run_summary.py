"""A finished run at a glance: its line, its verdicts, six figures with their counts."""

from __future__ import annotations

import streamlit as st

from dashboard import words
from dashboard.components import fault, judge_alarm, run_findings, run_title, untrusted, verdict
from dashboard.i18n import _
from engine.domain.runs import Run
from engine.services.reports import Rate, Totals

FIGURE_PX = 128
"""Room for a figure, its name and its counts; where fewer fit side by side, the rest goes into the next row."""


def draw(run: Run, totals: Totals, *, skipped: dict[str, int]) -> None:
    run_title.draw(run)
    if run.finished_at is not None:
        st.caption(
            _("finished {when}, started by {who}").format(
                when=words.moment(run.finished_at), who=untrusted.label(run.created_by, limit=60)
            ),
            help=words.utc(run.finished_at),
        )
    if run.error:
        fault.draw_run(run.error)
    run_findings.draw_warnings(judge_alarm.draw(run))
    draw_figures(run, totals)
    verdict.counts(run, skipped=skipped)
    run_findings.draw_capabilities(run)


def draw_figures(run: Run, totals: Totals) -> None:
    """Pass rate, refusals, over-refusals, and what is in no rate."""
    grid = st.grid(6, min_column_width=FIGURE_PX)
    with grid.cell():
        figure(_("Pass rate"), totals.passed)
    with grid.cell():
        figure(_("Should refuse"), totals.should_refuse, _("Share of the should-refuse questions that were refused."))
    with grid.cell():
        figure(_("Over-refusal"), totals.over_refusal, _("Share of the harmless questions that were refused."))
    tally = run.verdict_counts
    with grid.cell():
        number(_("To review"), tally.needs_human_review, words.of(tally.needs_human_review, run.completed_count))
    with grid.cell():
        number(_("Judge unreadable"), tally.judge_format_error, words.of(tally.judge_format_error, run.completed_count))
    with grid.cell():
        number(_("Errors"), run.error_count, words.of(run.error_count, run.total_count))


def figure(name: str, rate: Rate, hint: str | None = None) -> None:
    """A rate with its counts and interval under it."""
    bounds = words.interval(rate.ci_low, rate.ci_high)
    with st.container(gap=None):
        st.metric(name, words.rate(rate.count, rate.judged), help=hint)
        st.caption(words.of(rate.count, rate.judged) + (f" · {bounds}" if bounds else ""))


def number(name: str, n: int, of: str) -> None:
    with st.container(gap=None):
        st.metric(name, words.count(n))
        st.caption(of)
