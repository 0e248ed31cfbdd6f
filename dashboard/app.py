"""The entry script: page frame, language, sign-in gate, navigation; nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard import i18n, session, words
from dashboard.components import engine_elsewhere, untrusted
from dashboard.i18n import _

LOGO = Path(__file__).resolve().parent / "logo.svg"
ICON = LOGO.with_name("icon.svg")
"""A picture of ours: an icon by name would be fetched from a public network by the browser."""


def page(name: str, title: str, icon: str, *, default: bool = False, hidden: bool = False) -> st.Page:
    return st.Page(
        session.page(name),
        title=title,
        icon=f":material/{icon}:",
        # The default page answers at the root alone, whatever its name; then the name is free for an alias.
        url_path="root" if default else name,
        default=default,
        visibility="hidden" if hidden else "visible",
    )


def to_overview() -> None:
    """The overview answers at the root; whoever types its name as that of any other page gets there too."""
    st.switch_page(overview)


def draw_language() -> None:
    """The switch; a choice other than the browser's stays in the address, so that a reload keeps it."""
    st.segmented_control(
        _("Language"),
        list(i18n.LANGUAGES),
        format_func=i18n.NAMES.__getitem__,
        key=i18n.CHOSEN,
        required=True,
        label_visibility="collapsed",
    )


def keep_language() -> None:
    """Take the language of this run over into the session and, where it is not the browser's own, into the address."""
    chosen = i18n.language()
    if st.session_state.get(i18n.CHOSEN) != chosen:
        st.session_state[i18n.CHOSEN] = chosen
    if chosen != i18n.preferred(st.context.locale):
        st.query_params[i18n.CHOSEN] = chosen
    elif i18n.CHOSEN in st.query_params:
        del st.query_params[i18n.CHOSEN]


def draw_sidebar(person: session.User) -> None:
    with st.sidebar:
        engine_elsewhere.draw()
        name = untrusted.label(person.display_name or person.username, limit=40)
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(f"{name} · {words.role(person.role)}", width="content")
            st.button(
                _("Sign out"),
                key="session.sign_out",
                icon=":material/logout:",
                type="tertiary",
                on_click=session.sign_out,
            )
        draw_language()
        session.draw_cookie_frame()


st.set_page_config(page_title="Magistrate", page_icon=str(ICON), layout="wide")
keep_language()
signed_in = session.current()
restricted = signed_in is not None and signed_in.user.must_change_password and session.engine().settings.is_production
account = page("account", _("Account"), "account_circle", default=restricted)
overview = page("overview", _("Overview"), "dashboard", default=True)
pages = {
    "": [overview],
    _("Evaluate"): [
        page("runs", _("Runs"), "play_circle"),
        page("results", _("Results"), "fact_check"),
        page("review", _("Review"), "balance"),
        page("calibration", _("Judges"), "gavel"),
        page("bank", _("Bank"), "library_books"),
    ],
    _("Set up"): [page("providers", _("Providers"), "dns"), account, page("guide", _("Guide"), "menu_book")],
    " ": [
        page("sign_in", _("Sign in"), "login", hidden=True),
        st.Page(to_overview, title=_("Overview"), url_path="overview", visibility="hidden"),
    ],
}
# Declared before the gate: a deep link survives signing in only when its page is known while signed out.
chosen = st.navigation([account] if restricted else pages, position="hidden" if signed_in is None else "sidebar")
if signed_in is None:
    left, middle, right = st.columns([1, 1.2, 1])
    with middle:
        st.space("large")
        st.image(str(LOGO), width=190)
        session.draw_login()
        draw_language()
        session.draw_cookie_frame()
else:
    st.logo(str(LOGO), size="large")
    draw_sidebar(signed_in.user)
    if signed_in.user.must_change_password:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            warning = _("The default password is unchanged: anybody who can reach this address can sign in.")
            # Not a badge, which is cut off where it does not fit.
            st.markdown(f":small[:orange[:orange-background[:material/key: {warning}]]]", width="content")
            st.page_link(account, label=_("Change it"), icon=":material/arrow_forward:")
    chosen.run()
