"""Altair charts: DataFrame in, chart out, no state."""

from __future__ import annotations

import altair as alt
import pandas as pd

from dashboard import palette
from dashboard.i18n import _

ROW = 21
"""Height of one clause, in pixels; every label gets its line."""

GAP = 10
"""Between the plot and the figures beside it, in pixels."""

THIN_ROW = 18
"""The same while a run goes on, when all 31 should be seen at once."""

STATES = ("pass", "fail", "review", "unreadable", "undecided", "error", "skipped", "left")


def pass_rate_by_clause(rows: pd.DataFrame, *, threshold: float, dark: bool) -> alt.LayerChart:
    """A point on its 95 % interval for each clause, against the threshold.

    `rows` has one row a clause: label, title (str), passed, judged, open (int), rate, low, high (0 to 1, NaN where
    judged is 0), figures (str: counts and interval), still_open (str: what is in no rate, or nothing).
    """
    ink = palette.ink(dark=dark)
    met = palette.PASS.shade(dark=dark)
    missed = palette.FAIL.shade(dark=dark)
    rows = rows.assign(below=rows["rate"] < threshold, empty=rows["judged"] == 0, threshold=threshold)
    tooltip = [
        alt.Tooltip("title:N", title=_("clause")),
        alt.Tooltip("rate:Q", title=_("pass rate"), format=".1%"),
        alt.Tooltip("low:Q", title=_("95 % from"), format=".1%"),
        alt.Tooltip("high:Q", title=_("to"), format=".1%"),
        alt.Tooltip("passed:Q", title=_("passed"), format=","),
        alt.Tooltip("judged:Q", title=_("judged"), format=","),
        alt.Tooltip("open:Q", title=_("open"), format=","),
    ]
    y = alt.Y(
        "label:N",
        sort=list(rows["label"]),
        title=None,
        axis=_clauses(ink),
    )
    x = alt.X(
        "rate:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        title=_("pass rate with its 95 % interval"),
        axis=alt.Axis(
            values=[0, 0.2, 0.4, 0.6, 0.8, 1],
            format=".0%",
            labelColor=ink.muted,
            titleColor=ink.muted,
            gridColor=ink.grid,
            titleAnchor="start",
            ticks=False,
            domain=False,
        ),
    )
    base = alt.Chart(rows).encode(y=y, tooltip=tooltip)
    filled = base.transform_filter(alt.datum.judged > 0)
    mark = alt.condition(alt.datum.below, alt.value(missed), alt.value(met))
    line = filled.mark_rule(strokeWidth=2, opacity=0.55).encode(x=x.copy(), x2="high:Q", color=mark)
    line.encoding.x.shorthand = "low:Q"
    point = filled.mark_point(filled=True, opacity=1).encode(
        x=x,
        color=mark,
        shape=alt.condition(alt.datum.below, alt.value("diamond"), alt.value("circle")),
        size=alt.condition(alt.datum.below, alt.value(95), alt.value(62)),
    )
    wanted = (
        alt.Chart(rows.head(1)).mark_rule(strokeDash=[4, 3], color=ink.muted, strokeWidth=1.2).encode(x="threshold:Q")
    )
    figures = _beside(base, offset=GAP).encode(
        text="figures:N", color=alt.condition(alt.datum.empty, alt.value(ink.muted), alt.value(ink.text))
    )
    still_open = _beside(base, offset=GAP + _room(rows["figures"])).encode(
        text="still_open:N", color=alt.value(ink.muted)
    )
    return (
        alt.layer(wanted, line, point, figures, still_open)
        .properties(height=ROW * len(rows))
        .configure_view(strokeWidth=0)
    )


def _beside(base: alt.Chart, *, offset: float) -> alt.Chart:
    """Text to the right of the plot; the chart makes room for it, so that it lies on no point and is not cut off."""
    return base.mark_text(align="left", baseline="middle", fontSize=11.5, dx=offset).encode(x=alt.value("width"))


def _room(texts: pd.Series[str]) -> float:
    """Pixels the longest of these needs at the size of the labels, with a gap behind it; nothing for no text."""
    longest = max((sum(2 if ord(letter) > 0x2E7F else 1 for letter in text) for text in texts), default=0)
    return 5.2 * longest + GAP if longest else 0


def _clauses(ink: palette.Ink) -> alt.Axis:
    """The clauses down the left side, every one of them labelled on its own line."""
    return alt.Axis(
        labelOverlap=False,
        labelFlush=False,
        labelBound=False,
        labelLimit=260,
        labelFontSize=11.5,
        labelPadding=8,
        ticks=False,
        domain=False,
        labelColor=ink.text,
    )


def progress_by_clause(rows: pd.DataFrame, *, dark: bool) -> alt.Chart:
    """A bar for each clause that fills as its instances are answered and judged.

    `rows` has one row a clause and state: label, title (str), state (one of STATES), order, n, planned (int).
    """
    ink = palette.ink(dark=dark)
    names = {
        "pass": _("pass"),
        "fail": _("fail"),
        "review": _("to review"),
        "unreadable": _("unreadable"),
        "undecided": _("not judged yet"),
        "error": _("error"),
        "skipped": _("skipped"),
        "left": _("left"),
    }
    colours = {
        "pass": palette.PASS.shade(dark=dark),
        "fail": palette.FAIL.shade(dark=dark),
        "review": palette.REVIEW.shade(dark=dark),
        "unreadable": palette.UNREADABLE.shade(dark=dark),
        "undecided": palette.NONE.shade(dark=dark),
        "error": palette.ERROR.shade(dark=dark),
        "skipped": palette.SKIPPED.shade(dark=dark),
        "left": palette.LEFT.shade(dark=dark),
    }
    rows = rows.assign(name=rows["state"].map(names))
    return (
        alt.Chart(rows)
        .mark_bar(height=11)
        .encode(
            y=alt.Y(
                "label:N",
                sort=list(dict.fromkeys(rows["label"])),
                title=None,
                axis=_clauses(ink),
            ),
            x=alt.X(
                "n:Q",
                stack="zero",
                title=_("instances"),
                axis=alt.Axis(
                    tickMinStep=1, labelColor=ink.muted, titleColor=ink.muted, gridColor=ink.grid, titleAnchor="start"
                ),
            ),
            order=alt.Order("order:Q"),
            color=alt.Color(
                "name:N",
                title=None,
                scale=alt.Scale(domain=[names[s] for s in STATES], range=[colours[s] for s in STATES]),
                legend=alt.Legend(orient="top", labelColor=ink.text, symbolType="square", offset=6, padding=0),
            ),
            tooltip=[
                alt.Tooltip("title:N", title=_("clause")),
                alt.Tooltip("name:N", title=_("state")),
                alt.Tooltip("n:Q", title=_("instances"), format=","),
                alt.Tooltip("planned:Q", title=_("planned"), format=","),
            ],
        )
        .properties(height=THIN_ROW * rows["label"].nunique())
        .configure_view(strokeWidth=0)
    )


LINE = 13
"""Height of a line of a heading in lines, in pixels."""


def coverage(rows: pd.DataFrame, *, dark: bool) -> alt.LayerChart:
    """Clause by mode: how many instances each cell holds, the short ones in the fail colour with what they need.

    `rows` has one row a cell and a sum for each clause and mode: label, title, clause, mode, mode_name, note (str),
    heading (str: the mode's name in lines), n, need (int), figure (str: what stands in the cell), kind (enough, short,
    empty or sum). A click selects the clause and mode of a cell under the name `cell`.
    """
    ink = palette.ink(dark=dark)
    look = palette.PASS
    full = look.blend(0.62 if dark else 0.5, dark=dark)
    x = alt.X(
        "heading:N",
        sort=list(dict.fromkeys(rows["heading"])),
        title=None,
        axis=alt.Axis(
            orient="top",
            labelAngle=0,
            labelOverlap=False,
            labelExpr="split(datum.label, '\\n')",
            labelFontSize=11.5,
            labelLineHeight=LINE,
            labelPadding=6 + LINE * int(rows["heading"].str.count("\n").max()),  # lines grow down from the first
            ticks=False,
            domain=False,
            labelColor=ink.muted,
        ),
        scale=alt.Scale(paddingInner=0.03, paddingOuter=0),
    )
    y = alt.Y(
        "label:N",
        sort=list(dict.fromkeys(rows["label"])),
        title=None,
        axis=_clauses(ink),
        scale=alt.Scale(paddingInner=0.08, paddingOuter=0),
    )
    tooltip = [
        alt.Tooltip("title:N", title=_("clause")),
        alt.Tooltip("mode_name:N", title=_("mode")),
        alt.Tooltip("n:Q", title=_("have"), format=","),
        alt.Tooltip("need:Q", title=_("need"), format=","),
        alt.Tooltip("note:N", title=_("note")),
    ]
    base = alt.Chart(rows).encode(x=x, y=y, tooltip=tooltip)
    most = max(int(rows.loc[rows["kind"] != "sum", "n"].max()), 1)
    shades = alt.Color(
        "n:Q",
        legend=None,
        scale=alt.Scale(type="sqrt", domain=[0, most], range=[look.blend(0.08, dark=dark), full]),
    )
    tile = (
        base.transform_filter((alt.datum.kind == "enough") | (alt.datum.kind == "short"))
        .mark_rect(cornerRadius=2, cursor="pointer")
        .encode(
            color=alt.condition(alt.datum.kind == "short", alt.value(palette.FAIL.tint(dark=dark)), shades),
        )
        .add_params(alt.selection_point(name="cell", fields=["clause", "mode"], toggle=False, empty=False))
    )
    hollow = base.transform_filter(alt.datum.kind == "empty").mark_rect(
        cornerRadius=2, fillOpacity=0, stroke=ink.muted, strokeDash=[2, 3], strokeOpacity=0.5
    )
    text = base.mark_text(fontSize=11.5, baseline="middle").encode(
        text="figure:N",
        color=alt.condition(
            (alt.datum.kind == "sum") | (alt.datum.kind == "empty"), alt.value(ink.muted), alt.value(ink.text)
        ),
    )
    return alt.layer(tile, hollow, text).properties(height=ROW * rows["label"].nunique()).configure_view(strokeWidth=0)
