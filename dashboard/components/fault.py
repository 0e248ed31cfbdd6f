"""An error of an endpoint or a run: what it means and what to do first, the technical message behind it."""

from __future__ import annotations

import streamlit as st

from dashboard import faults, spoken
from dashboard.components import untrusted
from dashboard.i18n import _

OFFERS = "It offers: "
"""How the hint of a check begins that lists the models there are."""


def draw(code: str, message: str, *, hint: str = "") -> None:
    """A failed check."""
    known = faults.of(code)
    lines = [f"**{known.headline}** {known.hint}" if known else f"**{untrusted.label(code)}**"]
    if hint.startswith(OFFERS):
        lines.append(_("It offers: {names}").format(names=untrusted.label(hint.removeprefix(OFFERS), limit=300)))
    elif known is None and hint:
        lines.append(untrusted.label(spoken.said(hint), limit=300))
    _box(lines, message)


def draw_run(error: str) -> None:
    """Why a run ended before its end."""
    known = faults.told(error)
    if known is not None:
        _box([f"**{known.headline}** {known.hint}"], error)
    else:
        st.error(untrusted.label(spoken.sentence(error), limit=500), icon=":material/error:")


def draw_item(code: str, message: str, *, count: str = "") -> None:
    """An execution error, once or so many times."""
    known = faults.of(code)
    with st.container(gap=None):
        head = f"**{known.headline}** {known.hint}" if known else f"**{_('Error')}**"
        st.markdown(f"{count} × {head}" if count else head)
        st.caption(untrusted.label(code))
        untrusted.say(spoken.said(message))


def _box(lines: list[str], message: str) -> None:
    st.error(
        "  \n".join([*lines, f":small[{untrusted.label(spoken.said(message), limit=500)}]"]), icon=":material/error:"
    )
