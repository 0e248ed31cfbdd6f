"""What trying the model found out: what it can do, and what is not sent to it or sent otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import remarks, words
from dashboard.i18n import _
from engine.domain.runs import Run

SHOWN = 3
"""So many remarks stand on the card; the rest is one click away."""


def draw_capabilities(run: Run) -> None:
    """One badge for each thing that was tried; nothing before the first try."""
    if not run.capabilities:
        return
    looks = {
        True: (":material/check:", "blue", _("The model can do this.")),
        False: (":material/close:", "gray", _("The model cannot do this. Questions that need it are left out.")),
        None: (":material/help:", "orange", _("This could not be found out, so it is asked all the same.")),
    }
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall"):
        st.caption(_("the model can do"), width="content")
        for name, able in run.capabilities.items():
            icon, colour, hint = looks[able]
            st.badge(words.capability(name), icon=icon, color=colour, help=hint)


def draw_warnings(warnings: Sequence[str]) -> None:
    """Each remark on its own; many of them behind one line."""
    for warning in warnings[:SHOWN]:
        st.warning(remarks.of(warning), icon=":material/warning:")
    rest = warnings[SHOWN:]
    if rest:
        with st.expander(_("More remarks: {n}").format(n=words.count(len(rest))), icon=":material/warning:"):
            for warning in rest:
                st.caption(remarks.of(warning))
