"""Learns how Chinese refusals are worded and writes engine/judging/refusal_wording.json.

Run as `python -m scripts.refusals.train`; it takes some minutes and 6 GB, with `--cross` a quarter of an hour. The
answers in answers/ were written and labelled for this; each file is the work of one author. `--cross` instead
tells how well what is learned from some authors holds for the others. Two logistic regressions over the same
features, solved through the kernel matrix, for there are far fewer answers than runs of characters.
"""

from __future__ import annotations

# ruff: noqa: T201
import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.judging import refusal
from engine.judging import refusal_wording as wording

ANSWERS = Path(__file__).parent / "answers"

SEEN_IN = 3
"""A run or mark that fewer answers have is not learned."""

RIDGE = 0.05
"""How strongly large weights are held back."""

ROUNDS = 8
"""Steps of Newton's method; four are enough to four digits."""

KEPT = 30_000
"""Runs whose weights are kept; the others carry too little to be shipped."""

FOLDS = 5


class Prepared(NamedTuple):
    """One row an answer. `is_graded`: whether it is known to refuse in full or in part; `features`: as the model weighs
    them; `names`: of their columns."""

    author: np.ndarray
    refuses: np.ndarray
    gives: np.ndarray
    is_graded: np.ndarray
    features: np.ndarray
    names: list[tuple[str, str]]


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
    names = sorted(name for name, count in found.items() if count >= SEEN_IN)
    column = {name: number for number, name in enumerate(names)}
    features = np.zeros((len(rows), len(names)), dtype=np.float32)
    for number, (_, _, looked) in enumerate(rows):
        length = np.sqrt(len(looked.runs)) or 1.0
        for name in _named(looked):
            if name in column:
                features[number, column[name]] = wording.MARK if name[0] == "mark" else 1 / length
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


def solved(kernel: np.ndarray, said: np.ndarray) -> np.ndarray:
    """The weight of each answer in a ridge logistic regression, by iteratively reweighted least squares."""
    weight, target = np.zeros(len(said)), said.astype(float)
    for _ in range(ROUNDS):
        odds = kernel @ weight
        chance = 1 / (1 + np.exp(-odds))
        spread = np.maximum(chance * (1 - chance), 1e-4)
        weight = np.linalg.solve(kernel + RIDGE * np.diag(1 / spread), odds + (target - chance) / spread)
    return weight


def telling(data: Prepared, target: np.ndarray, taught: np.ndarray) -> np.ndarray:
    """How telling each run is by itself: the root of its log odds ratio among the taught, 1 on average; 1 for marks.

    Naive Bayes beside the regression, after Wang and Manning, "Baselines and Bigrams", 2012.
    """
    there = data.features[taught] > 0
    yes, no = there[target[taught]].sum(axis=0) + 1, there[~target[taught]].sum(axis=0) + 1
    odds = np.log((yes / (target[taught].sum() + 2)) / (no / ((~target[taught]).sum() + 2)))
    is_run = np.array([kind == "run" for kind, _ in data.names])
    told = np.where(is_run, np.sqrt(np.abs(odds)), 1.0)
    often = (yes + no)[is_run]
    told[is_run] /= np.sqrt((told[is_run] ** 2 * often).sum() / often.sum())
    return told.astype(np.float32)


def kernel_of(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """With 1 for the constant that every answer has."""
    return (some @ others.T).astype(np.float64) + 1.0


def learned(data: Prepared, target: np.ndarray, taught: np.ndarray) -> tuple[float, np.ndarray]:
    """The constant, and the weight of each column; 0 for all runs but those that carry most."""
    told = telling(data, target, taught)
    features = data.features[taught] * told
    by_answer = solved(kernel_of(features, features), target[taught])
    weights = told * (features.T.astype(np.float64) @ by_answer)
    is_run = np.array([kind == "run" for kind, _ in data.names])
    carried = np.abs(weights) * np.sqrt((data.features[taught] > 0).sum(axis=0)) * is_run
    is_light = is_run & (carried < np.sort(carried)[-min(KEPT, len(carried))])
    return float(by_answer.sum()), np.where(is_light, 0, weights)


def cross(data: Prepared) -> None:
    authors = sorted(set(data.author))
    refuses, gives = np.zeros(len(data.author)), np.zeros(len(data.author))
    for fold in range(FOLDS):
        asked = np.isin(data.author, authors[fold::FOLDS])
        for target, odds, taught in ((data.refuses, refuses, ~asked), (data.gives, gives, ~asked & data.is_graded)):
            start, weights = learned(data, target, taught)
            odds[asked] = start + data.features[asked] @ weights
    for author in authors:
        of_author = data.author == author
        print(f"  {author}: kappa {kappa(data.refuses[of_author], refuses[of_author] > 0):.3f}")
    print(f"refuses, authors it was not taught by: kappa {kappa(data.refuses, refuses > 0):.3f}")
    told = data.refuses & data.is_graded & (refuses > 0)
    print(f"full or in part, where it refuses: kappa {kappa(data.gives[told], gives[told] > 0):.3f}")


def write(data: Prepared) -> None:
    everybody = np.ones(len(data.author), dtype=bool)
    start, weights = zip(learned(data, data.refuses, everybody), learned(data, data.gives, data.is_graded), strict=True)
    found: dict[str, Any] = {"start": _rounded(start), "marks": {}, "runs": {}}
    for (kind, name), pair in zip(data.names, np.stack(weights, axis=1), strict=True):
        if pair.any():
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
