"""The interface's two languages.

Msgids are English. The catalogues under `locale/` are compiled in memory when this module is imported, so no binary
file has to be kept in step with its source.
"""

from __future__ import annotations

import gettext as gettext_module
from io import BytesIO

import streamlit as st
from babel.messages.mofile import write_mo

from dashboard.locale import extract

LANGUAGES = {"zh": "zh_CN", "en": "en"}
"""What the address says, and the catalogue it means."""
NAMES = {"zh": "中文", "en": "English"}

CHOSEN = "lang"
"""Session key and query parameter of the language switch."""


def _compile(catalogue: str) -> gettext_module.GNUTranslations:
    compiled = BytesIO()
    write_mo(compiled, extract.read(catalogue))
    compiled.seek(0)
    return gettext_module.GNUTranslations(compiled)


_TRANSLATIONS = {language: _compile(catalogue) for language, catalogue in LANGUAGES.items()}


def preferred(locale: str | None) -> str:
    """The language for a browser's locale: Chinese for any Chinese, English for everybody else."""
    return "zh" if (locale or "").lower().startswith("zh") else "en"


def language() -> str:
    """`zh` or `en`: what was chosen in this session, else what the address says, else what the browser prefers."""
    for choice in (st.session_state.get(CHOSEN), st.query_params.get(CHOSEN)):
        if choice in LANGUAGES:
            return str(choice)
    return preferred(st.context.locale)


def _(message: str) -> str:
    """The message in the session's language."""
    return _TRANSLATIONS[language()].gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """The form for `n` in the session's language; the caller formats the number in."""
    return _TRANSLATIONS[language()].ngettext(singular, plural, n)
