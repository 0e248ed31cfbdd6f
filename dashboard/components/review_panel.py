"""Where a reviewer decides: reasons by number, a note, and the three keys."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import errors, queue, untrusted
from dashboard.components.queue import Drawn
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.runs import ResultDetail
from engine.domain.verdicts import ReviewVerdict
from engine.errors import ConflictError, EngineError
from engine.services import results, reviews

NOTE = "review.note.{}".format
REASON = "review.picked.{}".format
"""Drafts, each by the execution id of the item it was written for."""
REASON_PX = 165
"""Room for a reason and its key on one line; on a narrow screen they stand below each other, in their order."""
PROBLEM = "review.problem"
"""Why the last click was not obeyed."""


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


def written(execution_id: int) -> str:
    """The reason to be stored: the picked one and the note."""
    picked = st.session_state.get(REASON(execution_id))
    parts = [] if picked is None else [reasons()[picked]]
    note = (st.session_state.get(NOTE(execution_id)) or "").strip()
    return "; ".join([*parts, note] if note else parts)


# What a click does is bound to the item it was drawn with: a callback gets its arguments from the drawing, whatever the
# page would draw next.


def _pick(execution_id: int, number: int) -> None:
    key = REASON(execution_id)
    st.session_state[key] = None if st.session_state.get(key) == number else number


def _skip(execution_id: int) -> None:
    st.session_state[session.REVIEW_SKIPPED] = [*skipped(), execution_id]
    queue.let_go()


def _look_again(drawn: Drawn) -> None:
    st.session_state[session.REVIEW_UP] = drawn


def _decide(drawn: Drawn, verdict: ReviewVerdict) -> None:
    """Store the decision about the item as it was drawn; what was written is dropped only when it was stored."""
    item = drawn.item
    person = session.current()
    if person is None:
        return  # the page goes on to the sign-in form, and the draft waits
    reason = written(item.execution_id)
    if not reason:
        st.session_state[PROBLEM] = _("Pick a reason or write a note first.")
        return
    try:
        now = queue.as_drawn(item, results.get(session.engine(), item.run_id, item.execution_id, actor=person.user))
        if now.attempt != drawn.attempt:
            raise ConflictError("a newer attempt has come since", code="stale_review")
        review = reviews.decide(
            session.engine(),
            item.run_id,
            item.execution_id,
            verdict=verdict,
            reason=reason,
            if_version=drawn.version,
            actor=person.user,
        )
    except EngineError as error:
        st.session_state[PROBLEM] = errors.words(error)
        return
    st.session_state[session.REVIEW_LAST] = (item.run_id, item.execution_id, item.instance_id, verdict, review.version)
    st.session_state[REASON(item.execution_id)] = None
    st.session_state[NOTE(item.execution_id)] = ""
    queue.let_go()


def _undo(run_id: int, execution_id: int, version: int) -> None:
    """Take the last decision back, unless somebody has decided after it."""
    person = session.current()
    if person is None:
        return
    try:
        reviews.decide(
            session.engine(),
            run_id,
            execution_id,
            verdict=ReviewVerdict.CLEAR,
            reason=_("decision taken back"),
            if_version=version,
            actor=person.user,
        )
    except EngineError as error:
        st.session_state[PROBLEM] = errors.words(error)
        if not isinstance(error, ConflictError):
            return
    st.session_state.pop(session.REVIEW_LAST, None)
    st.session_state[session.REVIEW_SKIPPED] = [each for each in skipped() if each != execution_id]
    queue.let_go()


def draw_reasons(drawn: Drawn) -> None:
    execution_id = drawn.item.execution_id
    st.markdown(f"**{_('Reason')}**")
    with st.grid(2, min_column_width=REASON_PX, gap="xxsmall"):
        for number, text in enumerate(reasons()):
            st.button(
                text,
                key=f"review.reason.{execution_id}.{number + 1}",
                shortcut=str(number + 1),
                type="primary" if st.session_state.get(REASON(execution_id)) == number else "secondary",
                on_click=_pick,
                args=(execution_id, number),
                width="stretch",
            )
    st.text_area(
        _("Note"),
        key=NOTE(execution_id),
        placeholder=_("What decided it? Kept with this answer."),
        height=68,
        max_chars=5000,
        persist_state="session",
        label_visibility="collapsed",
    )


def draw_buttons(drawn: Drawn, result: ResultDetail) -> None:
    """Pass, fail, skip; each shows its key. Once somebody else has decided, the reviewer looks again first."""
    item = drawn.item
    now = queue.as_drawn(item, result)
    behind = now != drawn
    row = st.container(horizontal=True, gap="small")  # a button goes into the next line rather than lose its word
    for verdict, label, shortcut, icon in (
        (ReviewVerdict.PASS, _("Pass"), "P", ":material/check_circle:"),
        (ReviewVerdict.FAIL, _("Fail"), "F", ":material/cancel:"),
    ):
        row.button(
            label,
            key=f"review.{verdict}.{item.execution_id}",
            shortcut=shortcut,
            icon=icon,
            disabled=behind,
            on_click=_decide,
            args=(drawn, verdict),
            width="stretch",
        )
    row.button(
        _("Skip"),
        key=f"review.skip.{item.execution_id}",
        shortcut="S",
        icon=":material/skip_next:",
        on_click=_skip,
        args=(item.execution_id,),
        width="stretch",
    )
    if behind:
        st.session_state.pop(PROBLEM, None)
        st.warning(
            _("Somebody else has reviewed this meanwhile. Look again before you decide."), icon=":material/group:"
        )
        st.button(
            _("I have looked again"),
            key=f"review.again.{item.execution_id}",
            icon=":material/visibility:",
            on_click=_look_again,
            args=(now,),
        )
    draw_problem()


def draw_problem() -> None:
    """Why the last click was not obeyed, once."""
    problem = st.session_state.pop(PROBLEM, None)
    if problem:
        st.error(problem, icon=":material/error:")


def draw_undo() -> None:
    """Takes the last decision of this session back; the automatic verdict stands again, the history keeps both."""
    last = st.session_state.get(session.REVIEW_LAST)
    if last is None or not session.user().may(Permission.REVIEW):
        return
    run_id, execution_id, instance_id, verdict, version = last
    said = _("Passed: {item}") if verdict == ReviewVerdict.PASS else _("Failed: {item}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(said.format(item=untrusted.label(instance_id, limit=60)), width="content")
        st.button(
            _("Undo"),
            key="review.undo",
            shortcut="U",
            icon=":material/undo:",
            type="tertiary",
            on_click=_undo,
            args=(run_id, execution_id, version),
        )


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
