"""Deciding about one result where it is read, whether it waits in the queue or not, and taking a decision back."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import errors, result_detail, review_panel, untrusted, verdict
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.runs import ExecutionStatus, ResultDetail
from engine.domain.verdicts import ReviewVerdict
from engine.errors import ConflictError
from engine.services import results, reviews

REASON = "decision.reason.{}.{}".format
NOTE = "decision.note.{}.{}".format
"""Drafts, each by the execution id and the newest review of the result it was written for: after a decision, empty."""


def stands(result: ResultDetail) -> bool:
    """Whether a decision of a person counts now, not one that was taken back."""
    return result.review is not None and result.review.verdict is not ReviewVerdict.CLEAR


def draw(result: ResultDetail) -> None:
    """The button that opens the form; an error has no answer to decide about."""
    if not session.user().may(Permission.REVIEW) or result.execution_status is not ExecutionStatus.COMPLETED:
        return
    if st.button(
        _("Decide otherwise") if stands(result) else _("Decide"),
        key=f"decision.open.{result.execution_id}",
        icon=":material/balance:",
        help=_("Your decision counts; the automatic verdict and the history stay visible."),
    ):
        st.session_state[session.DECIDING] = (result.execution_id, _seen(result))
    execution_id, seen = st.session_state.get(session.DECIDING, (None, None))
    if execution_id == result.execution_id:
        ask(result, seen)


def close() -> None:
    """Nobody wants to decide about a result any more; what was written stays with it."""
    st.session_state.pop(session.DECIDING, None)


def _seen(result: ResultDetail) -> tuple[int, int]:
    """The attempt that was read and the newest review of it, 0 for none."""
    attempt = result_detail.shown_attempt(result)
    return (attempt.number if attempt is not None else 0, result.review.version if result.review else 0)


def ask(result: ResultDetail, seen: tuple[int, int]) -> None:
    """Reason first, then the decision; without a reason there is none."""
    key, (_attempt, version) = result.execution_id, seen

    @st.dialog(_("Decide about this answer"), icon=":material/balance:", on_dismiss=close)
    def form() -> None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{untrusted.label(result.instance_id)}**", width="content")
            verdict.draw(result.verdict)
        reasons = review_panel.reasons()
        picked = st.pills(
            _("Reason"),
            range(len(reasons)),  # not their words, which another language has others for
            format_func=reasons.__getitem__,
            key=REASON(key, version),
            persist_state="session",
        )
        note = st.text_area(_("Note"), key=NOTE(key, version), height=68, max_chars=5000, persist_state="session")
        parts = ["" if picked is None else reasons[picked], (note or "").strip()]
        reason = "; ".join(part for part in parts if part)
        row = st.container(horizontal=True, gap="small")
        choices = [
            (ReviewVerdict.PASS, _("Pass"), ":material/check_circle:"),
            (ReviewVerdict.FAIL, _("Fail"), ":material/cancel:"),
        ]
        if stands(result):
            choices.append((ReviewVerdict.CLEAR, _("Back to the automatic verdict"), ":material/undo:"))
        for chosen, label, icon in choices:
            if row.button(label, key=f"decision.{chosen}.{key}", icon=icon):
                decide(result, chosen, reason, seen)

    form()


def decide(result: ResultDetail, chosen: ReviewVerdict, reason: str, seen: tuple[int, int]) -> None:
    """Store it, unless there is no reason or something newer has come; then the form stays as it was filled."""
    if not reason:
        st.error(_("Pick a reason or write a note first."), icon=":material/error:")
        return
    engine, user = session.engine(), session.user()
    with errors.shown():
        attempt, version = seen
        if _seen(results.get(engine, result.run_id, result.execution_id, actor=user))[0] != attempt:
            raise ConflictError("a newer attempt has come since", code="stale_review")
        reviews.decide(
            engine, result.run_id, result.execution_id, verdict=chosen, reason=reason, if_version=version, actor=user
        )
        close()
        st.rerun()
