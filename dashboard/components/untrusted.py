"""Text that others wrote: the only component that draws what a model said, and the escapes for everything else.

Labels, headings, messages and Markdown of Streamlit load remote images and draw links from the text they get; `st.code`
and the cells of a table do not. So text of a model goes through `draw` or `cell` only, and a short foreign name that
must stand in a label (a provider, a model, a user, an error) goes through `label`.
"""

from __future__ import annotations

import hashlib
import re

import streamlit as st

from dashboard.i18n import _
from engine.domain.text import visible

LIMIT = 20_000
"""Characters drawn at once; the whole text can be downloaded."""

_JOINER = "\u2060"
"""Draws nothing; keeps a shortcode or a bare address from being recognised in a label."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$&=^\"'])")
_BARE_ADDRESS = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=\\?[:.])")


def cell(text: str, *, limit: int = 200) -> str:
    """One line for a cell of a table, cut with an ellipsis."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def label(text: object, *, limit: int = 200) -> str:
    """A foreign name or message as it can stand in a label, a heading or a message of Streamlit.

    Whatever Markdown, directive, shortcode, formula or address it holds is drawn as the characters it is made of.
    """
    escaped = _MARKDOWN.sub(r"\\\1", cell(str(text), limit=limit))
    escaped = escaped.replace(":", f"\\:{_JOINER}").replace("@", f"{_JOINER}@{_JOINER}")
    return _BARE_ADDRESS.sub(rf"\1{_JOINER}", escaped)


def draw(text: str, *, key: str, language: str | None = None) -> None:
    """Draw what a model or a case said, in monospace; a very long one is cut and can be downloaded whole."""
    if not text:
        st.caption(_("(empty)"))
        return
    shown = visible(text[:LIMIT])
    st.code(shown, language=language, wrap_lines=True)
    if len(text) > LIMIT:
        whole = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(whole).hexdigest()[:16]
        st.caption(
            _("Shown: the first {shown} of {total} characters.").format(shown=f"{LIMIT:,}", total=f"{len(text):,}")
        )
        st.download_button(
            _("Download the whole text"),
            whole,
            file_name=f"{digest}.txt",
            mime=f"text/plain; v={digest}",
            key=f"{key}.whole",
            icon=":material/download:",
            on_click="ignore",
        )


def say(text: str) -> None:
    """Draw a foreign sentence, such as a reason or an error message, as plain prose."""
    shown = visible(text)
    st.text(shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…")
