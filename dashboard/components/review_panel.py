"""Where a reviewer decides: reasons by number, a note, and the three keys."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import errors, untrusted
from dashboard.i18n import _
from engine.domain.runs import QueueItem, ResultDetail
from engine.domain.verdicts import ReviewVerdict
from engine.services import reviews

NOTE = "review.note"
REASON = "review.reason"


def reasons() -> list[str]:
    """What decides most reviews, in the order of their keys."""
    return [
        _("meets the expectation"),
        _("gives operational detail"),
        _("accepts a false premise"),
        _("refuses without need"),
        _("too vague to help"),
    ]


def skipped() -> list[int]:
    """Execution ids put aside in this session; they come back when nothing else is left."""
    return list(st.session_state.setdefault(session.REVIEW_SKIPPED, []))


def _pick(number: int) -> None:
    st.session_state[REASON] = None if st.session_state.get(REASON) == number else number


def written() -> str:
    """The reason to be stored: the picked one and the note."""
    picked = st.session_state.get(REASON)
    parts = [] if picked is None else [reasons()[picked]]
    note = (st.session_state.get(NOTE) or "").strip()
    return "; ".join([*parts, note] if note else parts)


def draw_reasons() -> None:
    st.markdown(f"**{_('Reason')}**")
    sides = [column.container(gap="xxsmall") for column in st.columns(2, gap="xxsmall")]
    for number, text in enumerate(reasons()):
        sides[number % 2].button(
            text,
            key=f"review.reason.{number + 1}",
            shortcut=str(number + 1),
            type="primary" if st.session_state.get(REASON) == number else "secondary",
            on_click=_pick,
            args=(number,),
            width="stretch",
        )
    st.text_area(
        _("Note"),
        key=NOTE,
        placeholder=_("What decided it? Kept while you move."),
        height=68,
        max_chars=5000,
        persist_state="session",
        label_visibility="collapsed",
    )


def draw_buttons(item: QueueItem) -> None:
    """Pass, fail, skip; each shows its key."""
    yes, no, later = st.columns(3)
    passed = yes.button(_("Pass"), key="review.pass", shortcut="P", icon=":material/check_circle:", width="stretch")
    failed = no.button(_("Fail"), key="review.fail", shortcut="F", icon=":material/cancel:", width="stretch")
    if later.button(_("Skip"), key="review.skip", shortcut="S", icon=":material/skip_next:", width="stretch"):
        st.session_state[session.REVIEW_SKIPPED] = [*skipped(), item.execution_id]
        st.rerun()
    if passed or failed:
        decide(item, ReviewVerdict.PASS if passed else ReviewVerdict.FAIL)


def decide(item: QueueItem, verdict: ReviewVerdict) -> None:
    """Store the decision and go on to the next item; the note is emptied only when it was stored."""
    reason = written()
    if not reason:
        st.error(_("Pick a reason or write a note first."), icon=":material/edit_note:")
        return
    with errors.shown():
        reviews.decide(
            session.engine(),
            item.run_id,
            item.execution_id,
            verdict=verdict,
            reason=reason,
            if_version=item.review.version if item.review is not None else 0,
            actor=session.user(),
        )
        st.session_state[session.REVIEW_LAST] = (item.run_id, item.execution_id, item.instance_id, str(verdict))
        st.session_state[REASON] = None
        st.session_state["review.empty_note"] = True
        st.rerun()


def empty_note_if_stored() -> None:
    """A text area may be emptied only before it is drawn."""
    if st.session_state.pop("review.empty_note", False):
        st.session_state[NOTE] = ""


def draw_undo() -> None:
    """Takes the last decision of this session back; the automatic verdict stands again, the history keeps both."""
    last = st.session_state.get(session.REVIEW_LAST)
    if last is None:
        return
    run_id, execution_id, instance_id, verdict = last
    said = _("Passed: {item}") if verdict == ReviewVerdict.PASS else _("Failed: {item}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(said.format(item=untrusted.label(instance_id, limit=60)), width="content")
        if st.button(_("Undo"), key="review.undo", shortcut="U", icon=":material/undo:", type="tertiary"):
            with errors.shown():
                reviews.decide(
                    session.engine(),
                    run_id,
                    execution_id,
                    verdict=ReviewVerdict.CLEAR,
                    reason=_("decision taken back"),
                    if_version=None,
                    actor=session.user(),
                )
                st.session_state.pop(session.REVIEW_LAST)
                st.session_state[session.REVIEW_SKIPPED] = [each for each in skipped() if each != execution_id]
                st.rerun()


def draw_expectation(result: ResultDetail) -> None:
    """What a good answer does and must not do, as the case says."""
    with st.container(border=True, gap="xsmall"):
        st.caption(_("A good answer"))
        untrusted.say(result.instance.expectation.must)
        st.caption(_("It must not"))
        untrusted.say(result.instance.expectation.must_not)


def draw_keys() -> None:
    """The keys of this page, in a dialog of their own; the buttons print them too."""

    @st.dialog(_("Keys"), icon=":material/keyboard:")
    def listed() -> None:
        for key, meaning in (
            ("1 – 5", _("pick a reason")),
            ("P", _("Pass")),
            ("F", _("Fail")),
            ("S", _("Skip")),
            ("U", _("Undo")),
            (_("Ctrl+Enter"), _("keep the note, then decide with a letter")),
            ("H", _("this list")),
        ):
            st.markdown(f"`{key}`  {meaning}")
        st.caption(_("Single letters do nothing while you type."))

    if st.button(_("Keys"), key="review.keys", shortcut="H", icon=":material/keyboard:", type="tertiary"):
        listed()
