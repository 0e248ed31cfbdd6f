from __future__ import annotations

import pandas as pd
import pytest

from dashboard import charts, palette
from dashboard.components import clause_chart
from engine.domain.clauses import CLAUSES
from engine.domain.runs import ClauseRow


def row(clause: str, *, passed: int = 0, fail: int = 0, pending: int = 0, planned: int = 9) -> ClauseRow:
    judged = passed + fail
    return ClauseRow(
        clause=clause,
        title=clause,
        planned=planned,
        executed=judged + pending,
        passed=passed,
        fail=fail,
        pending=pending,
        needs_human_review=pending,
        errors=1,
        skipped=1,
        pass_rate=passed / judged if judged else None,
        ci_low=0.4 if judged else None,
        ci_high=0.9 if judged else None,
    )


ROWS = [
    row(CLAUSES[0].id, passed=5, fail=1, pending=2),
    row(CLAUSES[1].id),
    *(row(c.id, passed=3) for c in CLAUSES[2:]),
]


def layers(spec: dict) -> list[dict]:
    return spec["layer"]


def rates(*, dark: bool = False) -> dict:
    return charts.pass_rate_by_clause(clause_chart.rates_frame(ROWS), threshold=0.9, dark=dark).to_dict()


def test_all_31_clauses_have_a_row_and_a_label() -> None:
    frame = clause_chart.rates_frame(ROWS)
    assert len(frame) == 31
    axis = layers(rates())[1]["encoding"]["y"]["axis"]
    assert axis["labelOverlap"] is False


def test_counts_stand_beside_every_rate_and_nothing_is_of_nothing() -> None:
    frame = clause_chart.rates_frame(ROWS)
    assert list(frame["figures"][:3]) == ["5/6 · 40.0–90.0 %", "n/a (0 of 0)", "3/3 · 40.0–90.0 %"]
    assert list(frame["still_open"][:3]) == ["+2 open", "", ""]


def test_the_figures_stand_beside_the_plot_and_the_open_answers_behind_the_longest_of_them() -> None:
    figures, still_open = (layer for layer in layers(rates()) if layer["mark"]["type"] == "text")
    assert figures["encoding"]["x"] == still_open["encoding"]["x"] == {"value": "width"}
    assert still_open["mark"]["dx"] - figures["mark"]["dx"] >= 5 * len("5/6 · 40.0–90.0 %")


def test_below_the_threshold_the_point_is_a_diamond_in_the_fail_colour() -> None:
    point = next(layer for layer in layers(rates()) if layer["mark"]["type"] == "point")
    assert point["encoding"]["shape"]["condition"]["value"] == "diamond"
    assert point["encoding"]["color"]["condition"]["value"] == palette.FAIL.colour
    frame = clause_chart.rates_frame(ROWS)
    assert frame["rate"].iloc[0] < 0.9
    assert pd.isna(frame["rate"].iloc[1])


@pytest.mark.parametrize("dark", [False, True])
def test_text_takes_the_colour_of_the_ground_it_stands_on(dark: bool) -> None:
    ink = palette.ink(dark=dark)
    spec = rates(dark=dark)
    note = next(layer for layer in layers(spec) if layer["mark"]["type"] == "text")
    assert note["encoding"]["color"]["value"] == ink.text
    assert layers(spec)[1]["encoding"]["y"]["axis"]["labelColor"] == ink.text


def test_the_bars_of_a_clause_add_up_to_what_was_planned() -> None:
    frame = clause_chart.progress_frame(ROWS)
    first = frame[frame["order"].notna()].groupby("label", sort=False)["n"].sum()
    assert first.iloc[1] == 9
    assert set(frame["state"]) == set(charts.STATES)
    spec = charts.progress_by_clause(frame, dark=False).to_dict()
    looks = (palette.PASS, palette.FAIL, palette.REVIEW, palette.UNREADABLE, palette.NONE, palette.ERROR)
    assert spec["encoding"]["color"]["scale"]["range"][:6] == [look.colour for look in looks]


def test_open_answers_are_segments_of_their_own_by_what_they_wait_for() -> None:
    mixed = ROWS[0].model_copy(update={"pending": 6, "needs_human_review": 3, "judge_format_error": 2, "undecided": 1})
    frame = clause_chart.progress_frame([mixed]).set_index("state")["n"]
    assert (frame["review"], frame["unreadable"], frame["undecided"]) == (3, 2, 1)


def test_open_answers_say_how_far_the_rate_can_move() -> None:
    assert clause_chart.span(ROWS[0]) == "62 – 88 %"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


LOOKS = (palette.PASS, palette.FAIL, palette.REVIEW, palette.UNREADABLE, palette.NONE, palette.ERROR)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.icon)
def test_the_word_on_a_pill_can_be_read_in_both_themes(look: palette.Look) -> None:
    light, dark = luminance(look.tint(dark=False)), luminance(look.tint(dark=True))
    assert (light + 0.05) / 0.05 > 4.5  # black on it
    assert 1.05 / (dark + 0.05) > 4.5  # white on it
    assert dark < 0.5 < light  # the table writes black above one half and white below
