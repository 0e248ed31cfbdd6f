"""How many instances each clause has in each mode, and where that is less than a profile needs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import charts, palette, words
from dashboard.components import bank_address, choice, untrusted
from dashboard.i18n import _, language, ngettext
from engine.domain.banks import CoverageCell
from engine.domain.cases import Mode
from engine.domain.clauses import CLAUSES
from engine.services.catalog import ProfileInfo

CHART = "bank.coverage"

HEADING = 10
"""Letters of a mode's name that stand on one line above its column."""


def kind(cell: CoverageCell) -> str:
    """How a cell is drawn: `short` of the minimum, `empty` for a reason, else `enough`."""
    if cell.instances < cell.minimum:
        return "short"
    return "empty" if not cell.instances and cell.reason is not None else "enough"


def figure(cell: CoverageCell) -> str:
    """What stands in a cell: `7`, `3/5` where 5 are needed, a dash where nothing is meant to be."""
    return {
        "short": f"{words.count(cell.instances)}/{words.count(cell.minimum)}",
        "empty": "–",
        "enough": words.count(cell.instances),
    }[kind(cell)]


def note(cell: CoverageCell) -> str:
    if kind(cell) == "short":
        return _("{n} short").format(n=words.count(cell.minimum - cell.instances))
    return "" if cell.reason is None else untrusted.cell(cell.reason)


def frame(cells: Sequence[CoverageCell]) -> pd.DataFrame:
    """What `charts.coverage` draws: the cells, and a sum for each clause and mode."""
    rows = [
        {
            "label": words.clause(cell.clause),
            "title": f"{cell.clause} {words.clause_title(cell.clause)}",
            "clause": cell.clause,
            "mode": cell.mode.value,
            "mode_name": words.mode(cell.mode),
            "n": cell.instances,
            "need": cell.minimum,
            "note": note(cell),
            "figure": figure(cell),
            "kind": kind(cell),
        }
        for cell in cells
    ]
    every = _("sum")
    for clause in CLAUSES:
        names = {"label": words.clause(clause.id), "title": f"{clause.id} {words.clause_title(clause.id)}"}
        rows.append(_sum([cell for cell in cells if cell.clause == clause.id]) | names | {"mode_name": every})
    for mode in Mode:
        names = {"label": every, "title": every, "mode_name": words.mode(mode)}
        rows.append(_sum([cell for cell in cells if cell.mode is mode]) | names)
    table = pd.DataFrame([*rows, _sum(cells) | {"label": every, "title": every, "mode_name": every}])
    return table.assign(heading=["\n".join(textwrap.wrap(name, HEADING)) for name in table["mode_name"]])


def _sum(cells: Sequence[CoverageCell]) -> dict[str, object]:
    n = sum(cell.instances for cell in cells)
    need = sum(cell.minimum for cell in cells)
    return {"clause": "", "mode": "", "n": n, "need": need, "note": "", "figure": words.count(n), "kind": "sum"}


def _opened() -> None:
    """A click on a cell opens its cases; a sum has none of its own."""
    picked = st.session_state[CHART]["selection"].get("cell")
    if picked and picked[0]["clause"] and picked[0]["mode"]:
        bank_address.show(clause=picked[0]["clause"], mode=Mode(picked[0]["mode"]))


def draw(cells: Sequence[CoverageCell]) -> None:
    """The heat map; a click on a cell leads to its cases."""
    st.altair_chart(
        charts.coverage(frame(cells), dark=st.context.theme.type == "dark"),
        key=CHART,
        on_select=_opened,
        selection_mode="cell",
        alt=_("Instances by clause and mode"),
    )


def draw_profile(profiles: Sequence[ProfileInfo]) -> str:
    """Which profile's minima the counts are held against."""
    infos = {info.name: info for info in profiles}
    usual = next((info.name for info in profiles if info.formal), profiles[-1].name)
    chosen = choice.draw(
        _("Against the minimum of"),
        list(infos),
        key=bank_address.KEY("profile"),
        format_func=lambda name: f"{name} · {infos[name].title.in_language(language())}",
        default=usual,
        hide_label=False,
    )
    return chosen or usual


def draw_short(cells: Sequence[CoverageCell]) -> None:
    """What is short, what is empty on purpose, and how to read the chart."""
    kinds = {name: [cell for cell in cells if kind(cell) == name] for name in ("short", "empty")}
    short = sorted(kinds["short"], key=lambda cell: cell.instances - cell.minimum)
    if short:
        st.badge(
            ngettext("{n} cell is short", "{n} cells are short", len(short)).format(n=words.count(len(short))),
            icon=palette.FAIL.icon,
            color=palette.FAIL.hue,
        )
        draw_list(short)
    elif any(cell.minimum for cell in cells):
        st.badge(_("no cell is short"), icon=palette.PASS.icon, color=palette.PASS.hue)
    else:
        st.caption(_("This profile asks for no minimum in any cell."))
    for text in dict.fromkeys(cell.reason for cell in kinds["empty"] if cell.reason is not None):
        same = [cell for cell in kinds["empty"] if cell.reason == text]
        st.caption(
            ngettext("{n} cell is empty on purpose:", "{n} cells are empty on purpose:", len(same)).format(
                n=words.count(len(same))
            )
            + f" {untrusted.label(text)}"
        )
    st.caption(_("A cell shows have/need where it is short. Click one to see its cases."))


def draw_list(short: Sequence[CoverageCell]) -> None:
    """The short cells, the shortest first."""
    table = pd.DataFrame(
        {
            "clause": [words.clause(cell.clause) for cell in short],
            "mode": [words.mode(cell.mode) for cell in short],
            "need": [cell.minimum for cell in short],
            "have": [cell.instances for cell in short],
            "short": [cell.minimum - cell.instances for cell in short],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 440),
        key="bank.short",
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=140),
            "mode": st.column_config.TextColumn(_("mode"), width=90),
            "need": st.column_config.NumberColumn(_("need"), width=48, format="localized"),
            "have": st.column_config.NumberColumn(_("have"), width=48, format="localized"),
            "short": st.column_config.NumberColumn(_("short"), width=48, format="localized"),
        },
        alt=_("Short cells"),
    )
