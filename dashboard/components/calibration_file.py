"""Measure a judge on a labelled file: choose, confirm what costs money, follow it, read the figures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import streamlit as st

from dashboard import session, uploads, words
from dashboard.components import calibration_run, choice, errors, run_form, untrusted
from dashboard.components import calibration_words as say
from dashboard.i18n import _, language, ngettext
from engine.domain.accounts import Permission
from engine.domain.calibration import Calibration
from engine.domain.providers import Provider
from engine.services import banks, calibration
from engine.services.calibration import Columns, Contents, Judge
from engine.services.measuring import Measuring

KEY = "calibration.file.{}".format
MEASURED = KEY("measured")
"""The last figures, and what they were made of."""
CONTENTS = KEY("contents")
ASKING = KEY("asking")
MEASURING = KEY("measuring")
"""A judge model that is being asked, and what the figures will be made of."""

LOOK_S = 1.0
"""How often the page looks how far the judge model is."""

USUAL = {
    "text": ("completion", "answer", "response", "output", "text"),
    "label": ("final_label", "label", "human", "annotation"),
    "group": ("model", "group"),
    "prompt": ("prompt", "question"),
    "clause": ("clause",),
}
"""Headings that labelled files often have; only a proposal."""


class Choices(NamedTuple):
    """All that the figures depend on."""

    judge: Judge
    columns: Columns
    positive: tuple[str, ...]
    provider_id: int | None = None
    model: str | None = None


def draw(providers: Sequence[Provider]) -> None:
    """The form on the left, the figures on the right."""
    uploads.offer(Permission.REVIEW)
    take_figures()
    form, outcome = st.columns([2, 3], gap="large")
    files, made_of = list[calibration.SourceFile](), ""
    with form, errors.shown():
        files = take_files()
        if files:
            held = contents(files)
            choices = draw_choices(held, providers)
            made_of = fingerprint(files, repr(choices))
            draw_button(files, held, choices, made_of)
    measured_of, measured = st.session_state.get(MEASURED, (None, None))
    # Without files there is nothing the figures could be out of date with: somebody left the page and came back.
    fresh = measured is not None and (not files or measured_of == made_of)
    with outcome:
        if MEASURING in st.session_state:
            follow()
        elif fresh:
            if not files:
                st.caption(_("Figures of {files}").format(files=untrusted.label(", ".join(measured.files))))
            draw_figures(measured)
        elif not files:
            st.caption(_("Drop a file with answers and people's labels. Neither the file nor the figures are stored."))
        else:
            st.caption(_("Choose the columns and the labels that count as positive, then measure."))
    if fresh and measured.groups and MEASURING not in st.session_state:
        draw_groups(measured)


def take_files() -> list[calibration.SourceFile]:
    dropped = st.file_uploader(
        _("Labelled files"),
        type=["csv", "json", "jsonl", "ndjson"],
        accept_multiple_files=True,
        key=KEY("files"),
        help=_("CSV, JSON or JSONL, all with the same columns. Up to 64 MB each and 128 MB in all."),
    )
    banks.check_total([each.size for each in dropped])  # before any of them is copied
    return [calibration.SourceFile(name=each.name, content=each.getvalue()) for each in dropped]


def fingerprint(files: Sequence[calibration.SourceFile], *more: str) -> str:
    digest = hashlib.sha256(chr(0).join(more).encode("utf-8", "surrogatepass"))
    for file in files:
        digest.update(file.name.encode("utf-8", "surrogatepass") + b"\0" + hashlib.sha256(file.content).digest())
    return digest.hexdigest()


def contents(files: Sequence[calibration.SourceFile]) -> Contents:
    """What the files hold; read once, not on every click."""
    made_of = fingerprint(files)
    held_of, held = st.session_state.get(CONTENTS, (None, None))
    if held is None or held_of != made_of:
        held = calibration.contents(files)
        st.session_state[CONTENTS] = (made_of, held)
    found: Contents = held
    return found


def guess(name: str, columns: Sequence[str]) -> str | None:
    return next((each for each in USUAL[name] if each in columns), None)


def draw_column(name: str, label: str, columns: Sequence[str], *, needed: bool = False) -> str | None:
    return choice.draw(
        label,
        list(columns),
        key=KEY(name),
        format_func=untrusted.cell,
        default=guess(name, columns),
        placeholder=None if needed else _("none"),
        hide_label=False,
    )


def judge_name(judge: Judge) -> str:
    return {
        Judge.REFUSAL: _("refusal detection"),
        Judge.RULE: _("rules"),
        Judge.LLM: _("judge model"),
    }[judge]


def positive_means(judge: Judge) -> str:
    """What the judge calls positive; the labels have to mean the same."""
    return {
        Judge.REFUSAL: _("Positive means: the answer refuses, in whole or in part."),
        Judge.RULE: _("Positive means: the answer is unacceptable; a rule blocks it."),
        Judge.LLM: _("Positive means: the answer is unacceptable; the judge model fails it."),
    }[judge]


def draw_choices(held: Contents, providers: Sequence[Provider]) -> Choices:
    """Judge, columns, labels and, for a judge model, whose."""
    st.caption(
        ngettext("{n} row", "{n} rows", held.rows).format(n=words.count(held.rows))
        + " · "
        + _("{n} columns").format(n=words.count(len(held.values)))
    )
    judge = st.segmented_control(
        _("Judge to be measured"),
        list(Judge),
        format_func=judge_name,
        default=Judge.REFUSAL,
        key=KEY("judge"),
        required=True,
    )
    names = list(held.values)
    left, right = st.columns(2)
    with left:
        text = draw_column("text", _("Column with the answer"), names, needed=True)
    with right:
        label = draw_column("label", _("Column with the label"), names, needed=True)
    values = held.values[label or names[0]]
    positive = st.multiselect(
        _("Labels that count as positive"),
        values,
        default=[value for value in values if judge is Judge.REFUSAL and "refus" in value.lower()],
        format_func=untrusted.cell,
        key=f"{KEY('positive')}.{judge}.{hashlib.sha256(repr((label, values)).encode()).hexdigest()[:8]}",
        placeholder=_("choose or type"),
        accept_new_options=True,
        help=_("Every other label is negative. Upper and lower case are the same."),
    )
    st.caption(positive_means(judge))
    left, right = st.columns(2)
    with left:
        group = draw_column("group", _("Figures for each value of"), names)
    prompt = clause = model = None
    provider_id = None
    if judge is not Judge.REFUSAL:
        with right:
            clause = draw_column("clause", _("Column with the clause"), names)
    if judge is Judge.LLM:
        prompt = draw_column("prompt", _("Column with the question"), names)
        by_id = {provider.id: provider for provider in providers}
        left, right = st.columns(2)
        with left:
            provider_id = choice.draw(
                _("Judge's provider"),
                list(by_id),
                key=KEY("provider"),
                format_func=lambda chosen: run_form.provider_name(by_id[chosen]),
                default=next((each.id for each in providers if each.is_default_judge), None),
                hide_label=False,
            )
        with right:
            model = st.text_input(
                _("Judge model"),
                placeholder=untrusted.cell(by_id[provider_id].default_model) if provider_id in by_id else "",
                key=KEY("model"),
                persist_state="session",
                max_chars=200,
            ).strip()
    return Choices(
        judge=judge,
        columns=Columns(text=text or names[0], label=label or names[0], group=group, prompt=prompt, clause=clause),
        positive=tuple(positive),
        provider_id=provider_id,
        model=model or None,
    )


def draw_button(files: Sequence[calibration.SourceFile], held: Contents, choices: Choices, made_of: str) -> None:
    """Measure at once; calls to a judge model are confirmed first, for they cost money."""
    pressed = st.button(
        _("Measure"),
        key=KEY("measure"),
        type="primary",
        icon=":material/straighten:",
        disabled=not choices.positive or MEASURING in st.session_state,
        help=None if choices.positive else _("Choose the labels that count as positive first."),
    )
    if choices.judge is not Judge.LLM:
        if pressed:
            measure(files, choices, made_of)
        return
    if pressed:
        st.session_state[ASKING] = made_of
    if st.session_state.get(ASKING) == made_of:
        confirm(files, held, choices, made_of)


def close() -> None:
    """Nobody wants to ask the judge model any more."""
    st.session_state.pop(ASKING, None)


def confirm(files: Sequence[calibration.SourceFile], held: Contents, choices: Choices, made_of: str) -> None:
    @st.dialog(_("Ask the judge model?"), icon=":material/payments:", on_dismiss=close)
    def ask() -> None:
        st.markdown(
            _("Every answer is a call, which may cost money: {n} calls. More than {most} are refused.").format(
                n=words.count(held.rows), most=words.count(calibration.MOST_ASKED)
            )
        )
        st.caption(
            _("It ends by itself when nobody has looked at this page for some minutes. The figures are not stored.")
        )
        if st.button(
            _("Ask {n} times").format(n=words.count(held.rows)),
            key=KEY("confirm"),
            type="primary",
            icon=":material/play_circle:",
            disabled=held.rows > calibration.MOST_ASKED,
        ):
            st.session_state.pop(MEASURED, None)
            st.session_state[MEASURING] = (
                made_of,
                Measuring(
                    session.engine(),
                    files,
                    choices.columns,
                    positive=choices.positive,
                    provider_id=choices.provider_id,
                    model=choices.model,
                    actor=session.user(),
                ),
            )
            close()
            st.rerun()

    ask()


@st.fragment(run_every=LOOK_S)
def follow() -> None:
    """How far the judge model is, with a way to call it off; redraws the page when it is over."""
    made_of_and_measuring = st.session_state.get(MEASURING)
    if made_of_and_measuring is None or made_of_and_measuring[1].is_over:
        st.rerun()
    measuring: Measuring = made_of_and_measuring[1]
    share = measuring.done / measuring.total if measuring.total else 0.0
    text = _("Reading …") if measuring.total is None else words.of(measuring.done, measuring.total)
    st.progress(share, text=f"{_('Asking the judge model')} · {text}")
    st.caption(_("The figures come when every answer is judged. There are none after cancelling."))
    if st.button(_("Cancel"), key=KEY("cancel"), icon=":material/stop_circle:"):
        measuring.call_off()
        st.rerun()


def take_figures() -> None:
    """The figures of a judge model that was asked, or why there are none."""
    made_of, measuring = st.session_state.get(MEASURING, (None, None))
    if measuring is None or not measuring.is_over:
        return
    del st.session_state[MEASURING]
    if measuring.is_called_off:
        asked = words.of(measuring.done, measuring.total) if measuring.total else words.count(0)
        st.info(_("Cancelled; there are no figures. Judged until then: {n}.").format(n=asked))
        return
    with errors.shown():
        st.session_state[MEASURED] = (made_of, measuring.result())


def measure(files: Sequence[calibration.SourceFile], choices: Choices, made_of: str) -> None:
    """Put every answer before a judge that costs nothing and keep the figures."""
    st.session_state.pop(MEASURED, None)
    with st.spinner(_("Measuring …")):
        found = calibration.measure(
            session.engine(),
            choices.judge,
            files,
            choices.columns,
            positive=choices.positive,
            actor=session.user(),
        )
        st.session_state[MEASURED] = (made_of, found)


def draw_figures(found: Calibration) -> None:
    """Kappa with its interval, accuracy, both error rates, and the matrix."""
    cells = found.confusion
    columns = st.columns(4)
    with columns[0]:
        calibration_run.figure(_("Kappa"), say.kappa(found), say.kappa_bounds(found) or words.of(0, found.n))
    agreed = cells.true_positive + cells.true_negative
    wrong = (
        (_("Called positive wrongly"), cells.false_positive, cells.false_positive + cells.true_negative),
        (_("Positive not seen"), cells.false_negative, cells.false_negative + cells.true_positive),
    )
    for column, (name, part, whole) in zip(columns[1:], ((_("Accuracy"), agreed, found.n), *wrong), strict=True):
        with column:
            calibration_run.figure(name, words.rate(part, whole), words.of(part, whole))
    if found.unreadable or found.empty:
        st.caption(
            _("In no figure: {unreadable} without a readable conclusion, {empty} without a text.").format(
                unreadable=words.count(found.unreadable), empty=words.count(found.empty)
            )
        )
    calibration_run.draw_matrix(cells, positive=_("positive"), negative=_("negative"), key=KEY("matrix"))


def group_frame(found: Calibration) -> pd.DataFrame:
    groups = found.groups.items()
    return pd.DataFrame(
        {
            "group": [untrusted.cell(name) or _("(empty)") for name, _figures in groups],
            "n": [figures.n for _name, figures in groups],
            "kappa": [say.kappa_line(figures) for _name, figures in groups],
            "accuracy": [say.agreed(figures.confusion) for _name, figures in groups],
            "false_positive": [say.false_positives(figures.confusion) for _name, figures in groups],
            "false_negative": [say.false_negatives(figures.confusion) for _name, figures in groups],
            "unreadable": [figures.unreadable + figures.empty for _name, figures in groups],
        }
    )


def draw_groups(found: Calibration) -> None:
    frame = group_frame(found)
    st.dataframe(
        frame,
        hide_index=True,
        row_height=calibration_run.ROW_HEIGHT,
        height=min(calibration_run.ROW_HEIGHT * (len(frame) + 1) + 2, calibration_run.ROW_HEIGHT * 16),
        key=f"{KEY('groups')}.{language()}",
        column_config={
            "group": st.column_config.TextColumn(_("group"), width=260),
            "n": st.column_config.NumberColumn(_("answers"), width=64, format="localized"),
            "kappa": st.column_config.TextColumn(_("kappa"), width=130, alignment="right"),
            "accuracy": st.column_config.TextColumn(_("accuracy"), width=120, alignment="right"),
            "false_positive": st.column_config.TextColumn(_("called positive wrongly"), width=130, alignment="right"),
            "false_negative": st.column_config.TextColumn(_("positive not seen"), width=130, alignment="right"),
            "unreadable": st.column_config.NumberColumn(_("in no figure"), width=84, format="localized"),
        },
        alt=_("Figures by group"),
    )
