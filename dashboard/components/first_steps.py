"""The first start: three steps, each one click."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import once
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.providers import ProviderKind
from engine.domain.runs import RunSpec
from engine.errors import NotFoundError
from engine.services import providers, runs

DEMO_PROFILE = "smoke"
WANTED = "first_steps.wanted"
KEY = "first_steps.key"


def _ask() -> None:
    st.session_state[WANTED] = True


def demo_button(*, primary: bool) -> None:
    """For whoever may start runs."""
    if not session.user().may(Permission.STEER_RUNS):
        return
    st.button(
        _("Run the demo"),
        key="first_steps.demo",
        icon=":material/play_arrow:",
        type="primary" if primary else "secondary",
        on_click=_ask,
    )


def start_demo_if_asked() -> None:
    """Start the demo run once for a click, however often the page runs meanwhile."""
    if not st.session_state.pop(WANTED, False):
        return
    engine, user = session.engine(), session.user()
    demo = next((each for each in providers.page(engine, actor=user) if each.kind is ProviderKind.DEMO), None)
    if demo is None:
        raise NotFoundError(_("The built-in demo provider was removed; add it again under Providers."))
    spec = RunSpec(profile=DEMO_PROFILE, auto_judge=True, provider_id=demo.id)
    run = runs.start(engine, spec, actor=user, idempotency_key=once.key(KEY, spec.model_dump_json()))
    once.done(KEY)
    st.session_state[session.SELECTED_RUN] = run.id
    st.rerun()


def draw() -> None:
    """Where to begin when nothing has run yet."""
    one, two, three = st.columns(3, border=True)
    with one:
        st.subheader(_("1 · See it work"), anchor=False)
        st.markdown(
            _("A built-in model with known weaknesses answers the smoke profile. No key, no network; takes a minute.")
        )
        demo_button(primary=True)
    with two:
        st.subheader(_("2 · Connect a model"), anchor=False)
        st.markdown(_("Any endpoint that speaks chat completions: base URL, key and model name. Check it, then save."))
        if session.user().may(Permission.MANAGE_PROVIDERS):
            st.page_link(session.page("providers"), label=_("Add a provider"), icon=":material/dns:")
        else:
            st.caption(_("An administrator can add one."))
    with three:
        st.subheader(_("3 · Read the guide"), anchor=False)
        st.markdown(_("What a run, a verdict and a review are, and what the figures mean."))
        st.page_link(session.page("guide"), label=_("Read the guide"), icon=":material/menu_book:")


def draw_again() -> None:
    """The demo stays one click away."""
    demo_button(primary=False)
