"""A case as a reviewer sees it: what the model is sent, and what is asked of the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st

from dashboard import session, words
from dashboard.components import bank_fixture, bank_words, untrusted
from dashboard.i18n import _, language
from engine.domain.banks import BankInfo
from engine.domain.cases import Case, Expectation, Fixture, Question, ToolCallPolicy, ToolDef, Turn, Variant
from engine.errors import EngineError
from engine.services import banks

Material = Mapping[str, tuple[Fixture, bytes] | str]
"""A case's fixtures and their bytes by their ids, or why one cannot be had."""


def material(case: Case, bank: BankInfo) -> Material:
    """The fixtures that a case or a variant of it uses."""
    turns = [*case.turns, *(turn for variant in case.variants for turn in variant.turns or ())]
    found: dict[str, tuple[Fixture, bytes] | str] = {}
    for name in dict.fromkeys(name for turn in turns for name in turn.fixtures):
        try:
            found[name] = banks.fixture(session.engine(), bank.name, name, actor=session.user(), version=bank.sha256)
        except EngineError as error:
            found[name] = error.message
    return found


def draw(case: Case, material: Material) -> None:
    """Everything of one case; `material` holds the fixtures it leans on."""
    draw_head(case)
    draw_expectation(case.expectation)
    key = f"bank.case.{case.case_id}"
    sent, asked = st.columns([3, 2], gap="medium")
    with sent:
        st.markdown(f"**{_('What the model is sent')}**")
        if case.system:
            _say(_("system"), case.system, key=f"{key}.system")
        draw_turns(case.turns, material, key=key)
        draw_options(case, key=key)
        for number, tool in enumerate(case.tools):
            draw_tool(tool, key=f"{key}.tool.{number}")
    with asked:
        st.markdown(f"**{_('How the answer is judged')}**")
        draw_rules(case, key=key)
        draw_tags(case)
        draw_provenance(case)
    draw_variants(case, material, key=key)
    with st.expander(_("As it is stored"), icon=":material/data_object:"):
        untrusted.draw(
            json.dumps(case.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False, indent=2),
            key=f"{key}.json",
            language="json",
        )


def draw_head(case: Case) -> None:
    """Which question this is."""
    parts = [words.clause(case.clause), words.mode(case.mode), words.severity(case.severity)]
    parts += [bank_words.technique(case.technique), untrusted.label(case.language)]
    if case.aspect is not None:
        parts.append(bank_words.aspect(case.aspect))
    st.markdown(f"**{untrusted.label(case.case_id)}** · {untrusted.label(case.title)}")
    st.caption(" · ".join(parts), help=words.clause_title(case.clause))


def draw_expectation(expectation: Expectation) -> None:
    with st.container(border=True, gap="xxsmall"):
        for mark, word, text in (
            (":material/check:", _("A good answer"), expectation.must),
            (":material/close:", _("It must not"), expectation.must_not),
        ):
            st.caption(f"{mark} {word}")
            untrusted.say(text)


def _say(who: str, text: str, *, key: str, as_json: bool = False) -> None:
    with st.container(gap="xxsmall"):
        st.caption(who)
        untrusted.draw(text, key=key, language="json" if as_json else None)


def draw_turns(turns: tuple[Turn, ...], material: Material, *, key: str) -> None:
    for number, turn in enumerate(turns, 1):
        who = _("user") if len(turns) == 1 else _("user, turn {n}").format(n=number)
        _say(who, turn.text, key=f"{key}.turn.{number}")
        for name in turn.fixtures:
            bank_fixture.draw(name, material.get(name, _("not in this bank")), key=f"{key}.turn.{number}.{name}")


def draw_options(question: Question, *, key: str) -> None:
    """The lettered options of a multiple-choice question."""
    if question.choice is None:
        return
    lettered = (f"{chr(ord('A') + number)}. {option}" for number, option in enumerate(question.choice.options))
    _say(_("options"), "\n".join(lettered), key=f"{key}.options")


def draw_tool(tool: ToolDef, *, key: str) -> None:
    """What a tool is said to do, what it takes, and what the simulated one answers."""
    with st.expander(f"{_('Tool')} {untrusted.label(tool.name)}", icon=":material/build:", expanded=True):
        untrusted.say(tool.description)
        if tool.result is not None:
            _say(_("answers, whatever it is asked"), _json(tool.result), key=f"{key}.result", as_json=True)
        else:
            st.caption(_("answers nothing"))
        _say(_("takes"), _json(tool.parameters), key=f"{key}.parameters", as_json=True)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def draw_rules(case: Case, *, key: str) -> None:
    """The right option or options, hard checks, and the tool policy; a case without any leaves it to the judges."""
    if case.choice is not None:
        st.caption(_("the right option"))
        for letter, number in zip(case.choice.letter.split(", "), case.choice.answers, strict=True):
            st.text(untrusted.cell(f"{letter}. {case.choice.options[number]}", limit=1000))
    for check in case.checks:
        with st.container(gap="xxsmall"):
            st.caption(f"{bank_words.check(check.kind)} · {untrusted.label(check.check_id)}")
            untrusted.draw("\n".join(check.patterns), key=f"{key}.check.{check.check_id}", language="regex")
            st.caption(untrusted.label(check.reason.in_language(language())))
    if case.tool_call_policy is not None:
        draw_policy(case.tool_call_policy, key=f"{key}.policy")
    if case.choice is None and not case.checks and case.tool_call_policy is None:
        st.caption(_("No rule of its own: refusal detection, the judge and reviewers go by the expectation."))


def draw_policy(policy: ToolCallPolicy, *, key: str) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.caption(_("tool policy"))
        allowed = _("every tool on offer") if policy.allowed is None else _names(policy.allowed)
        lines = [(_("may call"), allowed), (_("must not call"), _names(policy.forbidden))]
        lines.append((_("must call"), _names(policy.required)))
        if policy.max_calls is not None:
            lines.append((_("calls at most"), words.count(policy.max_calls)))
        if policy.order:
            lines.append((_("in this order"), _names(policy.order)))
        if policy.confirm_before:
            lines.append((_("only after the user agreed"), _names(policy.confirm_before)))
        for word, what in lines:
            st.markdown(f"{word}: {what}")
        if policy.arguments:
            _say(_("arguments must fit"), _json(policy.arguments), key=f"{key}.arguments", as_json=True)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(untrusted.label(name) for name in names) or "–"


def draw_tags(case: Case) -> None:
    """Codes of other schemes with their editions."""
    if not case.tags:
        return
    with st.container(gap="xxsmall"):
        st.caption(_("tags"))
        with st.container(horizontal=True, gap="xxsmall"):
            for tag in case.tags:
                edition = "" if tag.year is None else f" · {tag.year}"
                st.badge(f"{untrusted.label(f'{tag.scheme}:{tag.code}', limit=60)}{edition}", color="gray")


def draw_provenance(case: Case) -> None:
    """Where an imported case comes from."""
    origin = case.provenance
    if origin is None:
        return
    lines = {
        _("set"): origin.set if origin.version is None else f"{origin.set} {origin.version}",
        _("licence"): origin.licence,
        _("original id"): origin.original_id,
        _("original label"): origin.original_label,
        _("mapped by"): origin.mapping,
    }
    with st.container(border=True, gap="xxsmall"):
        st.caption(_("provenance"))
        for word, value in lines.items():
            if value is not None:
                st.markdown(f"{word}: {untrusted.label(value)}")
        if origin.mapping == "group":
            st.caption(_("The label means a whole group; the group's catch-all clause stands for it."))


def draw_variants(case: Case, material: Material, *, key: str) -> None:
    """Other wordings of the same question; what a variant does not say is as above."""
    for variant in case.variants:
        name = untrusted.label(f"{case.case_id}/{variant.variant}")
        title = "" if variant.title is None else f" · {untrusted.label(variant.title)}"
        with st.expander(f"{_('Variant')} {name}{title}", icon=":material/alt_route:"):
            draw_variant(variant, material, key=f"{key}.variant.{variant.variant}")


def draw_variant(variant: Variant, material: Material, *, key: str) -> None:
    facts = [] if variant.language is None else [untrusted.label(variant.language)]
    if variant.technique is not None:
        facts.append(bank_words.technique(variant.technique))
    st.caption(" · ".join([*facts, _("what is not shown is as in the case")]))
    if variant.system:
        _say(_("system"), variant.system, key=f"{key}.system")
    if variant.turns is not None:
        draw_turns(variant.turns, material, key=key)
    if variant.expectation is not None:
        draw_expectation(variant.expectation)
    if variant.tags is not None:
        st.caption(" · ".join(untrusted.label(f"{tag.scheme}:{tag.code}") for tag in variant.tags))
