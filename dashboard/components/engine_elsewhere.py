"""The notice of a server that reads only, because another process runs the engine of this database."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import untrusted
from dashboard.i18n import _


def draw() -> None:
    """Nothing where the engine runs here."""
    engine = session.engine()
    if engine.worker is None:
        st.warning(
            _("The engine runs elsewhere: {holder}. Reading works here; runs start there.").format(
                holder=untrusted.label(engine.lock_holder)
            ),
            icon=":material/lock:",
        )
