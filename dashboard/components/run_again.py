"""Going over a run again: ask what failed, ask one question, judge the stored answers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session, words
from dashboard.components import choice, decision, errors, untrusted
from dashboard.i18n import _, ngettext
from engine.domain.accounts import Permission
from engine.domain.providers import Provider, ProviderKind
from engine.domain.runs import ResultDetail, Run
from engine.services import providers, runs

JUDGE = "run_again.judge"
MODEL = "run_again.judge_model"
SCOPE = "run_again.scope"

AS_BEFORE = 0
"""Stands for the run's own judge in the list of providers, whose ids begin at 1."""

ALL, MISSING = "all", "missing"


def why_not(run: Run, *, asks_model: bool) -> str | None:
    """Why a run cannot be gone over again now, None when it can."""
    engine = session.engine()
    if not run.status.is_over:
        return _("The run is still going. Cancel it or wait for its end.")
    if engine.worker is None:
        return _("Another process runs the engine of this database. Start runs there.")
    if asks_model and run.provider_id is not None and run.provider_id not in _known():
        return _("The provider of this run was deleted, so the model cannot be asked.")
    return None


def draw_retry_errors(run: Run) -> None:
    """The button that asks again what failed."""
    reason = why_not(run, asks_model=True)
    if reason is None and not run.error_count:
        reason = _("No question of this run failed to execute.")
    if st.button(
        _("Retry errors ({n})").format(n=words.count(run.error_count)),
        key="run_again.errors",
        icon=":material/replay:",
        disabled=reason is not None,
        help=reason or _("Only what failed to execute is asked again; earlier attempts are kept."),
    ):
        with errors.shown():
            runs.retry_errors(session.engine(), run.id, actor=session.user())
            st.rerun()


def draw_judge(run: Run) -> None:
    """The button that opens the dialog about judging again."""
    reason = why_not(run, asks_model=False)
    if reason is None and not run.completed_count:
        reason = _("This run has no answer to judge.")
    if st.button(
        _("Judge again"),
        key="run_again.judge_open",
        icon=":material/gavel:",
        disabled=reason is not None,
        help=reason or _("The stored answers get new verdicts; the model under test is not asked."),
    ):
        st.session_state[session.JUDGING_RUN] = run.id
        st.session_state.pop(session.DELETING_RUN, None)


def close_judging() -> None:
    """Nobody wants to judge anything again any more."""
    st.session_state.pop(session.JUDGING_RUN, None)


def ask_how_to_judge(run: Run) -> None:
    """Ask in a dialog which answers are judged, and by whom."""

    @st.dialog(_("Judge the answers again"), icon=":material/gavel:", on_dismiss=close_judging)
    def ask() -> None:
        missing = run.verdict_counts.none
        scopes = {
            ALL: _("all answers ({n})").format(n=words.count(run.completed_count)),
            MISSING: _("only those without a verdict ({n})").format(n=words.count(missing)),
        }
        scope = st.segmented_control(
            _("Which answers"),
            [ALL, MISSING] if missing else [ALL],
            format_func=scopes.__getitem__,
            default=MISSING if missing else ALL,
            required=True,
            key=f"{SCOPE}.{bool(missing)}",
        )
        judge_id, model = draw_judge_choice(run)
        only_missing = scope == MISSING
        count = missing if only_missing else run.completed_count
        st.caption(
            _("The model under test is not asked. Decisions of people stay.")
            + ("" if only_missing else " " + _("The automatic verdicts there are now are replaced."))
        )
        if st.button(
            ngettext("Judge {n} answer", "Judge {n} answers", count).format(n=words.count(count)),
            key="run_again.judge_confirm",
            type="primary",
            icon=":material/gavel:",
        ):
            with errors.shown():
                runs.judge(
                    session.engine(),
                    run.id,
                    judge_provider_id=judge_id,
                    judge_model=model,
                    only_missing=only_missing,
                    actor=session.user(),
                )
                close_judging()
                st.rerun()

    ask()


def draw_judge_choice(run: Run) -> tuple[int | None, str | None]:
    """Which endpoint judges and with which model; None for what stays as it was."""
    known = _known()
    before = untrusted.cell(run.judge_model, limit=60) if run.judge_model else _("rules alone")

    def name(provider_id: int) -> str:
        if provider_id == AS_BEFORE:
            return _("as before: {judge}").format(judge=before) if run.judge_model else _("the default judge")
        provider = known[provider_id]
        mark = f" · {_('simulated')}" if provider.kind is ProviderKind.DEMO else ""
        return untrusted.cell(provider.name, limit=60) + mark

    chosen = choice.draw(_("Judge"), [AS_BEFORE, *known], key=JUDGE, format_func=name, hide_label=False) or AS_BEFORE
    provider = known.get(chosen)
    typed = st.text_input(
        _("Judge model"),
        placeholder=untrusted.cell(provider.default_model) if provider is not None else before,
        key=MODEL,
        persist_state="session",
        help=_("Left empty: the provider's default model.") if provider is not None else None,
    ).strip()
    if is_subject(run, provider, typed):
        st.warning(
            _("This is the model under test. It would judge itself, and its verdicts would not be independent."),
            icon=":material/warning:",
        )
    return (None if chosen == AS_BEFORE else chosen), typed or None


def is_subject(run: Run, provider: Provider | None, typed: str) -> bool:
    """Whether the judge that is chosen is the model under test; a demo provider judges with a model of its own."""
    if provider is None:
        return (typed or run.judge_model) == run.model and run.judge_model is not None
    if provider.id != run.provider_id or (provider.kind is ProviderKind.DEMO and not typed):
        return False
    return (typed or provider.default_model) == run.model


def draw_retry_one(run: Run, result: ResultDetail) -> None:
    """The button that asks one question again; a decision about the present answer is asked about first."""
    if not session.user().may(Permission.STEER_RUNS):
        return
    reason = why_not(run, asks_model=True)
    if st.button(
        _("Retry this one"),
        key=f"run_again.one.{result.execution_id}",
        icon=":material/replay:",
        disabled=reason is not None,
        help=reason or _("Only this question is asked again; earlier attempts are kept."),
    ):
        if not decision.stands(result):
            ask_again(result)
        else:
            st.session_state[session.ASKING_AGAIN] = result.execution_id
    if st.session_state.get(session.ASKING_AGAIN) == result.execution_id and reason is None:
        confirm_retry_one(result)


def ask_again(result: ResultDetail) -> None:
    """Ask one question again."""
    with errors.shown():
        runs.retry_one(session.engine(), result.run_id, result.execution_id, actor=session.user())
        close_asking()
        st.rerun()


def close_asking() -> None:
    """Nobody wants to ask a question again any more."""
    st.session_state.pop(session.ASKING_AGAIN, None)


def confirm_retry_one(result: ResultDetail) -> None:
    """A new answer starts without the decision about the old one, so that is asked about."""

    @st.dialog(_("Ask this question again?"), icon=":material/replay:", on_dismiss=close_asking)
    def ask() -> None:
        st.markdown(
            _(
                "A person decided about the present answer. A new answer starts without that decision; "
                "it stays in the history."
            )
        )
        if st.button(
            _("Ask {name} again").format(name=untrusted.label(result.instance_id, limit=60)),
            key="run_again.one_confirm",
            type="primary",
            icon=":material/replay:",
        ):
            ask_again(result)

    ask()


def _known() -> dict[int, Provider]:
    found: Sequence[Provider] = providers.page(session.engine(), actor=session.user())
    return {provider.id: provider for provider in found}
