"""A model endpoint as a card: what it is, how the last check went, what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session, words
from dashboard.components import errors, provider_form, untrusted, verdict
from dashboard.i18n import _
from engine.domain.accounts import Permission
from engine.domain.base import utc_now
from engine.domain.providers import Provider, ProviderKind
from engine.services import providers


def draw(provider: Provider) -> None:
    user = session.user()
    with st.container(border=True, height="stretch"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{untrusted.label(provider.name, limit=60)}**", width="content")
            if provider.kind is ProviderKind.DEMO:
                verdict.simulated()
            if provider.is_default:
                st.badge(_("default for runs"), icon=":material/star:", color="blue")
            if provider.is_default_judge:
                st.badge(_("default judge"), icon=":material/gavel:", color="blue")
            if not provider.verify_tls and provider.base_url.startswith("https:"):
                st.badge(_("certificate not verified"), icon=":material/no_encryption:", color="orange")
        draw_facts(provider)
        draw_check(provider)
        with st.container(horizontal=True, gap="small"):
            key = f"provider_card.{{}}.{provider.id}".format
            if user.may(Permission.CHECK_PROVIDERS) and st.button(
                _("Check"), key=key("check"), icon=":material/network_check:"
            ):
                check(provider)
            if user.may(Permission.MANAGE_PROVIDERS):
                if st.button(_("Edit"), key=key("edit"), icon=":material/edit:"):
                    open_form(provider)
                if st.button(_("Delete"), key=key("delete"), icon=":material/delete:"):
                    st.session_state[session.PROVIDER_DIALOG] = ("delete", provider.id)


def draw_facts(provider: Provider) -> None:
    address = _("built in, no network") if provider.kind is ProviderKind.DEMO else untrusted.cell(provider.base_url)
    st.text(address)
    facts = [
        _("model {name}").format(name=untrusted.label(provider.default_model, limit=60)),
        _("{n} requests at once").format(n=words.count(provider.max_concurrency)),
    ]
    if provider.requests_per_minute is not None:
        facts.append(_("{n} a minute").format(n=words.count(provider.requests_per_minute)))
    if provider.kind is not ProviderKind.DEMO:
        facts.insert(0, provider_form.kind_name(provider.kind))
        facts += [_("streamed")] if provider.stream else []
        facts += [_("through the proxy")] if provider.use_proxy else []
    if provider.api_key_set:
        facts.append(_("key stored {hint}").format(hint=untrusted.label(f"…{provider.api_key_hint}", limit=12)))
    st.caption(" · ".join(facts))


def check(provider: Provider) -> None:
    """Ask the endpoint; the answer stays on the card for this session."""
    with errors.shown(), st.spinner(_("Asking the endpoint something short …")):
        found = providers.check(session.engine(), provider.id, actor=session.user())
        st.session_state.setdefault(session.PROVIDER_CHECKS, {})[provider.id] = (found, utc_now())
        st.rerun()


def draw_check(provider: Provider) -> None:
    """The dot, in words."""
    held = st.session_state.get(session.PROVIDER_CHECKS, {}).get(provider.id)
    if held is None:
        st.caption(_("Not checked in this session."))
        return
    found, when = held
    provider_form.report(found)
    st.caption(_("checked {when}").format(when=words.moment(when)), help=words.utc(when))


def open_form(provider: Provider | None) -> None:
    """Open the form; it stays open, and filled, until it is saved or closed."""
    provider_form.start(provider)
    st.session_state[session.PROVIDER_DIALOG] = ("edit", provider.id if provider is not None else None)


def close() -> None:
    """Nothing is open any more."""
    st.session_state.pop(session.PROVIDER_DIALOG, None)


def draw_dialog(known: Sequence[Provider]) -> None:
    """The dialog that is open, if any."""
    kind, provider_id = st.session_state.get(session.PROVIDER_DIALOG, (None, None))
    provider = next((each for each in known if each.id == provider_id), None)
    if kind == "edit":
        edit(provider)
    elif kind == "delete" and provider is not None:
        confirm(provider)


def edit(provider: Provider | None) -> None:
    """The form, in a dialog."""

    @st.dialog(
        _("Edit the provider") if provider else _("Add a provider"),
        width="large",
        icon=":material/dns:",
        on_dismiss=close,
    )
    def ask() -> None:
        if provider_form.draw(provider):
            if provider is not None:
                st.session_state.get(session.PROVIDER_CHECKS, {}).pop(provider.id, None)
            close()
            st.rerun()

    ask()


def confirm(provider: Provider) -> None:
    """Ask in a dialog that names what goes."""

    @st.dialog(_("Delete this provider?"), icon=":material/delete:", on_dismiss=close)
    def ask() -> None:
        st.markdown(
            _("{name} goes, and its stored key with it. Finished runs keep its name and settings.").format(
                name=f"**{untrusted.label(provider.name, limit=60)}**"
            )
        )
        if st.button(
            _("Delete the provider"), key="provider_card.confirm", type="primary", icon=":material/delete_forever:"
        ):
            with errors.shown():
                providers.delete(session.engine(), provider.id, actor=session.user())
                close()
                st.rerun()

    ask()
