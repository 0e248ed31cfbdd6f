"""Bring questions in from files: choose, look at what would become of them, then store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

import pandas as pd
import streamlit as st

from dashboard import session, spoken, uploads, words
from dashboard.components import bank_address, bank_columns, bank_words, errors, untrusted
from dashboard.i18n import _, language, ngettext
from engine.domain.banks import ImportReport
from engine.errors import BankError
from engine.services import banks

KEY = "bank.import.{}".format
PREVIEW = KEY("preview")
"""The last preview, and what it was made of."""
DONE = KEY("done")
"""What the last import stored, and what it was made of."""

SHOWN = 500
"""Rows without a mapping that are listed."""


@contextmanager
def refusals() -> Iterator[None]:
    """A file that is not what was said of it becomes a message that names file, line and column."""
    with errors.shown():
        try:
            yield
        except BankError as error:
            st.error(
                _("This cannot be taken in; nothing was stored.")
                + "  \n"
                + untrusted.label(spoken.said(error.message), limit=800),
                icon=":material/error:",
            )


def draw() -> None:
    """The form on the left, what would come of it on the right."""
    uploads.offer()
    form, outcome = st.columns([2, 3], gap="large")
    with form:
        chosen = st.selectbox(
            _("Format"), list(bank_words.FORMATS), format_func=bank_words.FORMATS.__getitem__, key=KEY("format")
        )
        files = take_files(chosen)
        name, version = draw_name(files)
        mapping = None
        if chosen in bank_words.TABLES and files:
            with refusals():
                mapping = bank_columns.draw(chosen, files[0])
    made_of = fingerprint(chosen, files, mapping)
    with outcome:
        draw_outcome(chosen, files, mapping, name=name, version=version, made_of=made_of)


def take_files(chosen: str) -> list[banks.SourceFile]:
    """What was dropped; kept by the browser's page until it is taken away again."""
    dropped = st.file_uploader(
        _("Files"),
        accept_multiple_files=True,
        key=f"{KEY('files')}.{chosen}",
        help=_("Up to 64 MB each and 128 MB in all. Nothing is stored before you import."),
    )
    with refusals():
        banks.check_total([each.size for each in dropped])  # before any of them is copied
        return [banks.SourceFile(name=each.name, content=each.getvalue()) for each in dropped]
    return []


def suggested(files: Sequence[banks.SourceFile]) -> str:
    """A bank's name out of a file's."""
    stem = PurePosixPath(files[0].name).stem.lower() if files else ""
    return re.sub(r"[^a-z0-9_-]+", "-", stem).strip("-_")[:64]


def draw_name(files: Sequence[banks.SourceFile]) -> tuple[str, str | None]:
    """Under which name and version it is stored."""
    left, right = st.columns([3, 2])
    name = left.text_input(
        _("Name of the bank"),
        placeholder=suggested(files),
        max_chars=64,
        key=KEY("name"),
        persist_state="session",
        help=_("A new name makes a new bank; a known one gets a new version. Banks are never mixed."),
    )
    version = right.text_input(
        _("Version"), placeholder=_("next number"), max_chars=64, key=KEY("version"), persist_state="session"
    )
    return name.strip() or suggested(files), version.strip() or None


def fingerprint(chosen: str, files: Sequence[banks.SourceFile], mapping: banks.ColumnMapping | None) -> str:
    """Tells one set of choices from another, so that a preview never stands for other files."""
    digest = hashlib.sha256(chosen.encode())
    for file in files:
        digest.update(hashlib.sha256(file.name.encode("utf-8", "surrogatepass")).digest())
        digest.update(hashlib.sha256(file.content).digest())
    digest.update(mapping.model_dump_json().encode() if mapping is not None else b"")
    return digest.hexdigest()


def draw_outcome(
    chosen: str,
    files: Sequence[banks.SourceFile],
    mapping: banks.ColumnMapping | None,
    *,
    name: str,
    version: str | None,
    made_of: str,
) -> None:
    """The preview and the two buttons; importing needs a preview of just these files."""
    held, report = st.session_state.get(PREVIEW, (None, None))
    fresh = held == made_of
    look, store = st.columns(2)
    looked = look.button(_("Preview"), key=KEY("look"), icon=":material/preview:", disabled=not files, width="stretch")
    stored = store.button(
        _("Import"),
        key=KEY("store"),
        icon=":material/upload:",
        type="primary",
        disabled=not fresh or not name,
        width="stretch",
    )
    with refusals():
        if looked:
            st.session_state.pop(DONE, None)
            st.session_state.pop(PREVIEW, None)
            with st.spinner(_("Reading …")):
                report = banks.preview(session.engine(), chosen, files, mapping, actor=session.user())
            st.session_state[PREVIEW] = (made_of, report)
            st.rerun()
        if stored:
            with st.spinner(_("Storing …")):
                done = banks.import_files(
                    session.engine(),
                    chosen,
                    files,
                    name=name,
                    version=version,
                    mapping=mapping,
                    actor=session.user(),
                )
            st.session_state[DONE] = (made_of, done)
            st.session_state.pop(PREVIEW, None)
            st.rerun()
    stored_of, done = st.session_state.get(DONE, (None, None))
    if done is not None and stored_of == made_of:
        draw_done(done)
    elif fresh and report is not None:
        draw_report(report)
    elif files:
        st.caption(_("Look at the preview first: it says what each row becomes, and stores nothing."))
    else:
        st.caption(_("Choose a format and drop its files. You see what becomes of them before anything is stored."))


def draw_done(report: ImportReport) -> None:
    """What is stored now, and the way there."""
    name, version = untrusted.label(report.bank), untrusted.label(report.version)
    st.success(
        _("Stored: {bank}, version {version}, {n} cases.").format(
            bank=name, version=version, n=words.count(report.imported)
        ),
        icon=":material/check_circle:",
    )
    st.button(
        _("Open the bank"),
        key=KEY("open"),
        icon=":material/library_books:",
        on_click=bank_address.choose,
        args=(report.bank,),
    )
    draw_report(report)


def draw_report(report: ImportReport) -> None:
    """How many rows were read, which rule mapped how many, and which became nothing and why."""
    lost = len(report.unmapped)
    with st.container(horizontal=True, gap="small"):
        st.badge(
            ngettext("{n} row read", "{n} rows read", report.read).format(n=words.count(report.read)),
            icon=":material/description:",
            color="gray",
        )
        st.badge(
            ngettext("{n} becomes a case", "{n} become cases", report.imported).format(n=words.count(report.imported)),
            icon=":material/check_circle:",
            color="blue",
        )
        st.badge(
            _("{n} not taken").format(n=words.count(lost)),
            icon=":material/block:",
            color="orange" if lost else "gray",
        )
    licence = f" · {_('licence')} {untrusted.label(report.licence)}" if report.licence else ""
    st.caption(f"SHA-256 {untrusted.label(report.sha256[:16])}{licence}")
    draw_mappings(report)
    if lost:
        draw_unmapped(report)


def draw_mappings(report: ImportReport) -> None:
    """The rules, the busiest first."""
    counts = sorted(report.mapping_counts.items(), key=lambda item: (-item[1], item[0]))
    st.markdown(f"**{_('Mapped by')}**")
    table = pd.DataFrame({"rule": [untrusted.cell(rule) for rule, _n in counts], "cases": [n for _rule, n in counts]})
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 33 * 9),
        key=f"{KEY('rules')}.{language()}",
        column_config={
            "rule": st.column_config.TextColumn(_("rule"), width=420),
            "cases": st.column_config.NumberColumn(_("cases"), width=80, format="localized"),
        },
        alt=_("Mapped by"),
    )


def draw_unmapped(report: ImportReport) -> None:
    """Rows that become no case, in the order of the files."""
    st.markdown(f"**{_('Not taken')}**")
    shown = report.unmapped[:SHOWN]
    table = pd.DataFrame(
        {
            "file": [untrusted.cell(each.file) for each in shown],
            "line": [each.line for each in shown],
            "label": [untrusted.cell(each.label) for each in shown],
            "reason": [untrusted.cell(spoken.said(each.reason), limit=400) for each in shown],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        row_height=33,
        height=min(33 * (len(table) + 1) + 2, 33 * 9),
        key=f"{KEY('unmapped')}.{language()}",
        column_config={
            "file": st.column_config.TextColumn(_("file"), width=130),
            "line": st.column_config.NumberColumn(_("line"), width=56, format="%d"),
            "label": st.column_config.TextColumn(_("label"), width=140),
            "reason": st.column_config.TextColumn(_("reason"), width=330),
        },
        alt=_("Not taken"),
    )
    if len(report.unmapped) > SHOWN:
        st.caption(
            _("The first {shown} of {total}.").format(shown=words.count(SHOWN), total=words.count(len(report.unmapped)))
        )
