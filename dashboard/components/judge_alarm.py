"""What a run's warnings say about its judge, together and in words: it has moved, it errs, it has no vote."""

from __future__ import annotations

import streamlit as st

from dashboard import session, words
from dashboard.components import untrusted, verdict
from dashboard.i18n import _
from engine.domain.runs import Run
from engine.domain.verdicts import Verdict
from engine.services import judge_trust

NAMED = 4
"""So many cases or clauses are named; the page about judges has them all."""


def draw(run: Run, *, link: bool = True) -> tuple[str, ...]:
    """Draw the alarms of a run and the way to their page; returns the warnings about anything else."""
    found = judge_trust.alarms(run.warnings)
    if found.moved:
        st.error(
            _("The judge has moved since run {run}. Control cases that come out otherwise ({n}): {cases}").format(
                n=words.count(len(found.moved)),
                run=found.moved[0].run_id,
                cases=_some([moved(each) for each in found.moved]),
            ),
            icon=":material/crisis_alert:",
        )
    if found.missed:
        st.error(
            _("The judge is wrong on control cases ({n}): {cases}").format(
                n=words.count(len(found.missed)), cases=_some([missed(each) for each in found.missed])
            ),
            icon=":material/rule:",
        )
    if found.no_vote:
        st.warning(
            _("People contradicted the judge too often, so it has no vote on clauses ({n}): {clauses}").format(
                n=words.count(len(found.no_vote)), clauses=_some([no_vote(each) for each in found.no_vote])
            ),
            icon=":material/how_to_vote:",
        )
    if link and (found.moved or found.missed or found.no_vote):
        st.page_link(
            session.page("calibration"),
            label=_("How far the judge can be trusted"),
            icon=":material/gavel:",
            query_params={"run": str(run.id)},
        )
    return found.others


def moved(each: judge_trust.Moved) -> str:
    """Such as `en-rf-pass (pass, now fail)`."""
    return _("{case} ({was}, now {now})").format(
        case=untrusted.label(each.control_id), was=verdict.word(each.was), now=verdict.word(each.now)
    )


def missed(each: judge_trust.Missed) -> str:
    """Such as `en-rf-fail (pass instead of fail)`."""
    return _("{case} ({said} instead of {expected})").format(
        case=untrusted.label(each.control_id), said=verdict.word(each.said), expected=verdict.word(each.expected)
    )


def no_vote(each: judge_trust.NoVote) -> str:
    """Such as `A.5.b (agreed on 0 of 12)`, or `A.5.b (agreed on 34 of 40, but on 0 of 6 that people fail)`."""
    if each.side is not None:
        if each.side.verdict is Verdict.FAIL:
            text = _("{clause} (agreed on {n}, but on {side} that people fail)")
        else:
            text = _("{clause} (agreed on {n}, but on {side} that people pass)")
        return text.format(
            clause=untrusted.label(each.clause),
            n=words.of(each.agreed, each.judged),
            side=words.of(each.side.agreed, each.side.judged),
        )
    return _("{clause} (agreed on {n})").format(
        clause=untrusted.label(each.clause), n=words.of(each.agreed, each.judged)
    )


def _some(names: list[str]) -> str:
    rest = len(names) - NAMED
    shown = ", ".join(names[:NAMED])
    return shown + (" " + _("and {n} more").format(n=words.count(rest)) if rest > 0 else "")
