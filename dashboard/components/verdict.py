"""Verdicts and counts as badges: colour, icon and word together."""

from __future__ import annotations

import streamlit as st

from dashboard import palette, words
from dashboard.components import untrusted
from dashboard.i18n import _
from engine.domain.runs import Run
from engine.domain.verdicts import Verdict

NONE = "none"
ORDER: tuple[str, ...] = (*(str(verdict) for verdict in Verdict), NONE)
"""The five values of the verdict filter, in the order people read them."""

LOOKS = {
    Verdict.PASS: palette.PASS,
    Verdict.FAIL: palette.FAIL,
    Verdict.NEEDS_HUMAN_REVIEW: palette.REVIEW,
    Verdict.JUDGE_FORMAT_ERROR: palette.UNREADABLE,
    None: palette.NONE,
}


def of(value: str | None) -> Verdict | None:
    """The verdict behind a filter's word."""
    return None if value is None or value == NONE else Verdict(value)


def word(verdict: Verdict | None) -> str:
    return {
        Verdict.PASS: _("pass"),
        Verdict.FAIL: _("fail"),
        Verdict.NEEDS_HUMAN_REVIEW: _("to review"),
        Verdict.JUDGE_FORMAT_ERROR: _("unreadable"),
        None: _("no verdict"),
    }[verdict]


def draw(verdict: Verdict | None, *, note: str = "") -> None:
    """One verdict; `note` is our own words behind it."""
    look = LOOKS[verdict]
    st.badge(f"{word(verdict)} {note}".strip(), icon=look.icon, color=look.hue)


def counts(run: Run, *, skipped: dict[str, int] | None = None) -> None:
    """The five verdict counts of a run, its errors and what was skipped, as one row of badges."""
    tally = run.verdict_counts
    numbers = {
        Verdict.PASS: tally.passed,
        Verdict.FAIL: tally.fail,
        Verdict.NEEDS_HUMAN_REVIEW: tally.needs_human_review,
        Verdict.JUDGE_FORMAT_ERROR: tally.judge_format_error,
        None: tally.none,
    }
    with st.container(horizontal=True, gap="small"):
        for verdict, number in numbers.items():
            if number or verdict is not None:
                draw(verdict, note=words.count(number))
        st.badge(
            _("error {n}").format(n=words.count(run.error_count)), icon=palette.ERROR.icon, color=palette.ERROR.hue
        )
        if run.skipped_count:
            why = " · ".join(
                f"{untrusted.label(words.skipped(reason))} ({words.count(n)})" for reason, n in (skipped or {}).items()
            )
            st.badge(
                _("skipped {n}").format(n=words.count(run.skipped_count)),
                icon=palette.SKIPPED.icon,
                color=palette.SKIPPED.hue,
                help=why or None,
            )


def simulated() -> None:
    """The mark on everything that came from the built-in demo provider."""
    st.badge(
        _("simulated"),
        icon=":material/science:",
        color="violet",
        help=_("The built-in demo model answered. Such a run says nothing about a real model."),
    )
