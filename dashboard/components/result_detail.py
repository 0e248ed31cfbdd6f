"""One result in three parts: the verdict with its trail, what the model was sent, what it answered."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session, spoken, words
from dashboard.components import fault, untrusted, verdict
from dashboard.i18n import _, language
from engine.domain.cases import Instance
from engine.domain.chat import FixtureRef, Message, ToolCall
from engine.domain.runs import Attempt, ExecutionStatus, ResultDetail
from engine.domain.verdicts import Judgement, Review, ReviewVerdict
from engine.errors import EngineError
from engine.services import results

SIDE_PX = 230
"""Room for what was sent and for what was answered; on a narrow screen one stands below the other."""
DISTRUSTED = "distrusted"
"""How a judgement says that its judge has lost its vote on the clause."""


def draw(result: ResultDetail) -> None:
    draw_head(result)
    if session.on_phone():  # below each other they would be a long way to scroll
        trail, sent, answered = st.tabs([_("Verdict"), _("What it was sent"), _("What it answered")])
    else:
        trail, grid = st.container(), st.grid(2, min_column_width=SIDE_PX)
        sent, answered = grid.cell(), grid.cell()
        sent.markdown(f"**{_('What it was sent')}**")
        answered.markdown(f"**{_('What it answered')}**")
    with trail:
        draw_trail(result)
    with sent:
        draw_sent(result)
    with answered:
        draw_answered(result)


def draw_head(result: ResultDetail) -> None:
    """Which question this is."""
    parts = [
        words.clause(result.clause),
        words.mode(result.mode),
        words.severity(result.instance.severity),
        words.duration(result.latency_ms / 1000),
    ]
    if result.attempts > 1:
        parts.append(_("{n} attempts").format(n=words.count(result.attempts)))
    st.markdown(f"**{untrusted.label(result.instance_id)}** · {untrusted.label(result.instance.title)}")
    st.caption(" · ".join(parts), help=words.clause_title(result.clause))


def draw_trail(result: ResultDetail) -> None:
    """The verdict that counts, and everything that led to it in order."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if result.execution_status is ExecutionStatus.ERROR:
                st.badge(_("error"), icon=":material/error:", color="gray")
            else:
                verdict.draw(result.verdict)
                if result.review is not None and result.review.verdict is not ReviewVerdict.CLEAR:
                    st.caption(_("decided by a person; the automatic verdict was"), width="content")
                    verdict.draw(result.automatic_verdict)
            if result.audited:
                st.badge(
                    _("drawn for audit"),
                    icon=":material/shuffle:",
                    color="blue",
                    help=_("Chosen at random before the run: a person looks at it even if the judges are sure."),
                )
        if result.error is not None:
            fault.draw_item(result.error.code, result.error.message)
        for judgement in result.judgements:
            draw_judgement(judgement)
        for review in result.reviews:
            draw_review(review)


def reason(judgement: Judgement) -> str:
    """Why, in the reader's language where the judge is a rule of ours, or where a judge model gave nothing to read."""
    detail = judgement.detail or {}
    if "code" in detail:  # the reason is the engine's, not the judge's
        return spoken.said(judgement.reason)
    chinese = detail.get("reason_zh")
    return str(chinese) if chinese and language() == "zh" else judgement.reason


def draw_judgement(judgement: Judgement) -> None:
    head = words.judge(judgement.judge)
    if judgement.confidence is not None:
        head += " · " + _("confidence {n}").format(n=f"{judgement.confidence:.2f}")
    unavailable = (judgement.detail or {}).get("code") == "judge_unavailable"
    with st.container(gap=None):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{head}**", width="content")
            if unavailable:
                st.badge(_("could not be reached"), icon=":material/cloud_off:", color="gray")
            elif judgement.verdict is None:
                st.caption(_("did not conclude"), width="content")
            else:
                verdict.draw(judgement.verdict)
            if (judgement.detail or {}).get("doubt") == DISTRUSTED:
                st.badge(
                    _("no vote here"),
                    icon=":material/how_to_vote:",
                    color="orange",
                    help=_("People contradicted this judge too often on this clause, so a person decides instead."),
                )
        untrusted.say(reason(judgement))


def draw_review(review: Review) -> None:
    who, when = untrusted.label(review.reviewer, limit=60), words.moment(review.created_at)
    with st.container(gap=None):
        st.markdown(f"**{who}** · {words.review_verdict(review.verdict)} · {when}", help=words.utc(review.created_at))
        untrusted.say(review.reason)


def shown_attempt(result: ResultDetail) -> Attempt | None:
    """The newest attempt that answered, else the newest."""
    answered = [a for a in result.attempts_history if a.execution_status is ExecutionStatus.COMPLETED]
    newest = answered or list(result.attempts_history)
    return newest[-1] if newest else None


def draw_sent(result: ResultDetail) -> None:
    """Every message in order, with the material that came along and the tools on offer."""
    attempt = shown_attempt(result)
    messages = attempt.messages if attempt is not None and attempt.messages else planned(result.instance)
    for number, message in enumerate(messages):
        draw_message(message, result.run_id, key=f"detail.{result.execution_id}.sent.{number}")
    draw_tools(result.instance)


def planned(instance: Instance) -> tuple[Message, ...]:
    """What would have been sent, for a result without a stored conversation."""
    system = (Message(role="system", text=instance.system),) if instance.system else ()
    return (*system, *(Message(role="user", text=turn.text) for turn in instance.turns))


def draw_message(message: Message, run_id: int, *, key: str) -> None:
    who = {"system": _("system"), "user": _("user"), "assistant": _("model"), "tool": _("tool result")}[message.role]
    with st.container(gap="xxsmall"):
        st.caption(who)
        if message.text or not (message.tool_calls or message.fixtures):
            untrusted.draw(message.text, key=key)
    draw_calls(message.tool_calls, key=key)
    draw_fixtures(message.fixtures, run_id)


def draw_fixtures(fixtures: Sequence[FixtureRef], run_id: int) -> None:
    for fixture in fixtures:
        st.caption(
            f"{_('fixture')} {untrusted.label(fixture.fixture_id)} · {untrusted.label(fixture.media_type)}"
            f" · SHA-256 {untrusted.label(fixture.sha256[:12])}"
        )
        if fixture.media_type.startswith("image/"):
            try:
                content = results.fixture(session.engine(), run_id, fixture.sha256, actor=session.user())
            except EngineError as error:
                untrusted.say(spoken.said(error.message))
            else:
                st.image(content, width=320)


def draw_tools(instance: Instance) -> None:
    if not instance.tools:
        return
    with st.expander(_("Tools on offer: {n}").format(n=words.count(len(instance.tools))), icon=":material/build:"):
        for number, tool in enumerate(instance.tools):
            untrusted.draw(f"{tool.name}: {tool.description}", key=f"detail.tool.{number}")


def draw_calls(calls: Sequence[ToolCall], *, key: str) -> None:
    for number, call in enumerate(calls):
        with st.container(gap="xxsmall"):
            st.caption(_("tool call"))
            untrusted.draw(f"{call.name}({call.arguments})", key=f"{key}.call.{number}")


def draw_answered(result: ResultDetail) -> None:
    """The last answer, the calls made on the way, and how it ended."""
    attempt = shown_attempt(result)
    output = attempt.output if attempt is not None else None
    if attempt is None or output is None:
        st.caption(_("No answer: the call failed."))
        return
    key = f"detail.{result.execution_id}.answer"
    untrusted.draw(output.text, key=key)
    draw_calls(output.tool_calls, key=key)
    facts = [_("finish reason: {reason}").format(reason=words.finish_reason(output.finish_reason))]
    if output.refusal_type is not None:
        facts.append(_("refused by: {who}").format(who=words.refusal_type(output.refusal_type)))
    if attempt.usage is not None and attempt.usage.completion_tokens is not None:
        facts.append(_("{n} tokens").format(n=words.count(attempt.usage.completion_tokens)))
    if attempt.served_model:
        facts.append(_("served by {model}").format(model=untrusted.label(attempt.served_model, limit=60)))
    st.caption(" · ".join(facts))
    if attempt.reasoning:
        with st.expander(_("Reasoning, never judged"), icon=":material/psychology:"):
            untrusted.draw(attempt.reasoning, key=f"{key}.reasoning")
