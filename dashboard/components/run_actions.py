"""What a person can do with a run that is over."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import errors
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.runs import Run
from engine.services import runs


def draw(run: Run) -> None:
    with st.container(horizontal=True, gap="small"):
        if st.button(_("Open the results"), key="run_actions.open", icon=":material/fact_check:", type="primary"):
            st.switch_page(session.page("results"), query_params={"run": str(run.id)})
        if not session.user().may(Permission.STEER_RUNS):
            return
        if run.status.is_resumable and st.button(
            _("Resume"),
            key="run_actions.resume",
            icon=":material/resume:",
            help=_("Only what has no stored answer is asked."),
        ):
            with errors.shown():
                runs.resume(session.engine(), run.id, actor=session.user())
                st.rerun()
        if st.button(_("Delete"), key="run_actions.delete", icon=":material/delete:"):
            confirm(run)


def confirm(run: Run) -> None:
    """Ask in a dialog that names what goes."""

    @st.dialog(_("Delete this run?"), icon=":material/delete:")
    def ask() -> None:
        st.markdown(
            _("Run {id} goes for good: {answers} answers, {errors} errors, and every review of them.").format(
                id=run.id, answers=words.count(run.completed_count), errors=words.count(run.error_count)
            )
        )
        st.caption(_("The audit trail keeps that it was there."))
        if st.button(
            _("Delete run {id}").format(id=run.id),
            key="run_actions.confirm",
            type="primary",
            icon=":material/delete_forever:",
        ):
            with errors.shown():
                runs.delete(session.engine(), run.id, actor=session.user())
                st.session_state.pop(session.SELECTED_RUN, None)
                st.rerun()

    ask()
