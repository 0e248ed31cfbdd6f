"""What to evaluate, in three choices: the questions, the model, the judge."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import streamlit as st

from dashboard import session, words
from dashboard.components import choice, untrusted
from dashboard.i18n import _, language, ngettext
from engine.domain.accounts import Permission
from engine.domain.cases import Mode
from engine.domain.providers import Provider, ProviderKind
from engine.domain.runs import RunSpec
from engine.services import banks, catalog, runs
from engine.services.catalog import ProfileInfo

BANK = "run_form.bank"
PROFILE = "run_form.profile"
PROVIDER = "run_form.provider"
JUDGE = "run_form.judge"
CHOICE_PX = 250
"""Room for one of the three choices; where three do not fit side by side, they go below each other."""
COUNTED = "run_form.counted"
"""What the profiles select in the last chosen bank that is not the installed one, with its SHA-256."""


class Judging(StrEnum):
    """Who judges what the rules cannot conclude."""

    DEFAULT = "default"
    CHOSEN = "chosen"
    NOBODY = "nobody"


class Asked(NamedTuple):
    """A filled form: what to evaluate, and whether rules alone judge it."""

    spec: RunSpec
    rules_only: bool

    @property
    def content(self) -> str:
        return f"{self.spec.model_dump_json()} {self.rules_only}"


def provider_name(provider: Provider) -> str:
    """As it stands in a select box, which draws plain text."""
    mark = f" · {_('simulated')}" if provider.kind is ProviderKind.DEMO else ""
    return untrusted.cell(provider.name, limit=60) + mark


def modes(info: ProfileInfo) -> str:
    """Such as `single turn 31 · tools 9`."""
    return " · ".join(f"{words.mode(mode)} {words.count(n)}" for mode in Mode if (n := info.modes.get(mode)))


def estimate(profile: str, provider: Provider, *, bank: str | None) -> str:
    """About how long it would take, or that nobody can know yet."""
    took = runs.estimate(session.engine(), profile=profile, provider_id=provider.id, bank=bank, actor=session.user())
    if took is None:
        return _("No estimate: this provider has finished no run yet.")
    return _("About {time} of answering, by its last finished run.").format(time=words.duration(took))


def draw_bank(names: Sequence[str]) -> str | None:
    """Which bank is asked; None is the installed one, which comes first and is alone where there is no other."""
    if len(names) < 2:
        return None
    name = choice.draw(_("1 · Questions"), names, key=BANK, format_func=untrusted.cell, hide_label=False)
    return None if name == names[0] else name


def profiles_in(bank: str | None) -> list[ProfileInfo]:
    """The profiles, and what each selects in a bank; counted once a version."""
    engine, user = session.engine(), session.user()
    if bank is None:
        return catalog.profiles(engine, actor=user)
    sha256 = banks.get(engine, bank, actor=user).sha256
    kept: tuple[str, list[ProfileInfo]] | None = st.session_state.get(COUNTED)
    if kept is None or kept[0] != sha256:
        with st.spinner(_("Counting …")):
            kept = st.session_state[COUNTED] = (sha256, catalog.profiles(engine, bank=bank, actor=user))
    return kept[1]


def draw(*, bank_names: Sequence[str], providers: Sequence[Provider]) -> Asked | None:
    """Draw the form; returns what was asked for on the click that asks for it."""
    if not providers:
        st.info(_("There is no model to examine yet."), icon=":material/info:")
        if session.user().may(Permission.MANAGE_PROVIDERS):
            st.page_link(session.page("providers"), label=_("Add a provider"), icon=":material/dns:")
        else:
            st.caption(_("An administrator can add one."))
        return None
    by_id = {provider.id: provider for provider in providers}
    grid = st.grid(3, min_column_width=CHOICE_PX, gap=("small", "medium"))
    questions, model, judge = grid.cell(), grid.cell(), grid.cell()
    with questions:
        bank = draw_bank(bank_names)
        infos = {info.name: info for info in profiles_in(bank)}
        profile = choice.draw(
            _("1 · Questions"),
            list(infos),
            key=PROFILE,
            format_func=lambda name: f"{name} · {infos[name].title.in_language(language())}",
            hide_label=len(bank_names) > 1,  # then the bank stands under it
        )
        info = infos[profile or ""]
    with model:
        provider_id = choice.draw(
            _("2 · Model under test"),
            list(by_id),
            key=PROVIDER,
            format_func=lambda chosen: provider_name(by_id[chosen]),
            default=next((provider.id for provider in providers if provider.is_default), None),
            hide_label=False,
        )
        provider = by_id[provider_id or 0]
        with questions:
            count = ngettext("{n} instance", "{n} instances", info.instances).format(n=words.count(info.instances))
            if info.instances:
                st.caption(f"{count} · {modes(info)}  \n{estimate(info.name, provider, bank=bank)}")
            else:
                st.caption(_("This profile selects nothing in this bank."))
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
        _("Start the run"),
        type="primary",
        icon=":material/play_arrow:",
        key="run_form.submit",
        width="stretch",
        disabled=not info.instances,
    )
    if not pressed:
        return None
    spec = RunSpec(
        profile=info.name,
        bank=bank,
        auto_judge=True,
        provider_id=provider.id,
        model=name.strip() or None,
        judge_provider_id=judge_id,
        judge_model=judge_model,
        note=remark.strip() or None,
    )
    return Asked(spec, rules_only=judging is Judging.NOBODY)


def draw_judge(by_id: dict[int, Provider]) -> tuple[int, str | None]:
    """Which endpoint judges, and with which model."""
    chosen = choice.draw(
        _("Judge"), list(by_id), key=JUDGE, format_func=lambda provider_id: provider_name(by_id[provider_id])
    )
    judge_id = by_id[chosen or 0].id
    name = st.text_input(
        _("Judge model"),
        placeholder=untrusted.cell(by_id[judge_id].default_model),
        key="run_form.judge_model",
        persist_state="session",
        label_visibility="collapsed",
    )
    return judge_id, name.strip() or None
