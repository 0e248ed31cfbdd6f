"""The form of a model endpoint, with presets and a check before saving."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import streamlit as st
from pydantic import SecretStr, ValidationError
from streamlit.delta_generator import DeltaGenerator

from dashboard import session, words
from dashboard.components import errors, fault, untrusted
from dashboard.i18n import _
from engine.domain.providers import CheckReport, Provider, ProviderChange, ProviderDraft, ProviderKind
from engine.services import providers

KEY = "provider_form.{}".format
FIELDS = (
    "name",
    "kind",
    "base_url",
    "model",
    "concurrency",
    "rpm",
    "timeout",
    "connect_timeout",
    "stream",
    "use_proxy",
    "ca_file",
    "verify_tls",
    "headers",
    "body",
    "is_default",
    "is_default_judge",
)
"""What a draft keeps: everything but the key."""

CHECKED = tuple(name for name in FIELDS if name not in ("name", "concurrency", "rpm", "is_default", "is_default_judge"))
"""What a check is about, beside the key."""

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
    st.session_state[KEY("connect_timeout")] = provider.connect_timeout_seconds if provider else None
    st.session_state[KEY("stream")] = provider.stream if provider else False
    st.session_state[KEY("use_proxy")] = provider.use_proxy if provider else False
    st.session_state[KEY("ca_file")] = (provider.ca_file or "") if provider else ""
    st.session_state[KEY("verify_tls")] = provider.verify_tls if provider else True
    st.session_state[KEY("headers")] = _header_lines(provider.extra_headers) if provider else ""
    st.session_state[KEY("body")] = _body_text(provider.extra_body) if provider else ""
    st.session_state[KEY("is_default")] = provider.is_default if provider else False
    st.session_state[KEY("is_default_judge")] = provider.is_default_judge if provider else False
    st.session_state[KEY("opened")] = (
        provider.id if provider is not None else None,
        {name: st.session_state[KEY(name)] for name in FIELDS},
    )
    st.session_state[KEY("kept")] = False
    st.session_state.pop(KEY("checked"), None)


def _header_lines(headers: dict[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers.items())


def _body_text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2) if body else ""


def kind_name(kind: ProviderKind) -> str:
    """A kind of endpoint in the reader's language."""
    return {
        ProviderKind.OPENAI: _("OpenAI-compatible"),
        ProviderKind.AZURE: "Azure OpenAI",
        ProviderKind.ANTHROPIC: "Anthropic",
        ProviderKind.OLLAMA: "Ollama",
        ProviderKind.DEMO: _("built-in demo"),
    }[kind]


def _preset() -> None:
    title = st.session_state.get(KEY("preset"))
    preset = next((each for each in providers.presets() if each.title == title), None)
    if preset is not None:
        st.session_state[KEY("base_url")] = preset.base_url
        st.session_state[KEY("kind")] = preset.kind
        st.session_state[KEY("name")] = st.session_state[KEY("name")] or preset.title


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
        titles = [preset.title for preset in providers.presets()]
        st.pills(_("Presets"), titles, key=KEY("preset"), on_change=_preset)
    st.segmented_control(
        _("Kind"), list(ProviderKind), format_func=kind_name, required=True, key=KEY("kind"), persist_state="session"
    )
    st.text_input(_("Name"), key=KEY("name"), max_chars=80, live=True, persist_state="session")
    demo = st.session_state[KEY("kind")] is ProviderKind.DEMO
    if not demo:
        st.text_input(
            _("Base URL"),
            key=KEY("base_url"),
            placeholder="https://…/v1",
            max_chars=2000,
            live=True,
            help=reachable(),
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
    if not demo:
        _draw_advanced()
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


def _draw_advanced() -> None:
    with st.expander(_("Advanced"), icon=":material/settings_ethernet:"):
        one, two = st.columns([1, 2])
        one.number_input(
            _("Time-out on connecting, in seconds"),
            min_value=0.1,
            max_value=600.0,
            value=None,
            key=KEY("connect_timeout"),
            persist_state="session",
        )
        two.text_input(
            _("CA file"),
            key=KEY("ca_file"),
            max_chars=1000,
            live=True,
            placeholder="/etc/ssl/certs/…pem",
            help=_(
                "A PEM file on the server with the only authorities that this endpoint's certificate may come from. "
                "Empty: the usual public ones."
            ),
            persist_state="session",
        )
        one, two, three = st.columns(3)
        one.toggle(
            _("Stream answers"),
            key=KEY("stream"),
            help=_("Ask for the answer piece by piece. What is kept and judged is the same."),
            persist_state="session",
        )
        two.toggle(
            _("Use the proxy"),
            key=KEY("use_proxy"),
            help=_(
                "The one the server's environment names in HTTPS_PROXY, HTTP_PROXY and NO_PROXY. This machine and the "
                "hosts in PROVIDER_ALLOWED_HOSTS are reached without it."
            ),
            persist_state="session",
        )
        three.toggle(_("Verify certificates"), key=KEY("verify_tls"), persist_state="session")
        if not st.session_state[KEY("verify_tls")]:
            st.warning(
                _(
                    "Anyone on the line could read the key and change the answers. Saving this is audited, and every "
                    "run and its report say so. A CA file is the better way."
                ),
                icon=":material/no_encryption:",
            )
        st.text_area(
            _("Extra headers"),
            key=KEY("headers"),
            height="content",
            placeholder="X-Team: red",
            help=_("One a line, as Name: value. They go with every request."),
            persist_state="session",
        )
        st.text_area(
            _("Extra body"),
            key=KEY("body"),
            height="content",
            placeholder='{"top_p": 0.9}',
            help=_("A JSON object whose parts go into every request."),
            persist_state="session",
        )


def _asked() -> tuple[object, ...]:
    """What a check is about; its report is gone as soon as one of these is another."""
    key = hashlib.sha256((st.session_state.get(KEY("api_key")) or "").encode("utf-8", "replace")).hexdigest()
    return (key, *(st.session_state.get(KEY(name)) for name in CHECKED))


def reachable() -> str:
    """Which addresses may be named here; private ones are let in by whoever runs the server, not by a form."""
    allowed = ", ".join(untrusted.label(host, limit=60) for host in session.engine().settings.allowed_hosts)
    return _(
        "A public address, or this machine as 127.0.0.1, localhost or ::1. Private networks only as far as the setting "
        "PROVIDER_ALLOWED_HOSTS of the server names them; now: {hosts}."
    ).format(hosts=allowed or _("none"))


def stored_key(provider: Provider | None) -> str:
    """What the empty key field says."""
    if provider is None or not provider.api_key_set:
        return ""
    hint = untrusted.cell(provider.api_key_hint, limit=8)
    return _("stored, ends in {hint}; empty keeps it").format(hint=hint) if hint else _("stored; empty keeps it")


def _draft() -> ProviderDraft | None:
    """What was typed, or None with the reason shown."""
    key = st.session_state.get(KEY("api_key")) or None
    headers, body = _extra_headers(), _extra_body()
    if headers is None or body is None:
        return None
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
            connect_timeout_seconds=st.session_state[KEY("connect_timeout")],
            stream=st.session_state[KEY("stream")],
            use_proxy=st.session_state[KEY("use_proxy")],
            ca_file=st.session_state[KEY("ca_file")].strip() or None,
            verify_tls=st.session_state[KEY("verify_tls")],
            extra_headers=headers,
            extra_body=body,
        )
    except ValidationError as error:
        names = {"name": _("Name"), "default_model": _("Default model"), "base_url": _("Base URL")}
        lacking = [names.get(str(each["loc"][0]), str(each["loc"][0])) for each in error.errors()]
        st.error(_("Fill in: {names}").format(names=", ".join(lacking)), icon=":material/error:")
        return None


def _extra_headers() -> dict[str, str] | None:
    """What was typed, or None with the reason shown."""
    lines = [line for line in st.session_state[KEY("headers")].splitlines() if line.strip()]
    pairs = [line.partition(":") for line in lines]
    if not all(name.strip() and colon for name, colon, _value in pairs):
        st.error(_("Extra headers: write one a line, as Name: value."), icon=":material/error:")
        return None
    return {name.strip(): value.strip() for name, _colon, value in pairs}


def _extra_body() -> dict[str, Any] | None:
    """What was typed, or None with the reason shown."""
    typed = st.session_state[KEY("body")].strip()
    try:
        body = json.loads(typed) if typed else {}
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        st.error(_("Extra body: write one JSON object."), icon=":material/error:")
        return None
    return body


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
    given = {name: getattr(draft, name) for name in type(draft).model_fields}
    if draft.api_key is None:
        del given["api_key"]
    providers.change(session.engine(), provider.id, ProviderChange(**given), actor=session.user())
