"""Which column of somebody's table holds what, and what stands in where it has none."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session, words
from dashboard.components import bank_words, untrusted
from dashboard.i18n import _
from engine.domain.cases import Mode, Severity, Technique
from engine.domain.clauses import CLAUSES, Aspect
from engine.services import banks

NEEDED = ("text", "clause")
USUAL = ("mode", "language", "severity", "case_id", "title")
FURTHER = ("system", "must", "must_not", "technique", "aspect", "tags")

ELSE = {
    "clause": ([each.id for each in CLAUSES], words.clause),
    "mode": (list(Mode), words.mode),
    "severity": (list(Severity), words.severity),
    "technique": (list(Technique), bank_words.technique),
    "aspect": (list(Aspect), bank_words.aspect),
    "language": (["zh-CN", "en"], untrusted.cell),
}
"""What can stand in for all rows, and how it is called."""


def label(name: str) -> str:
    return {
        "text": _("Question"),
        "clause": _("Clause"),
        "mode": _("Mode"),
        "language": _("Language"),
        "severity": _("Severity"),
        "case_id": _("Id"),
        "title": _("Title"),
        "system": _("System text"),
        "must": _("A good answer"),
        "must_not": _("It must not"),
        "technique": _("Technique"),
        "aspect": _("Aspect"),
        "tags": _("Tags"),
    }[name]


def draw(chosen: str, file: banks.SourceFile) -> banks.ColumnMapping:
    """The form over the columns of the first file. Raises BankError where it cannot be read."""
    found = banks.columns(session.engine(), chosen, file, actor=session.user())
    st.markdown(f"**{_('Columns')}**")
    columns: dict[str, str] = {}
    defaults: dict[str, str] = {}
    for name in (*NEEDED, *USUAL):
        draw_one(name, found, columns, defaults)
    with st.expander(_("More columns"), icon=":material/view_column:"):
        for name in FURTHER:
            draw_one(name, found, columns, defaults)
    turns = [each for each in found if each.lower().startswith("turn_")]
    if turns:
        st.caption(_("Columns turn_1, turn_2, … are read as the turns of a conversation."))
    return banks.ColumnMapping(columns=columns, defaults=defaults)


def draw_one(name: str, found: Sequence[str], columns: dict[str, str], defaults: dict[str, str]) -> None:
    """One of our names: its column, and what stands in where there is none or a cell is blank."""
    left, right = st.columns(2)
    guess = next((at for at, each in enumerate(found) if each.strip().lower() == name), None)
    with left:
        column = st.selectbox(
            label(name),
            range(len(found)),
            index=guess,
            format_func=lambda at: untrusted.cell(found[at], limit=60),
            placeholder=_("not in the file"),
            key=f"bank.column.{name}.{hash(tuple(found))}",
        )
    if column is not None:
        columns[name] = found[column]
    if name in ELSE:
        options, word = ELSE[name]
        with right:
            instead = st.selectbox(
                _("where blank"),
                options,
                index=None,
                format_func=word,
                placeholder=_("nothing"),
                key=f"bank.else.{name}",
            )
        if instead is not None:
            defaults[name] = str(instead)
