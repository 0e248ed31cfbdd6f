"""Execution errors of a run by kind, the first message of each readable."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import fault
from dashboard.i18n import _
from engine.services import results


def draw(run_id: int) -> None:
    kinds = results.errors(session.engine(), run_id, actor=session.user())
    if not kinds:
        return
    with st.expander(_("Errors by kind"), icon=":material/error:"):
        for kind in kinds:
            fault.draw_item(kind.code, kind.message, count=words.count(kind.count))
