"""What to evaluate, in three choices: the questions, the model, the judge."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from enum import StrEnum

import streamlit as st

from dashboard import session, words
from dashboard.components import untrusted
from dashboard.i18n import _, language, ngettext
from engine.domain.cases import Mode
from engine.domain.providers import Provider, ProviderKind
from engine.domain.runs import RunSpec
from engine.services import runs
from engine.services.catalog import ProfileInfo


class Judging(StrEnum):
    """Who judges what the rules cannot conclude."""

    DEFAULT = "default"
    CHOSEN = "chosen"
    NOBODY = "nobody"


def provider_name(provider: Provider) -> str:
    """As it stands in a select box, which draws plain text."""
    mark = f" · {_('simulated')}" if provider.kind is ProviderKind.DEMO else ""
    return untrusted.cell(provider.name, limit=60) + mark


def modes(info: ProfileInfo) -> str:
    """Such as `single turn 31 · tools 9`."""
    return " · ".join(f"{words.mode(mode)} {words.count(n)}" for mode in Mode if (n := info.modes.get(mode)))


def estimate(profile: str, provider: Provider) -> str:
    """About how long it would take, or that nobody can know yet."""
    took = runs.estimate(session.engine(), profile=profile, provider_id=provider.id, actor=session.user())
    if took is None:
        return _("No estimate: this provider has finished no run yet.")
    return _("About {time} of answering, by its last finished run.").format(time=words.duration(took))


def idempotency_key() -> str:
    """One key a filled form; a second click on the same form starts nothing new."""
    return str(st.session_state.setdefault(session.START_KEY, uuid.uuid4().hex))


def started() -> None:
    """The form did its work; the next start is another run."""
    st.session_state.pop(session.START_KEY, None)


def draw(*, profiles: Sequence[ProfileInfo], providers: Sequence[Provider]) -> RunSpec | None:
    """Draw the form; returns what was asked for on the click that asks for it."""
    if not providers:
        st.info(_("There is no model to examine yet."), icon=":material/info:")
        st.page_link(session.page("providers"), label=_("Add a provider"), icon=":material/dns:")
        return None
    by_id = {provider.id: provider for provider in providers}
    infos = {info.name: info for info in profiles}
    questions, model, judge = st.columns(3, gap="medium")
    with questions:
        profile = st.selectbox(
            _("1 · Questions"),
            list(infos),
            format_func=lambda name: f"{name} · {infos[name].title.in_language(language())}",
            key="run_form.profile",
            persist_state="session",
        )
        info = infos[profile]
    with model:
        first = next((i for i, provider in enumerate(providers) if provider.is_default), 0)
        provider_id = st.selectbox(
            _("2 · Model under test"),
            list(by_id),
            index=first,
            format_func=lambda chosen: provider_name(by_id[chosen]),
            key="run_form.provider",
            persist_state="session",
        )
        provider = by_id[provider_id]
        with questions:
            count = ngettext("{n} instance", "{n} instances", info.instances).format(n=words.count(info.instances))
            st.caption(f"{count} · {modes(info)}  \n{estimate(profile, provider)}")
        name = st.text_input(
            _("Model"),
            placeholder=untrusted.cell(provider.default_model),
            key="run_form.model",
            persist_state="session",
            label_visibility="collapsed",
            help=_("Left empty: the provider's default model."),
        )
        st.caption(_("{n} requests at once").format(n=words.count(provider.max_concurrency)))
    with judge:
        names = {
            Judging.DEFAULT: _("default judge"),
            Judging.CHOSEN: _("choose"),
            Judging.NOBODY: _("rules only"),
        }
        judging = st.segmented_control(
            _("3 · Judge"),
            list(Judging),
            format_func=names.__getitem__,
            default=Judging.DEFAULT,
            required=True,
            key="run_form.judging",
            persist_state="session",
            width="stretch",
        )
        judge_id, judge_model = None, None
        if judging is Judging.CHOSEN:
            judge_id, judge_model = draw_judge(by_id)
        else:
            st.caption(
                _("Rules, tool policy and refusal detection always judge first.")
                if judging is Judging.DEFAULT
                else _("What the rules cannot conclude waits for a person.")
            )
    note, go = st.columns([3, 1], vertical_alignment="bottom")
    remark = note.text_input(
        _("Note"),
        placeholder=_("Note for the record (optional)"),
        max_chars=2000,
        key="run_form.note",
        persist_state="session",
        label_visibility="collapsed",
    )
    pressed = go.button(
        _("Start the run"), type="primary", icon=":material/play_arrow:", key="run_form.submit", width="stretch"
    )
    if not pressed:
        return None
    return RunSpec(
        profile=profile,
        auto_judge=judging is not Judging.NOBODY,
        provider_id=provider_id,
        model=name.strip() or None,
        judge_provider_id=judge_id,
        judge_model=judge_model,
        note=remark.strip() or None,
    )


def draw_judge(by_id: dict[int, Provider]) -> tuple[int, str | None]:
    """Which endpoint judges, and with which model."""
    judge_id = st.selectbox(
        _("Judge"),
        list(by_id),
        format_func=lambda chosen: provider_name(by_id[chosen]),
        key="run_form.judge",
        persist_state="session",
        label_visibility="collapsed",
    )
    name = st.text_input(
        _("Judge model"),
        placeholder=untrusted.cell(by_id[judge_id].default_model),
        key="run_form.judge_model",
        persist_state="session",
        label_visibility="collapsed",
    )
    return judge_id, name.strip() or None
