"""A version of a bank in one line, and as a file."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard import session, words
from dashboard.components import bank_words, untrusted
from dashboard.i18n import _, ngettext
from engine.domain.accounts import User
from engine.domain.banks import BankInfo
from engine.services import banks

FORMATS = {"jsonl": "JSONL", "inspect": "Inspect", "promptfoo": "promptfoo"}


def draw(info: BankInfo) -> None:
    """How large it is, what content it is, and where it came from."""
    parts = [
        ngettext("{n} case", "{n} cases", info.cases).format(n=words.count(info.cases)),
        ngettext("{n} instance", "{n} instances", info.instances).format(n=words.count(info.instances)),
        f"SHA-256 {untrusted.label(info.sha256[:12])}",
        untrusted.label(bank_words.source(info.source)),
    ]
    if info.source != bank_words.BUNDLED:
        parts.append(_("by {who}").format(who=untrusted.label(info.created_by, limit=60)))
    if info.licence:
        parts.append(untrusted.label(info.licence, limit=80))
    parts.append(words.moment(info.created_at))
    st.caption(" · ".join(parts), help=untrusted.label(f"SHA-256 {info.sha256}") + "  \n" + words.utc(info.created_at))


def written(info: BankInfo, form: str, *, actor: User) -> bytes:
    """A version of a bank as a file of this form."""
    return b"".join(banks.export(session.engine(), info.name, form, actor=actor, version=info.sha256).chunks)


def draw_export(info: BankInfo) -> None:
    """A button for each format; a file is written when it is asked for, because a large bank takes a while."""
    user = session.user()  # asked for now: the file is written outside of any page run
    with st.popover(_("Export"), icon=":material/download:"):
        for form, label in FORMATS.items():
            ending = "jsonl" if form == "jsonl" else f"{form}.jsonl"
            st.download_button(
                label,
                partial(written, info, form, actor=user),
                file_name=f"{info.name}-{info.sha256[:12]}.{ending}",
                mime="application/x-ndjson",
                key=f"bank.export.{form}",
                icon=":material/description:",
                on_click="ignore",
                width="stretch",
            )
