"""The queue: one doubtful answer after the other, decided with a reason."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import errors, queue, result_detail, review_panel, run_address, untrusted
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.services import reviews

# read
engine, user = session.engine(), session.user()

# draw
head = st.container(horizontal=True, vertical_alignment="center", gap="small")
head.title(_("Review"), anchor=False, width="content")
with head:
    wanted = queue.draw_clause()
    review_panel.draw_undo()
    review_panel.draw_keys()
run_id = run_address.asked()
aside = review_panel.skipped()
waiting = reviews.queue(engine, actor=user, run_id=run_id, clause=wanted, limit=queue.enough(aside))
queue.draw_standing(waiting.total, run_id=run_id)
with errors.shown():
    shown = queue.up(waiting.items, put_aside=aside, run_id=run_id, clause=wanted)
    if shown is None:
        review_panel.draw_problem()
        st.success(_("Nothing waits for a review."), icon=":material/task_alt:")
        st.stop()
    drawn, result = shown
    left, right = st.columns([3, 2], gap="medium")
    with left:
        result_detail.draw_head(result)
        result_detail.draw_sent(result)
        st.markdown(f"**{_('What it answered')}**")
        result_detail.draw_answered(result)
    with right:
        queue.draw_why(drawn.item)
        review_panel.draw_expectation(result)
        if user.may(Permission.REVIEW):
            review_panel.draw_reasons(drawn)
            review_panel.draw_buttons(drawn, result)
        else:
            st.caption(untrusted.label(words.role(user.role)) + " · " + _("may read, not decide"))
        result_detail.draw_trail(result)
