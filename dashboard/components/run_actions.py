"""What a person can do with a run that is over."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import errors, run_again
from dashboard.i18n import _, ngettext
from engine.domain.accounts import Permission
from engine.domain.runs import Run
from engine.services import reviews, runs


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
        if run.error_count:
            run_again.draw_retry_errors(run)
        run_again.draw_judge(run)
        if st.button(_("Delete"), key="run_actions.delete", icon=":material/delete:"):
            st.session_state[session.DELETING_RUN] = run.id
            run_again.close_judging()
    if st.session_state.get(session.JUDGING_RUN) == run.id:
        run_again.ask_how_to_judge(run)
    if st.session_state.get(session.DELETING_RUN) == run.id:
        confirm(run)


def close() -> None:
    """Nobody wants to delete anything any more."""
    st.session_state.pop(session.DELETING_RUN, None)


def confirm(run: Run) -> None:
    """Ask in a dialog that names what goes."""
    decided = reviews.count(session.engine(), run.id, actor=session.user())

    @st.dialog(_("Delete this run?"), icon=":material/delete:", on_dismiss=close)
    def ask() -> None:
        st.markdown(
            _("Run {id} goes for good: {answers}, {errors}, {reviews}.").format(
                id=run.id,
                answers=ngettext("{n} answer", "{n} answers", run.completed_count).format(
                    n=words.count(run.completed_count)
                ),
                errors=ngettext("{n} error", "{n} errors", run.error_count).format(n=words.count(run.error_count)),
                reviews=ngettext("{n} review", "{n} reviews", decided).format(n=words.count(decided)),
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
                close()
                st.rerun()

    ask()
