"""One line that names a run: number, model, profile, state, and the mark of a simulated one."""

from __future__ import annotations

import streamlit as st

from dashboard import palette, words
from dashboard.components import untrusted, verdict
from dashboard.i18n import _
from engine.domain.runs import Run, RunStatus

_LOOKS: dict[RunStatus, tuple[palette.Colour, str]] = {
    RunStatus.PENDING: ("gray", ":material/hourglass_empty:"),
    RunStatus.PROBING: ("blue", ":material/troubleshoot:"),
    RunStatus.RUNNING: ("blue", ":material/play_circle:"),
    RunStatus.COMPLETED: ("blue", ":material/task_alt:"),
    RunStatus.FAILED: ("red", ":material/error:"),
    RunStatus.CANCELLED: ("gray", ":material/stop_circle:"),
    RunStatus.INTERRUPTED: ("orange", ":material/pause_circle:"),
}


def text(run: Run) -> str:
    """As it stands in a list of choices; select boxes draw plain text."""
    mark = f" · {_('simulated')}" if run.simulated else ""
    return f"{run.id} · {untrusted.cell(run.model, limit=40)} · {untrusted.cell(run.profile, limit=30)}{mark}"


def judging(run: Run) -> str:
    """Who judges it."""
    if not run.auto_judge:
        return _("not judged")
    if run.judge_model:
        return _("judged by {judge}").format(judge=untrusted.label(run.judge_model, limit=60))
    return _("judged by rules alone")


def draw(run: Run) -> None:
    colour, icon = _LOOKS[run.status]
    model, profile = untrusted.label(run.model, limit=60), untrusted.label(run.profile, limit=40)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            f"**{_('Run {id}').format(id=run.id)}** · "
            + _("{model} on {profile}").format(model=f"**{model}**", profile=f"**{profile}**")
            + f" · {judging(run)}",
            width="content",
        )
        st.badge(words.run_status(run.status), icon=icon, color=colour)
        if run.simulated:
            verdict.simulated()
