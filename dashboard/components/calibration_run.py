"""How far the verdicts of one run can be trusted: pooled, by clause, on control cases, and by the audit."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import session, spoken, words
from dashboard.components import calibration_words as say
from dashboard.components import choice, run_address, run_title, untrusted, verdict
from dashboard.i18n import _, language
from engine.domain.calibration import (
    AuditStanding,
    ClauseCalibration,
    Confusion,
    ControlStanding,
    JudgeFigures,
    RunCalibration,
)
from engine.domain.runs import Run
from engine.domain.verdicts import Verdict

KEY = "calibration.{}".format
ROW_HEIGHT = 33
FIGURE_PX = 150
"""Room for a figure, its name and its counts; where fewer fit side by side, the rest goes into the next row."""


def draw_choice(listed: Sequence[Run]) -> Run:
    """Which run; the address follows the choice and is followed when it changes."""
    by_id = {run.id: run for run in listed}
    asked = run_address.asked()
    if asked in by_id and asked != st.session_state.get(KEY("address")):
        st.session_state[KEY("run")] = asked
    chosen = choice.draw(
        _("Run"), list(by_id), key=KEY("run"), format_func=lambda run_id: run_title.text(by_id[run_id])
    )
    run = by_id[chosen or listed[0].id]
    st.session_state[KEY("address")] = run.id
    if asked != run.id:
        st.query_params["run"] = str(run.id)
    return run


def draw_pooled(found: RunCalibration) -> None:
    """Five figures over all clauses, each with its counts or interval."""
    pooled = found.pooled
    judge = pooled.judge
    grid = st.grid(5, min_column_width=FIGURE_PX)
    with grid.cell():
        rate = pooled.passed
        figure(
            _("Pass rate"),
            words.rate(rate.count, rate.judged),
            words.of(rate.count, rate.judged),
            words.interval(rate.ci_low, rate.ci_high),
        )
    with grid.cell():
        cells = pooled.agreement.confusion
        agreed = cells.true_positive + cells.true_negative
        figure(
            _("Verdicts confirmed"),
            words.rate(agreed, cells.n),
            words.of(agreed, cells.n),
            hint=_(
                "Automatic passes and fails of this run that people looked at, and how many they left as they were."
            ),
        )
    with grid.cell():
        figure(
            _("Kappa"),
            say.kappa(pooled.agreement),
            say.kappa_bounds(pooled.agreement) or words.of(0, pooled.agreement.n),
            hint=_("Agreement beyond chance: 1 is perfect, 0 is what guessing would give. Its 95 % interval is below."),
        )
    with grid.cell():
        cells = judge.confusion if judge is not None else Confusion()
        agreed = cells.true_positive + cells.true_negative
        figure(
            _("Judge model confirmed"),
            words.rate(agreed, cells.n),
            words.of(agreed, cells.n),
            hint=_("The judge model's own votes, over every run with this model and these prompts."),
        )
    with grid.cell():
        figure(
            _("Corrected pass rate"),
            _("n/a") if pooled.corrected is None else f"{100 * pooled.corrected.share:.1f} %",
            "" if pooled.corrected is None else words.interval(pooled.corrected.ci_low, pooled.corrected.ci_high),
            say.rests_on(pooled),
            hint=_("The automatic pass rate put right for the errors that people found (Rogan-Gladen)."),
        )


def figure(name: str, value: str, *below: str, hint: str | None = None) -> None:
    with st.container(gap=None):
        st.metric(name, value, help=hint)
        st.caption(" · ".join(filter(None, below)))


def draw_sample(pooled: JudgeFigures) -> None:
    """Which of the decisions are a random sample, and which are not."""
    others = pooled.agreement.n - pooled.audited
    st.caption(
        _(
            "Decisions on automatic verdicts: {audited} on answers drawn for audit, which are a random sample, and "
            "{others} on answers that somebody chose, which are not. Doubtful answers have no automatic pass or fail "
            "and are in no figure of agreement."
        ).format(audited=words.count(pooled.audited), others=words.count(others))
    )


def clause_frame(rows: Sequence[ClauseCalibration]) -> pd.DataFrame:
    """One row a clause, every figure with what it is of."""
    return pd.DataFrame(
        {
            "clause": [words.clause(row.clause) for row in rows],
            "rate": [say.proportion(row.passed) for row in rows],
            "bounds": [words.interval(row.passed.ci_low, row.passed.ci_high) for row in rows],
            "agreed": [say.agreed(row.agreement.confusion) for row in rows],
            "kappa": [say.kappa_line(row.agreement) for row in rows],
            "judge": [judge_model(row) for row in rows],
            "corrected": [say.corrected(row.corrected) for row in rows],
            "basis": [say.rests_on(row) for row in rows],
        }
    )


def judge_model(row: ClauseCalibration) -> str:
    """How often people confirmed the judge model's own votes, and that it has lost its vote where it has."""
    cells = row.judge.confusion if row.judge is not None else Confusion()
    if row.distrusted:
        return f"{_('no vote')} · {words.of(cells.true_positive + cells.true_negative, cells.n)}"
    return say.agreed(cells)


def draw_clauses(rows: Sequence[ClauseCalibration]) -> None:
    frame = clause_frame(rows)
    judged_by_model = any(row.judge is not None or row.distrusted for row in rows)
    order = ["clause", "rate", "bounds", "agreed", "kappa", "judge", "corrected", "basis"]
    st.dataframe(
        frame,
        hide_index=True,
        row_height=ROW_HEIGHT,
        height=ROW_HEIGHT * (len(frame) + 1) + 2,
        key=f"{KEY('clauses')}.{language()}",
        column_order=[name for name in order if name != "judge" or judged_by_model],
        column_config={
            "clause": st.column_config.TextColumn(_("clause"), width=158),
            "rate": st.column_config.TextColumn(_("pass rate"), width=118, alignment="right"),
            "bounds": st.column_config.TextColumn(_("95 % interval"), width=104, alignment="right"),
            "agreed": st.column_config.TextColumn(
                _("confirmed"),
                width=116,
                alignment="right",
                help=_(
                    "Automatic passes and fails of this run that people looked at, and how many they left as they were."
                ),
            ),
            "kappa": st.column_config.TextColumn(_("kappa"), width=122, alignment="right"),
            "judge": st.column_config.TextColumn(
                _("judge model"),
                width=124,
                alignment="right",
                help=_(
                    "The judge model's own votes, over every run with this model and these prompts. Where people "
                    "contradicted it too often, it has no vote."
                ),
            ),
            "corrected": st.column_config.TextColumn(_("corrected rate"), width=158, alignment="right"),
            "basis": st.column_config.TextColumn(
                _("rests on"),
                width=152,
                help=_("The decisions that the corrected rate rests on, or why there is none."),
            ),
        },
        alt=_("Agreement with people by clause"),
    )


def draw_matrix(cells: Confusion, *, positive: str, negative: str, key: str) -> None:
    """What the judge said against what people said, with the number of answers in each cell."""
    st.dataframe(
        pd.DataFrame(
            {
                "people": [positive, negative],
                "positive": [cells.true_positive, cells.false_positive],
                "negative": [cells.false_negative, cells.true_negative],
            }
        ),
        hide_index=True,
        row_height=ROW_HEIGHT,
        key=f"{key}.{language()}",
        column_config={
            "people": st.column_config.TextColumn(_("people say"), width=130),
            "positive": st.column_config.NumberColumn(
                _("judge: {what}").format(what=positive), width=130, format="localized"
            ),
            "negative": st.column_config.NumberColumn(
                _("judge: {what}").format(what=negative), width=130, format="localized"
            ),
        },
        alt=_("Judge against people"),
    )


def draw_verdicts(pooled: JudgeFigures) -> None:
    """Automatic verdicts against people's, all clauses together, and both kinds of error."""
    cells = pooled.agreement.confusion
    st.markdown(f"**{_('Automatic verdicts against people')}**")
    if not cells.n:
        st.caption(_("Nobody has looked at an automatic pass or fail of this run yet."))
        return
    draw_matrix(
        cells,
        positive=verdict.word(Verdict.PASS),
        negative=verdict.word(Verdict.FAIL),
        key=KEY("verdicts"),
    )
    st.caption(
        _("Passed, and people fail it: {passed}. Failed, and people pass it: {failed}.").format(
            passed=say.false_positives(cells), failed=say.false_negatives(cells)
        )
    )


def draw_controls(found: RunCalibration) -> None:
    """Answers whose verdict is known: what was expected, what the judge said, and in its last run."""
    st.markdown(f"**{_('Control cases')}**")
    if not found.controls:
        st.caption(
            _("No control case was put before a judge in this run.")
            if found.judge_model is not None
            else _("No judge model, no control cases: rules say the same every time.")
        )
        return
    st.dataframe(
        control_frame(found.controls),
        hide_index=True,
        row_height=ROW_HEIGHT,
        key=f"{KEY('controls')}.{language()}",
        column_order=("case", "expected", "said", "before", "reason")
        if found.earlier_run is not None
        else ("case", "expected", "said", "reason"),
        column_config={
            "case": st.column_config.TextColumn(_("control case"), width=130),
            "expected": st.column_config.TextColumn(_("expected"), width=80),
            "said": st.column_config.TextColumn(_("got"), width=130),
            "before": st.column_config.TextColumn(
                _("run {id}").format(id=found.earlier_run), width=110, help=_("The last run with this judge model.")
            ),
            "reason": st.column_config.TextColumn(_("reason"), width=240),
        },
        alt=_("Control cases"),
    )
    met = sum(each.is_met for each in found.controls)
    st.caption(_("As expected: {n}").format(n=words.share(met, len(found.controls))))


def control_frame(controls: Sequence[ControlStanding]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "case": [each.control_id for each in controls],
            "expected": [verdict.word(each.expected) for each in controls],
            "said": [got(each) for each in controls],
            "before": [
                "–"
                if each.before is None
                else verdict.word(each.before) + (f" · {_('moved')}" if each.has_moved else "")
                for each in controls
            ],
            "reason": [
                untrusted.cell(spoken.said(each.reason) if each.verdict is None else each.reason) for each in controls
            ],
        }
    )


def got(control: ControlStanding) -> str:
    """The verdict, and that it is wrong where it is."""
    if control.verdict is None:
        return _("could not be reached")
    return verdict.word(control.verdict) + ("" if control.is_met else f" · {_('wrong')}")


def draw_audit(audit: AuditStanding | None, run_id: int) -> None:
    """What was drawn, how far people are, and what they found."""
    st.markdown(f"**{_('Random audit')}**")
    if audit is None or not audit.drawn:
        st.caption(_("Nothing of this run was drawn for audit."))
        return
    bounds = words.interval(audit.errors.ci_low, audit.errors.ci_high)
    st.markdown(
        _(
            "{share} of the instances were to be drawn; drawn: {drawn}, with an automatic pass or fail: {confident}."
        ).format(
            share=f"{100 * audit.share:.0f} %", drawn=words.count(audit.drawn), confident=words.count(audit.confident)
        )
    )
    st.markdown(
        _("Reviewed: {reviewed}. Errors found: {errors}").format(
            reviewed=words.share(audit.reviewed, audit.confident), errors=say.proportion(audit.errors)
        )
        + (f" · {bounds}" if bounds else "")
    )
    left = audit.confident - audit.reviewed
    if left > 0:
        st.caption(
            _(
                "Still to be looked at: {n}. Until then the clauses that come last in the plan are under-represented."
            ).format(n=words.count(left))
        )
        st.page_link(
            session.page("review"),
            label=_("Open the review queue"),
            icon=":material/balance:",
            query_params={"run": str(run_id)},
        )
