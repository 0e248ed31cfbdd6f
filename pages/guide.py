"""The first steps in the product itself: our own guide, as it stands in the repository."""

from __future__ import annotations

import streamlit as st

from dashboard import guide, session
from dashboard.i18n import _

st.title(_("Guide"), anchor=False)
text = guide.text()
if text is None:
    st.info(_("The guide is not part of this installation."), icon=":material/info:")
    st.stop()
with st.container(width=guide.WIDTH):
    st.markdown(text)
st.page_link(session.page("overview"), label=_("Back to the overview"), icon=":material/arrow_back:")
