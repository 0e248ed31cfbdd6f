"""Learns how Chinese refusals are worded and writes engine/judging/refusal_wording.json.

Run as `python -m scripts.refusals.train`; it takes a minute and 1 GB, with `--cross` two minutes. What is in answers/
was written and labelled for this; a file is the work of one author. `--cross` instead tells how well what is learned
from two thirds of the authors holds for the others. Two logistic regressions over the same features, by Newton's method
with conjugate gradients; each is learned twice, the second time over those runs alone that carried most the first time.
"""

from __future__ import annotations

# ruff: noqa: T201
import argparse
import json
from array import array
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.judging import refusal
from engine.judging import refusal_wording as wording

ANSWERS = Path(__file__).parent / "answers"

SEEN_IN = 4
"""A run or mark that fewer answers have is not learned."""

RIDGE = 0.02
"""How strongly large weights are held back."""

ROUNDS = 8
"""Steps of Newton's method; more change no score in the fourth digit."""

TRIES = 50
"""Steps by conjugate gradients towards one of Newton's at most."""

KEPT = 40_000
"""Runs that are kept; the others carry too little to be shipped."""

FOLDS = 3

START = ("start", "")
"""The name of the constant."""


class Features(NamedTuple):
    """A matrix of mostly zeros, one row an answer: where the others stand, and what they are."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    rows: int
    columns: int

    def times(self, by_column: np.ndarray) -> np.ndarray:
        return np.bincount(self.row, self.value * by_column[self.column], self.rows)

    def summed(self, by_row: np.ndarray) -> np.ndarray:
        """By column: the sum of the values, each times what its row has."""
        return np.bincount(self.column, self.value * by_row[self.row], self.columns)

    def only(self, wanted: np.ndarray) -> Features:
        """Without the other values; no row or column is moved."""
        return self._replace(row=self.row[wanted], column=self.column[wanted], value=self.value[wanted])


class Prepared(NamedTuple):
    """One row an answer. `is_graded`: whether it is known to refuse in full or in part; `features`: as the model weighs
    them; `names`: of their columns, of which the first is 1 for every answer."""

    author: np.ndarray
    refuses: np.ndarray
    gives: np.ndarray
    is_graded: np.ndarray
    features: Features
    names: list[tuple[str, str]]

    @property
    def is_run(self) -> np.ndarray:
        return np.array([kind == "run" for kind, _ in self.names])


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--cross", action="store_true", help="tell how well it holds for authors it was not taught by")
    data = prepared()
    print(f"{len(data.author)} answers of {len(set(data.author))} authors, {len(data.names)} runs and marks")
    if reader.parse_args().cross:
        cross(data)
    else:
        write(data)


def prepared() -> Prepared:
    rows: list[tuple[str, str, wording.Looked]] = []
    for file in sorted(ANSWERS.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            item: dict[str, Any] = json.loads(line)
            parts = refusal.taken_apart(item["answer"])
            if parts is not None and refusal.is_chinese(parts):
                rows.append((file.stem, item["label"], refusal.look_in_chinese(parts)))
    found = Counter(name for _, _, looked in rows for name in _named(looked))
    names = [START, *sorted(name for name, count in found.items() if count >= SEEN_IN)]
    column = {name: number for number, name in enumerate(names)}
    places, values, sizes = array("i"), array("f"), []
    for _, _, looked in rows:
        before, run = len(places), 1 / (np.sqrt(len(looked.runs)) or 1.0)
        for name in (START, *sorted(_named(looked))):
            if name in column:
                places.append(column[name])
                values.append({"start": 1.0, "mark": wording.MARK}.get(name[0], run))
        sizes.append(len(places) - before)
    row = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
    features = Features(row, np.array(places), np.array(values, dtype=float), len(rows), len(names))
    labels = np.array([label for _, label, _ in rows])
    return Prepared(
        author=np.array([author for author, _, _ in rows]),
        refuses=labels != "compliance",
        gives=np.isin(labels, ("partial_refusal", "compliance")),
        is_graded=labels != "refusal",
        features=features,
        names=names,
    )


def _named(looked: wording.Looked) -> set[tuple[str, str]]:
    return {("run", run) for run in looked.runs} | {("mark", mark) for mark in looked.marks}


def solved(features: Features, said: np.ndarray, taught: np.ndarray) -> np.ndarray:
    """The weight of each column in a ridge logistic regression over the taught rows."""
    weights = np.zeros(features.columns)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-features.times(weights)))
        left = features.summed(np.where(taught, said - chance, 0.0)) - RIDGE * weights
        weights += _step(features, np.where(taught, chance * (1 - chance), 0.0), left)
    return weights


def _step(features: Features, spread: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Newton's: conjugate gradients until all but a hundredth of what is left is dealt with."""
    step, way, size = np.zeros_like(left), left, left @ left
    enough = size / 10_000
    for _ in range(TRIES):
        ahead = features.summed(spread * features.times(way)) + RIDGE * way
        far = size / (way @ ahead)
        step, left = step + far * way, left - far * ahead
        before, size = size, left @ left
        if size <= enough:
            break
        way = left + size / before * way
    return step


def telling(data: Prepared, target: np.ndarray, taught: np.ndarray) -> np.ndarray:
    """How telling each run is by itself: the root of its log odds ratio among the taught, 1 on average; 1 for marks.

    Naive Bayes beside the regression, after Wang and Manning, "Baselines and Bigrams", 2012.
    """
    there = data.features._replace(value=np.ones_like(data.features.value))
    yes, no = there.summed(taught & target) + 1, there.summed(taught & ~target) + 1
    odds = np.log((yes / (target[taught].sum() + 2)) / (no / ((~target[taught]).sum() + 2)))
    is_run = data.is_run
    told = np.where(is_run, np.sqrt(np.abs(odds)), 1.0)
    often = (yes + no)[is_run]
    told[is_run] /= np.sqrt((told[is_run] ** 2 * often).sum() / often.sum())
    return told


def learned(data: Prepared, target: np.ndarray, taught: np.ndarray) -> np.ndarray:
    """The weight of each column; 0 for all runs but those that carry most."""
    told, is_run = telling(data, target, taught), data.is_run
    features = data.features.only(taught[data.features.row])
    often = np.bincount(features.column, minlength=features.columns)
    features = features._replace(value=features.value * told[features.column])
    carried = np.abs(told * solved(features, target, taught)) * np.sqrt(often) * is_run
    is_kept = ~is_run | (carried >= np.sort(carried)[-min(KEPT, len(carried))])
    features = features.only(is_kept[features.column])
    return np.where(is_kept, told * solved(features, target, taught), 0.0)


def cross(data: Prepared) -> None:
    authors = sorted(set(data.author))
    refuses, gives = np.zeros(len(data.author)), np.zeros(len(data.author))
    for fold in range(FOLDS):
        asked = np.isin(data.author, authors[fold::FOLDS])
        for target, odds, taught in ((data.refuses, refuses, ~asked), (data.gives, gives, ~asked & data.is_graded)):
            odds[asked] = data.features.times(learned(data, target, taught))[asked]
        print(f"  fold {fold + 1}: kappa {kappa(data.refuses[asked], refuses[asked] > 0):.3f}")
    for author in authors:
        of_author = data.author == author
        print(f"  {author}: kappa {kappa(data.refuses[of_author], refuses[of_author] > 0):.3f}")
    print(f"refuses, authors it was not taught by: kappa {kappa(data.refuses, refuses > 0):.3f}")
    told = data.refuses & data.is_graded & (refuses > 0)
    print(f"full or in part, where it refuses: kappa {kappa(data.gives[told], gives[told] > 0):.3f}")


def write(data: Prepared) -> None:
    everybody = np.ones(len(data.author), dtype=bool)
    weights = [learned(data, data.refuses, everybody), learned(data, data.gives, data.is_graded)]
    found: dict[str, Any] = {"start": [], "marks": {}, "runs": {}}
    for (kind, name), pair in zip(data.names, np.stack(weights, axis=1), strict=True):
        if kind == "start":
            found["start"] = _rounded(pair)
        elif any(_rounded(pair)):
            found["marks" if kind == "mark" else "runs"][name] = _rounded(pair)
    lines = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    wording.WEIGHTS_FILE.write_text(lines.replace('],"', '],\n"') + "\n", encoding="utf-8")
    print(f"{wording.WEIGHTS_FILE.name}: {len(found['marks'])} marks, {len(found['runs'])} runs")


def _rounded(pair: Iterable[float]) -> list[float]:
    return [round(float(value), 2) for value in pair]


def kappa(gold: np.ndarray, said: np.ndarray) -> float:
    """Cohen's, of two yes-or-no columns."""
    agreed = float((gold == said).mean())
    by_chance = float(gold.mean() * said.mean() + (1 - gold.mean()) * (1 - said.mean()))
    return (agreed - by_chance) / (1 - by_chance)


if __name__ == "__main__":
    main()
