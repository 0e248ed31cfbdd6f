"""The Markdown report of a run, as a file."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import streamlit as st

from dashboard import session
from dashboard.components import errors
from dashboard.i18n import _
from engine.domain.runs import ResultFilter, Run
from engine.services import reports

AT_ONCE = 200
"""Up to so many instances the file is made with the page; beyond, on a click."""
PREPARED = "download.prepared"


class File(NamedTuple):
    name: str
    content: bytes

    @property
    def mime(self) -> str:
        """Carries a hash of the content: Streamlit may else keep serving an older file of the same name."""
        return f"text/markdown; v={hashlib.sha256(self.content).hexdigest()[:32]}"


def make(run: Run) -> File:
    """Everything of the run."""
    made = reports.export(session.engine(), run.id, ResultFilter(), actor=session.user())
    return File(made.file_name, b"".join(made.chunks))


def draw(run: Run) -> None:
    """The button; while a run goes on there is nothing to download yet."""
    if not run.status.is_over:
        st.button(
            _("Download Markdown"),
            disabled=True,
            key="download.not_yet",
            help=_("The report can be had when the run is over."),
        )
        return
    with errors.shown():
        prepared = make(run) if run.total_count <= AT_ONCE else _prepared(run)
        if prepared is not None:
            st.download_button(
                _("Download Markdown"),
                prepared.content,
                file_name=prepared.name,
                mime=prepared.mime,
                key=f"download.save.{run.id}",
                icon=":material/download:",
                on_click="ignore",
            )


def _prepared(run: Run) -> File | None:
    """The file made by the last click, as long as the same run with the same counts is looked at."""
    state = run.model_dump_json()
    held = st.session_state.get(PREPARED)
    if st.button(_("Prepare Markdown"), key="download.prepare", icon=":material/description:"):
        with st.spinner(_("Writing the report …")):
            held = st.session_state[PREPARED] = (state, make(run))
    return held[1] if held is not None and held[0] == state else None
