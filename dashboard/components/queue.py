"""Which item of the review queue is up, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from dashboard import session, words
from dashboard.components import choice, result_detail, verdict
from dashboard.i18n import _, ngettext
from engine.domain.clauses import CLAUSES
from engine.domain.runs import QueueItem, ResultDetail
from engine.domain.verdicts import QueueReason, Verdict
from engine.errors import NotFoundError
from engine.services import results, runs

AHEAD = 500
"""As many items as a list gives out at once."""
CLAUSE = "review.clause"


class Drawn(NamedTuple):
    """An item as the reviewer has it before the eyes; a decision is about exactly this."""

    item: QueueItem
    attempt: int
    version: int
    """The newest review the reviewer saw, 0 for none."""


def as_drawn(item: QueueItem, result: ResultDetail) -> Drawn:
    shown = result_detail.shown_attempt(result)
    return Drawn(item, shown.number if shown is not None else 0, result.review.version if result.review else 0)


def draw_clause() -> str | None:
    """One clause at a time keeps the yardstick steady."""
    return choice.draw(
        _("Clause"),
        [each.id for each in CLAUSES],
        key=CLAUSE,
        format_func=words.clause,
        placeholder=_("all clauses"),
        width=220,
    )


def enough(put_aside: Sequence[int]) -> int:
    """So many items from the front hold one that was not put aside, if there is one."""
    return min(len(put_aside) + 1, AHEAD)


def first(items: Sequence[QueueItem], *, put_aside: Sequence[int]) -> QueueItem | None:
    """The oldest item that was not put aside; when only those are left they come again, the earliest first."""
    fresh = next((item for item in items if item.execution_id not in put_aside), None)
    if fresh is not None or not items:
        return fresh
    waiting = {item.execution_id: item for item in items}
    return next((waiting[each] for each in put_aside if each in waiting), items[0])


def up(
    items: Sequence[QueueItem], *, put_aside: Sequence[int], run_id: int | None, clause: str | None
) -> tuple[Drawn, ResultDetail] | None:
    """The item that is up with what is stored about it now, None when nothing waits.

    It stays up until it is decided or skipped here, even when somebody else takes it off the queue meanwhile: nothing
    may change under the hand that is about to click.
    """
    held: Drawn | None = st.session_state.get(session.REVIEW_UP)
    if held is not None and run_id in (None, held.item.run_id) and clause in (None, held.item.clause):
        try:
            return held, results.get(session.engine(), held.item.run_id, held.item.execution_id, actor=session.user())
        except NotFoundError:
            pass  # its run was deleted
    let_go()
    item = first(items, put_aside=put_aside)
    if item is None:
        return None
    result = results.get(session.engine(), item.run_id, item.execution_id, actor=session.user())
    drawn = st.session_state[session.REVIEW_UP] = as_drawn(item, result)
    return drawn, result


def let_go() -> None:
    """The next page run takes the next item."""
    st.session_state.pop(session.REVIEW_UP, None)


def draw_standing(total: int, *, run_id: int | None) -> None:
    """How many wait."""
    text = ngettext("{n} answer waits", "{n} answers wait", total).format(n=words.count(total))
    if run_id is not None:
        text += " · " + _("run {id} only").format(id=run_id)
    st.caption(text)


def state(item: QueueItem) -> Verdict | None:
    """What it came as; a result that was drawn for audit has a verdict that the judges were sure of."""
    return {QueueReason.JUDGE_FORMAT_ERROR: Verdict.JUDGE_FORMAT_ERROR, QueueReason.AUDIT: item.automatic_verdict}.get(
        item.why, Verdict.NEEDS_HUMAN_REVIEW
    )


def draw_why(item: QueueItem) -> None:
    """The state it is in, why it is here, and whether the run was a simulated one."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        verdict.draw(state(item))
        st.caption(_("Run {id}").format(id=item.run_id), width="content")
        if runs.get(session.engine(), item.run_id, actor=session.user()).simulated:
            verdict.simulated()
        st.caption(words.queue_reason(item.why), width="content")
