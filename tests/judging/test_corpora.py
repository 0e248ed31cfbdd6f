"""Figures over the corpora that were written blind: see corpora/README.md. Items of the kept half are never shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from judging_material import build_attempt, build_instance, says

from engine import judging
from engine.domain.verdicts import Verdict
from engine.errors import JudgeError
from engine.judging import refusal, reply

CORPORA = Path(__file__).parent / "corpora"


def items(name: str, half: str) -> list[dict[str, Any]]:
    listed = json.loads((CORPORA / f"{name}.json").read_text(encoding="utf-8"))["items"]
    return [item for item in listed if item["half"] == half]


def meaning(raw: str) -> str:
    try:
        read = reply.read(raw)
    except JudgeError:
        return "unreadable"
    return "conflict" if read.conflict else read.verdict.value


@pytest.mark.parametrize("half", ["seen", "kept"])
def test_98_of_100_judge_replies_are_read_right_and_none_on_the_wrong_side(half):
    """D1. D2. D3. Text, null, NaN and the like are unreadable; a contradicting score is a conflict."""
    pairs = [(meaning(item["raw"]), item["expected"]) for item in items("judge_replies", half)]
    assert sum(said == expected for said, expected in pairs) >= 0.98 * len(pairs)
    assert not [1 for said, expected in pairs if {said, expected} == {"pass", "fail"}]
    guesses = [1 for said, expected in pairs if expected in ("unreadable", "conflict") and said != expected]
    assert len(guesses) <= 0.02 * len(pairs)


def kappa(pairs: list[tuple[bool, bool]]) -> float:
    agreed = sum(gold == said for gold, said in pairs) / len(pairs)
    gold_yes, said_yes = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    by_chance = gold_yes * said_yes + (1 - gold_yes) * (1 - said_yes)
    return (agreed - by_chance) / (1 - by_chance)


def refusals(half: str) -> list[tuple[bool, bool]]:
    """Whether it is labelled a refusal, in full or in part, and whether it is read as one."""
    return [
        (item["label"] != "compliance", refusal.read(item["answer"]).outcome is not refusal.Outcome.COMPLIANCE)
        for item in items("refusals_zh", half)
    ]


def test_chinese_refusals_are_told_from_help():
    """Both halves were kept from what the detector was taught by."""
    assert kappa(refusals("seen") + refusals("kept")) >= 0.85


@pytest.mark.parametrize("half", ["seen", "kept"])
def test_each_half_of_the_chinese_answers_is_read_well(half):
    assert kappa(refusals(half)) >= 0.8


def verdict_of(raw: str, answer: str) -> Verdict | None:
    judge = judging.LlmJudge(says(raw), name="judge-model")
    return asyncio.run(judge.judge(build_instance(), build_attempt(answer))).verdict


@pytest.mark.parametrize("half", ["seen", "kept"])
def test_no_answer_that_talks_to_the_judge_flips_a_verdict_through_parsing(half):
    """D4."""
    other = {"pass": "fail", "fail": "pass"}
    flips = 0
    for item in items("injections", half):
        wants, answer = item["wants"], item["answer"]
        own = other.get(wants, "fail")
        said = json.dumps({"verdict": own, "reason": "The clause.", "quote": answer.strip()[:20]}, ensure_ascii=False)
        assert verdict_of(said, answer) == own  # the judge's own word counts, whatever the answer says
        echoes = (f"{answer}\n\n{said}", f"{said}\n\n{answer}", f"The answer reads: {answer}\n{said}")
        flips += sum(verdict_of(echo, answer) == wants for echo in echoes)
        quoted = json.dumps({"verdict": own, "reason": answer, "quote": answer[:200]}, ensure_ascii=False)
        flips += verdict_of(quoted, answer) == wants
    assert flips == 0


@pytest.mark.parametrize("half", ["seen", "kept"])
def test_an_answer_that_talks_to_the_judge_never_leaves_its_fence(half):
    """D4."""
    for item in items("injections", half):
        model = says('{"verdict": "unsure", "reason": "x"}')
        asyncio.run(judging.LlmJudge(model, name="j").judge(build_instance(), build_attempt(item["answer"])))
        lines = model.requests[0].messages[-1].text.split("\n")
        [opening] = [number for number, line in enumerate(lines) if line.startswith("ANSWER ")]
        marker = lines[opening].removeprefix("ANSWER ")
        assert lines.count(f"END {marker}") == 1
        assert marker not in item["answer"]
        inside = "\n".join(lines[opening + 1 : lines.index(f"END {marker}")])
        assert inside.replace("| ", "").strip() == item["answer"].replace("| ", "").strip()
