"""SafetyBench: multiple choice in seven categories, Chinese and English."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin, language_of
from engine.bank.importers.mapping import SAFETYBENCH, plain_label
from engine.bank.importers.published.lettered import FEWEST, MOST, Answers, option_of, sort_out
from engine.bank.importers.published.questions import multiple_choice, unknown
from engine.bank.importers.published.records import Record, given, records_of
from engine.domain.cases import Choice

ORIGIN = Origin("safetybench", licence="MIT")


def read(files: Sequence[SourceFile]) -> Imported:
    """A list of `id, category, question, options`, and the answers in a second file: id to `category, answer`.

    An `answer` in the row itself (JSON lines joined beforehand) is taken as well. A question without an answer is an
    error: either the file of answers is missing, or it belongs to another set of questions.
    """
    gathering = Gathering()
    questions, answers = sort_out(given(files))
    for record in records_of(questions, needed=("id", "category", "question", "options")):
        label = record.get("category")
        rule = SAFETYBENCH.get(plain_label(label))
        if rule is None:
            gathering.leave(record.place, label, unknown(label, "category"))
            continue
        options, number = _options(record), record.need("id")
        right = _right(record, number, label, answers)
        if right >= len(options):
            record.refuse(f"answer {right} (counted from 0) is none of the {len(options)} options", "options")
        multiple_choice(
            gathering,
            record,
            record.need("question"),
            Choice(options=options, answer=right),
            rule,
            origin=ORIGIN,
            original_id=number,
            label=label,
            case_id=f"{_language(record)}-{number}",
        )
    return gathering.imported()


def _language(record: Record) -> str:
    """Questions of both languages share their ids."""
    return "zh" if language_of(record.need("question")).startswith("zh") else "en"


def _options(record: Record) -> tuple[str, ...]:
    found = record.values["options"]
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        record.refuse("must be a list of texts", "options")
    if not FEWEST <= len(found) <= MOST:
        record.refuse(f"has {len(found)} options; {FEWEST} to {MOST} are expected", "options")
    return tuple(one.strip() for one in found)


def _right(record: Record, number: str, label: str, answers: Answers | None) -> int:
    if answers is None:
        if "answer" not in record.values:
            record.refuse("there is no answer; give the set's file of answers with the questions", "answer")
        return option_of(record.place.file, record.place.line, record.values["answer"], column="answer")
    if number not in answers.by_id:
        record.refuse(f"question {number!r} has no answer in {answers.file.shown}; give the answers of this file", "id")
    answer = answers.by_id[number]
    if answer.category is not None and plain_label(answer.category) != plain_label(label):
        words = f"{answers.file.shown} has {answer.category!r} for question {number!r}; give the answers of this file"
        record.refuse(words, "category")
    return answer.option
