"""Multiple choice with the answers in a file of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.bank.importers.base import SourceFile
from engine.bank.importers.gathering import language_of
from engine.bank.importers.published.records import is_object
from engine.bank.importers.reading import json_of, refuse, text_of
from engine.domain.cases import Choice

FEWEST, MOST = 2, 4
"""Options of a question in the sets that are read here."""

_LETTER = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s*[.．、:：)）]\s*")
_ASKS_FOR_LETTER = {True: "请只回答选项前的字母。", False: "Answer with the letter of one option only."}
_ASKS_FOR_LETTERS = {
    True: "可能有多个选项正确。请只回答所有正确选项前的字母。",
    False: "More than one option may be right. Answer with the letters of all right options only.",
}


class Answer(NamedTuple):
    """The right option, counted from 0, and the category where the file repeats it."""

    option: int
    category: str | None


class Answers(NamedTuple):
    """The right options by question id, and the file they come from."""

    file: SourceFile
    by_id: Mapping[str, Answer]


def sort_out(files: Sequence[SourceFile]) -> tuple[list[SourceFile], Answers | None]:
    """The files with questions, and the answers, which stand in one JSON object keyed by the question's id."""
    questions: list[SourceFile] = []
    answers: Answers | None = None
    for file in files:
        if not file.ends_with(".json") or not is_object(file):
            questions.append(file)
        elif answers is not None:
            refuse(file, f"{answers.file.shown} holds answers already; give one file of answers")
        else:
            answers = Answers(file, _answers(file))
    if answers is not None and not questions:
        refuse(answers.file, "holds answers only; give the file of questions with it")
    return questions, answers


def option_of(file: SourceFile, line: int | None, value: object, *, column: str) -> int:
    """An answer as an option's number, counted from 0, or its letter."""
    option = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str):
        plain = value.strip().upper()
        option = int(plain) if re.fullmatch("[0-9]", plain) else ord(plain) - ord("A") if len(plain) == 1 else None
    if option is None or not 0 <= option < MOST:
        refuse(file, f"must be an option's number (0 to {MOST - 1}) or its letter (A to D)", line=line, column=column)
    return option


def split_options(question: str) -> tuple[str, tuple[str, ...]]:
    """The question without its lettered options, and these in order; no options where the letters are not A, B, ..."""
    found = list(_LETTER.finditer(question))
    for start in range(len(found) - 1, -1, -1):
        run = found[start:]
        if [match[1] for match in run] == [chr(ord("A") + number) for number in range(len(run))] and len(run) > 1:
            ends = [match.start() for match in run[1:]] + [len(question)]
            options = tuple(question[match.end() : end].strip() for match, end in zip(run, ends, strict=True))
            return question[: run[0].start()].strip(), options
    return question, ()


def with_options(question: str, choice: Choice) -> str:
    """The question as it is asked: its options under letters, and the request for what is right among them."""
    lines = [f"{chr(ord('A') + number)}. {option}" for number, option in enumerate(choice.options)]
    return "\n".join((question, *lines, request_for(choice, language_of(question + "".join(choice.options)))))


def request_for(choice: Choice, language: str) -> str:
    """The request for one letter, or for the letters of all options that are right."""
    return (_ASKS_FOR_LETTERS if choice.also else _ASKS_FOR_LETTER)[language.startswith("zh")]


def _answers(file: SourceFile) -> dict[str, Answer]:
    value = json_of(file, text_of(file))
    found: dict[str, Answer] = {}
    for question, given in value.items():
        answer = given.get("answer") if isinstance(given, dict) else given
        category = given.get("category") if isinstance(given, dict) else None
        option = option_of(file, None, answer, column=question)
        found[question.strip()] = Answer(option, category if isinstance(category, str) else None)
    return found
