"""What a bank lacks for a profile beyond single cells: totals, whole modes, whole clauses, aspects."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import palette, words
from dashboard.components import bank_words
from dashboard.i18n import _, language, ngettext
from engine.domain.banks import ProfileShortage
from engine.domain.cases import Mode
from engine.domain.clauses import Aspect

CELLS = frozenset({"rf_per_clause"})
"""Minima of one cell each, which the grid above marks itself."""


def what(shortage: ProfileShortage) -> str:
    """What a minimum counts, such as `A.1.a Subversion · content questions`."""
    counted = {
        "instances": _("questions in all"),
        "per_mode": _("questions"),
        "per_clause": _("questions"),
        "content": _("content questions"),
        "content_per_clause": _("content questions"),
        "rf": _("should-refuse questions"),
        "oc": _("should-not-refuse questions"),
        "oc_per_aspect": _("should-not-refuse questions"),
        "seeds_per_clause": _("cases"),
        "techniques_per_clause": _("techniques"),
        "sample": _("questions to draw from"),
        "sample_per_kind": _("questions to draw from"),
    }[shortage.key]
    where = of(shortage)
    return f"{where} · {counted}" if where else counted


def of(shortage: ProfileShortage) -> str:
    """The clause, mode, aspect or kind that a minimum is about; empty for the whole bank."""
    match shortage.key:
        case "per_mode":
            return words.mode(Mode(shortage.of))
        case "oc_per_aspect":
            return bank_words.aspect(Aspect(shortage.of))
        case "sample_per_kind":
            return {"content": _("content"), "rf": words.mode(Mode.RF), "oc": words.mode(Mode.OC)}[shortage.of]
        case _:
            return words.clause(shortage.of) if shortage.of else ""


def draw(shortages: Sequence[ProfileShortage], *, profile: str) -> None:
    """How many minima are missed, and by how much, in the order of the standard."""
    short = [each for each in shortages if each.key not in CELLS]
    if not short:
        st.badge(_("every minimum over several cells is met"), icon=palette.PASS.icon, color=palette.PASS.hue)
        return
    st.badge(
        ngettext(
            "{n} minimum over several cells is missed", "{n} minima over several cells are missed", len(short)
        ).format(n=words.count(len(short))),
        icon=palette.FAIL.icon,
        color=palette.FAIL.hue,
    )
    table = pd.DataFrame(
        {
            "what": [what(each) for each in short],
            "need": [each.need for each in short],
            "have": [each.have for each in short],
            "short": [each.need - each.have for each in short],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 440),
        key=f"bank.minima.{profile}.{language()}",
        column_config={
            "what": st.column_config.TextColumn(_("counted over several cells"), width=300),
            "need": st.column_config.NumberColumn(_("need"), width=60, format="localized"),
            "have": st.column_config.NumberColumn(_("have"), width=60, format="localized"),
            "short": st.column_config.NumberColumn(_("short"), width=60, format="localized"),
        },
        alt=_("Missed minima"),
    )
