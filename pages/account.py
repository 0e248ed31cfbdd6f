"""Me: who I am, my password, my session."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import password_form, untrusted
from dashboard.i18n import _

# read
user = session.user()

# draw
st.title(_("Account"), anchor=False)
left, right = st.columns([3, 2], gap="large")
with left:
    st.subheader(_("Change the password"), anchor=False)
    password_form.draw()
with right:
    st.subheader(_("Signed in"), anchor=False)
    st.text(untrusted.cell(user.display_name or user.username))
    st.caption(f"{untrusted.label(user.username)} · {words.role(user.role)}")
    st.caption(_("Changing the password signs out every browser and program that uses this account."))
    st.button(_("Sign out here"), key="account.sign_out", icon=":material/logout:", on_click=session.sign_out)
