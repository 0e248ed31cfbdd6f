"""The versions of a bank by their SHA-256, and what changed between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import session, words
from dashboard.components import bank_address, bank_words, untrusted
from dashboard.i18n import _, language
from engine.domain.banks import BankInfo, CaseChange
from engine.services import banks

SHOWN = 1000
"""Changes listed at once."""

OLD, NEW = "bank.versions.old", "bank.versions.new"


def draw(versions: Sequence[BankInfo]) -> None:
    draw_list(versions)
    st.subheader(_("What changed between two"), anchor=False)
    if len(versions) < 2:
        st.caption(
            _("This bank has one version. Changing its files makes the next.")
            if versions[0].source == bank_words.BUNDLED
            else _("This bank has one version. A further import under its name makes the next.")
        )
        return
    old, new = draw_choice(versions)
    if old.sha256 == new.sha256:
        st.caption(_("Choose two different versions."))
        return
    draw_changes(banks.changes(session.engine(), old.name, old.sha256, new.sha256, actor=session.user()))


def draw_list(versions: Sequence[BankInfo]) -> None:
    table = pd.DataFrame(
        {
            "version": [untrusted.cell(info.version) for info in versions],
            "sha256": [info.sha256[:16] for info in versions],
            "cases": [info.cases for info in versions],
            "instances": [info.instances for info in versions],
            "source": [untrusted.cell(bank_words.source(info.source)) for info in versions],
            "created": [info.created_at for info in versions],
            "who": [untrusted.cell(info.created_by) for info in versions],
            "licence": [untrusted.cell(info.licence or "–") for info in versions],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 33 * 9),
        key=f"bank.versions.{language()}",
        column_config={
            "version": st.column_config.TextColumn(_("version"), width=120),
            "sha256": st.column_config.TextColumn("SHA-256", width=150),
            "cases": st.column_config.NumberColumn(_("cases"), width=70, format="localized"),
            "instances": st.column_config.NumberColumn(_("instances"), width=70, format="localized"),
            "source": st.column_config.TextColumn(_("source"), width=170),
            "created": st.column_config.DatetimeColumn(
                _("stored"),
                width=130,
                format="YYYY-MM-DD HH:mm",
                timezone=str(words.zone()),
                help=_("Your local time, UTC{offset}").format(offset=words.offset()),
            ),
            "who": st.column_config.TextColumn(_("who"), width=90),
            "licence": st.column_config.TextColumn(_("licence"), width=140),
        },
        alt=_("Versions"),
    )


def draw_choice(versions: Sequence[BankInfo]) -> tuple[BankInfo, BankInfo]:
    """Which two; the newest against the one before it, unless somebody chose others."""
    by_hash = {info.sha256: info for info in versions}
    for key, first in ((OLD, versions[1]), (NEW, versions[0])):
        if st.session_state.get(key) not in by_hash:
            st.session_state[key] = first.sha256
    sides = st.columns(2, gap="medium")
    chosen = [
        side.selectbox(
            label,
            list(by_hash),
            format_func=lambda sha256: bank_address.version_name(by_hash[sha256]),
            key=key,
        )
        for side, label, key in zip(sides, (_("From"), _("To")), (OLD, NEW), strict=True)
    ]
    return by_hash[chosen[0]], by_hash[chosen[1]]


def word(change: str) -> str:
    return {"added": _("added"), "removed": _("removed"), "changed": _("changed")}[change]


LOOKS = {"added": ("blue", "add"), "removed": ("red", "remove"), "changed": ("orange", "edit")}


def draw_changes(changes: Sequence[CaseChange]) -> None:
    """How many of each kind, and which cases."""
    tally = Counter(each.change for each in changes)
    with st.container(horizontal=True, gap="small"):
        for change, (colour, icon) in LOOKS.items():
            n = tally[change]
            st.badge(f"{word(change)} {words.count(n)}", icon=f":material/{icon}:", color=colour if n else "gray")
    if not changes:
        st.caption(_("No case differs."))
        return
    table = pd.DataFrame(
        {
            "case": [untrusted.cell(each.case_id) for each in changes[:SHOWN]],
            "change": [word(each.change) for each in changes[:SHOWN]],
            "keys": [untrusted.cell(", ".join(each.keys)) for each in changes[:SHOWN]],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 33 * 14),
        key=f"bank.changes.{language()}",
        column_config={
            "case": st.column_config.TextColumn(_("case"), width=220),
            "change": st.column_config.TextColumn(_("change"), width=90),
            "keys": st.column_config.TextColumn(_("keys that changed"), width=420),
        },
        alt=_("What changed between two"),
    )
    if len(changes) > SHOWN:
        st.caption(_("The first {shown} of {total}.").format(shown=words.count(SHOWN), total=words.count(len(changes))))
