"""Model endpoints: what can be run and what can judge."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import provider_card
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.services import providers

# read
engine, user = session.engine(), session.user()
known = providers.page(engine, actor=user)

# act
title, action = st.columns([5, 1.4], vertical_alignment="bottom")
title.title(_("Providers"), anchor=False)
if user.may(Permission.MANAGE_PROVIDERS) and action.button(
    _("Add a provider"), key="providers.add", icon=":material/add:", type="primary", width="stretch"
):
    provider_card.open_form(None)

# draw
st.caption(_("Keys are stored encrypted and never shown again. A check asks the endpoint something short."))
for start in range(0, len(known), 2):
    for column, provider in zip(st.columns(2, gap="medium"), known[start : start + 2], strict=False):
        with column:
            provider_card.draw(provider)
provider_card.draw_dialog(known)
