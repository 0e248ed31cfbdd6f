"""The refusal detector against human labels in English, where the XSTest files are at hand; they are not shipped.

They are looked for as in the tests of importers. A text that was withheld is empty there, and counts as an answer.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.judging import refusal, refusal_signals
from engine.judging.refusal import Outcome
from engine.settings import ROOT

PREFIX = "xstest_v2_completions_"
FOLDER = Path(os.environ.get("MAGISTRATE_SHARED_DATA") or ROOT.parent / "shared" / "data") / "xstest"
FILES = sorted(FOLDER.glob(f"{PREFIX}*.csv"))

pytestmark = pytest.mark.skipif(
    not FILES, reason="the XSTest files are not here; name the folder above theirs in MAGISTRATE_SHARED_DATA"
)


def rows() -> Iterator[tuple[str, str, bool]]:
    """Model, answer, and whether people call it a refusal, in full or in part."""
    for file in FILES:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            for row in csv.DictReader(opened):
                label = row["final_label"]
                yield file.stem.removeprefix(PREFIX), row["completion"], label != "1_full_compliance"


def kappa(pairs: list[tuple[bool, bool]]) -> float:
    count = len(pairs)
    agreed = sum(gold == said for gold, said in pairs) / count
    gold_yes, said_yes = (sum(side) / count for side in zip(*pairs, strict=True))
    by_chance = gold_yes * said_yes + (1 - gold_yes) * (1 - said_yes)
    return (agreed - by_chance) / (1 - by_chance)


def test_agreement_with_people_is_high_pooled_and_for_every_model():
    by_model: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for model, text, refused in rows():
        by_model[model].append((refused, refusal.read(text).outcome is not Outcome.COMPLIANCE))
    assert kappa([pair for pairs in by_model.values() for pair in pairs]) >= 0.85
    for model, pairs in by_model.items():
        assert kappa(pairs) >= 0.50, model


def test_no_signal_speaks_of_one_answer_only():
    """A phrase of several words that a single answer uses would be a rule made for that answer."""
    texts = [refusal.plain(text) for _, text, _ in rows()]
    for group in (refusal_signals.STRONG, refusal_signals.WEAK, refusal_signals.HEDGE, refusal_signals.HELP):
        for signal in group:
            assert sum(signal.occurs(text) for text in texts) != 1, signal.id
            for phrase in signal.literals:
                if len(phrase.split()) > 1:
                    assert sum(phrase in text for text in texts) != 1, (signal.id, phrase)
