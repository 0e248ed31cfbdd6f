"""The form that changes one's own password."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import errors
from dashboard.i18n import _
from engine.services import accounts


def draw() -> None:
    """Draw the form; a good change ends every session of this account, so the reader signs in again."""
    with st.form("password_form", border=True):
        old = st.text_input(_("Current password"), type="password", autocomplete="current-password", key="password.old")
        new = st.text_input(_("New password"), type="password", autocomplete="new-password", key="password.new")
        again = st.text_input(
            _("New password again"), type="password", autocomplete="new-password", key="password.again"
        )
        pressed = st.form_submit_button(_("Change the password"), type="primary", icon=":material/key:")
    if not pressed:
        return
    if new != again:
        st.error(_("The two new passwords differ."), icon=":material/error:")
        return
    with errors.shown():
        accounts.change_password(session.engine(), old or "", new or "", actor=session.user())
        session.forget()
        st.session_state[session.PASSWORD_CHANGED] = True
        st.rerun()
