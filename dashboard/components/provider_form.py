"""The form of a model endpoint, with presets and a check before saving."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st
from pydantic import SecretStr, ValidationError
from streamlit.delta_generator import DeltaGenerator

from dashboard import session, words
from dashboard.components import errors, fault, untrusted
from dashboard.i18n import _
from engine.domain.providers import CheckReport, Provider, ProviderChange, ProviderDraft, ProviderKind
from engine.services import providers

PRESETS: dict[str, tuple[str, str]] = {
    "OpenAI": ("https://api.openai.com/v1", "gpt-4o-mini"),
    "DeepSeek": ("https://api.deepseek.com/v1", "deepseek-chat"),
    "DashScope": ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-max"),
    "Ollama": ("http://127.0.0.1:11434/v1", "qwen2.5:7b"),
    "vLLM": ("http://127.0.0.1:8000/v1", ""),
}
"""Addresses people would otherwise look up: a name, its base URL and a model."""

KEY = "provider_form.{}".format
FIELDS = ("name", "kind", "base_url", "model", "concurrency", "rpm", "timeout", "is_default", "is_default_judge")
"""What a draft keeps: everything but the key."""

Draft = dict[str, Any]


def report(found: CheckReport) -> None:
    """The result of a check in words."""
    if found.ok:
        took = "" if found.latency_ms is None else f" · {words.duration(found.latency_ms / 1000)}"
        st.success(
            _("{model} answers").format(model=untrusted.label(found.model)) + took, icon=":material/check_circle:"
        )
        return
    if found.error is None:
        st.error(_("The check failed and gave no reason."), icon=":material/error:")
        return
    fault.draw(found.error.code, found.error.message, hint=found.error.hint)


def start(provider: Provider | None) -> None:
    """Open the form for an endpoint: as it was left when it was closed unsaved, else with what is stored, or empty.

    A key that was typed and not saved is the one thing that is not kept.
    """
    drafts: dict[int | None, Draft] = st.session_state.setdefault(KEY("drafts"), {})
    _put_away()
    target = provider.id if provider is not None else None
    kept = drafts.get(target)
    fill(provider)
    if kept is not None:
        for name, value in kept.items():
            st.session_state[KEY(name)] = value
        st.session_state[KEY("kept")] = True


def _put_away() -> None:
    """Keep what the form holds, unless that is what it was opened with."""
    drafts: dict[int | None, Draft] = st.session_state.setdefault(KEY("drafts"), {})
    target, opened_with = st.session_state.pop(KEY("opened"), (None, None))
    if opened_with is None:
        return
    now = {name: st.session_state.get(KEY(name)) for name in opened_with}
    drafts.pop(target, None)
    if now != opened_with:
        drafts[target] = now


def _discard(provider: Provider | None) -> None:
    st.session_state[KEY("drafts")].pop(provider.id if provider is not None else None, None)
    fill(provider)


def fill(provider: Provider | None) -> None:
    """Start the form with what is stored, or empty."""
    st.session_state[KEY("preset")] = None
    st.session_state[KEY("name")] = provider.name if provider else ""
    st.session_state[KEY("kind")] = provider.kind if provider else ProviderKind.OPENAI
    st.session_state[KEY("base_url")] = provider.base_url if provider else ""
    st.session_state[KEY("api_key")] = ""
    st.session_state[KEY("model")] = provider.default_model if provider else ""
    st.session_state[KEY("concurrency")] = provider.max_concurrency if provider else 8
    st.session_state[KEY("rpm")] = provider.requests_per_minute if provider else None
    st.session_state[KEY("timeout")] = provider.timeout_seconds if provider else None
    st.session_state[KEY("is_default")] = provider.is_default if provider else False
    st.session_state[KEY("is_default_judge")] = provider.is_default_judge if provider else False
    st.session_state[KEY("opened")] = (
        provider.id if provider is not None else None,
        {name: st.session_state[KEY(name)] for name in FIELDS},
    )
    st.session_state[KEY("kept")] = False
    st.session_state.pop(KEY("checked"), None)


def _preset() -> None:
    name = st.session_state.get(KEY("preset"))
    if name in PRESETS:
        st.session_state[KEY("base_url")], model = PRESETS[name]
        st.session_state[KEY("model")] = model or st.session_state[KEY("model")]
        st.session_state[KEY("name")] = st.session_state[KEY("name")] or name


def draw(provider: Provider | None) -> bool:
    """Draw the form inside a dialog; returns True once the endpoint is saved.

    Texts are taken over while they are typed. On blur alone they are not: leaving the key's field for the eye inside it
    is no blur to Streamlit, and leaving the eye is none either, so a key left with Tab never arrived.
    """
    if st.session_state[KEY("kept")]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(_("As you left it, not saved yet. A key is not kept; type it again."), width="content")
            st.button(
                _("Discard"),
                key=KEY("discard"),
                type="tertiary",
                icon=":material/restart_alt:",
                on_click=_discard,
                args=(provider,),
            )
    if provider is None:
        st.pills(_("Presets"), list(PRESETS), key=KEY("preset"), on_change=_preset)
    left, right = st.columns(2)
    left.text_input(_("Name"), key=KEY("name"), max_chars=80, live=True, persist_state="session")
    right.segmented_control(
        _("Kind"),
        [ProviderKind.OPENAI, ProviderKind.DEMO],
        format_func={
            ProviderKind.OPENAI: _("OpenAI-compatible"),
            ProviderKind.DEMO: _("built-in demo"),
        }.__getitem__,
        required=True,
        key=KEY("kind"),
        persist_state="session",
    )
    demo = st.session_state[KEY("kind")] is ProviderKind.DEMO
    if not demo:
        st.text_input(
            _("Base URL"),
            key=KEY("base_url"),
            placeholder="https://…/v1",
            max_chars=2000,
            live=True,
            persist_state="session",
        )
    left, right = st.columns(2)
    left.text_input(_("Default model"), key=KEY("model"), max_chars=200, live=True, persist_state="session")
    if not demo:
        right.text_input(
            _("API key"),
            key=KEY("api_key"),
            type="password",
            live="0ms",
            autocomplete="off",
            placeholder=stored_key(provider),
            help=_("Stored encrypted and never shown again."),
        )
    with st.expander(_("Limits"), icon=":material/tune:"):
        one, two, three = st.columns(3)
        one.number_input(
            _("Requests at once"), min_value=1, max_value=512, step=1, key=KEY("concurrency"), persist_state="session"
        )
        two.number_input(
            _("Requests per minute"), min_value=1, step=1, value=None, key=KEY("rpm"), persist_state="session"
        )
        three.number_input(
            _("Time-out in seconds"),
            min_value=1.0,
            max_value=3600.0,
            value=None,
            key=KEY("timeout"),
            persist_state="session",
        )
    one, two = st.columns(2)
    one.toggle(_("Default for runs"), key=KEY("is_default"), persist_state="session")
    two.toggle(_("Default judge"), key=KEY("is_default_judge"), persist_state="session")
    check, save = st.columns(2)
    checking = check.button(_("Check connection"), icon=":material/network_check:", key=KEY("check"), width="stretch")
    saving = save.button(_("Save"), type="primary", icon=":material/save:", key=KEY("save"), width="stretch")
    outcome = st.empty()  # one place: what is said next takes the last word's place
    with outcome.container(), errors.shown():
        if saving:
            return _save(provider)
        if checking:
            _check(provider, spinner=outcome)
    asked, found = st.session_state.get(KEY("checked"), (None, None))
    if found is not None and asked == _asked():
        with outcome.container():
            report(found)
    return False


def _asked() -> tuple[object, ...]:
    """What a check is about; its report is gone as soon as one of these is another."""
    key = hashlib.sha256((st.session_state.get(KEY("api_key")) or "").encode("utf-8", "replace")).hexdigest()
    return (key, *(st.session_state.get(KEY(name)) for name in ("kind", "base_url", "model", "timeout")))


def stored_key(provider: Provider | None) -> str:
    """What the empty key field says."""
    if provider is None or not provider.api_key_set:
        return ""
    hint = untrusted.cell(provider.api_key_hint, limit=8)
    return _("stored, ends in {hint}; empty keeps it").format(hint=hint) if hint else _("stored; empty keeps it")


def _draft() -> ProviderDraft | None:
    """What was typed, or None with the reason shown."""
    key = st.session_state.get(KEY("api_key")) or None
    try:
        return ProviderDraft(
            name=st.session_state[KEY("name")].strip(),
            kind=st.session_state[KEY("kind")],
            base_url=(st.session_state.get(KEY("base_url")) or "").strip(),
            api_key=SecretStr(key.strip()) if key else None,
            default_model=st.session_state[KEY("model")].strip(),
            is_default=st.session_state[KEY("is_default")],
            is_default_judge=st.session_state[KEY("is_default_judge")],
            max_concurrency=st.session_state[KEY("concurrency")],
            requests_per_minute=st.session_state[KEY("rpm")],
            timeout_seconds=st.session_state[KEY("timeout")],
        )
    except ValidationError as error:
        names = {"name": _("Name"), "default_model": _("Default model"), "base_url": _("Base URL")}
        lacking = [names.get(str(each["loc"][0]), str(each["loc"][0])) for each in error.errors()]
        st.error(_("Fill in: {names}").format(names=", ".join(lacking)), icon=":material/error:")
        return None


def _check(provider: Provider | None, *, spinner: DeltaGenerator) -> None:
    st.session_state.pop(KEY("checked"), None)
    draft = _draft()
    if draft is None:
        return
    with spinner, st.spinner(_("Asking the endpoint something short …")):
        found = providers.check_draft(
            session.engine(), draft, provider_id=provider.id if provider else None, actor=session.user()
        )
    st.session_state[KEY("checked")] = (_asked(), found)


def _save(provider: Provider | None) -> bool:
    draft = _draft()
    if draft is None:
        return False
    _store(provider, draft)
    st.session_state.pop(KEY("opened"), None)
    st.session_state[KEY("drafts")].pop(provider.id if provider is not None else None, None)
    return True


def _store(provider: Provider | None, draft: ProviderDraft) -> None:
    if provider is None:
        providers.create(session.engine(), draft, actor=session.user())
        return
    given = {
        name: getattr(draft, name) for name in type(draft).model_fields if name not in ("extra_headers", "extra_body")
    }
    if draft.api_key is None:
        del given["api_key"]
    providers.change(session.engine(), provider.id, ProviderChange(**given), actor=session.user())
