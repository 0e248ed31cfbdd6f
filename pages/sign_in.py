"""The sign-in form's own address; whoever is signed in already goes on to the overview."""

from __future__ import annotations

import streamlit as st

from dashboard import session

st.switch_page(session.page("overview"))
