"""What is wrong in a bank, in words that lead to the place and say what to do."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.errors import BankError

SHOWN = 5
"""A message lists so many problems; a file that is wrong in one way is often wrong in it everywhere."""

_Parsed = TypeVar("_Parsed", bound=BaseModel)


class Problem(NamedTuple):
    """One thing to correct. `subject` is the case, fixture or profile; empty means the file as a whole."""

    file: str
    subject: str
    key: str
    problem: str
    fix: str = ""
    """What to do about it; empty where the problem says it."""
    item: str = ""
    """The id of the subject alone, for programs."""

    @property
    def words(self) -> str:
        """What is wrong and what to do."""
        return f"{self.problem}; {self.fix}" if self.fix else self.problem

    @property
    def place(self) -> str:
        """Where, as a person would say it."""
        return ", ".join(part for part in (self.file, self.subject, self.key and f"key {self.key!r}") if part)


def error_for(problems: Sequence[Problem]) -> BankError:
    """One error for all of them; the first few are spelled out."""
    shown = problems[:SHOWN]
    lines = [f"{problem.place}: {problem.words}" for problem in shown]
    if len(problems) > 1:
        more = len(problems) - len(shown)
        lines = [f"{len(problems)} problems in the bank:", *(f"- {line}" for line in lines)]
        lines += [f"- and {more} more; correct these first"] if more else []
    return BankError("\n".join(lines), fields=tuple((problem.place, problem.words) for problem in shown))


def parse(
    model: type[_Parsed], raw: object, *, file: str, subject: str, item: str = ""
) -> tuple[_Parsed | None, list[Problem]]:
    """The model, or what keeps `raw` from being one.

    JSON goes in rather than Python values, because only there pydantic's strict mode takes a list for a tuple and a
    word for an enumeration and still refuses "3" for 3.
    """
    try:
        return model.model_validate_json(json.dumps(raw), strict=True), []
    except ValidationError as error:
        return None, list(from_validation(error, model, file=file, subject=subject, item=item))


def from_validation(
    error: ValidationError, model: type[BaseModel], *, file: str, subject: str, item: str = ""
) -> Iterator[Problem]:
    """Pydantic's findings in our words."""
    for detail in error.errors(include_url=False):
        yield Problem(file, subject, _key(detail, model), *_words(detail, model), item=item)


def one_of(words: Iterable[str], *, instead_of: str) -> str:
    """What may stand here, with the closest one named when the wrong word looks like a slip."""
    known = list(words)
    close = difflib.get_close_matches(instead_of, known, n=1)
    return f"did you mean {close[0]!r}? Known: {', '.join(known)}" if close else f"known: {', '.join(known)}"


def _key(detail: ErrorDetails, model: type[BaseModel]) -> str:
    if detail["loc"]:
        return path_of(detail["loc"])
    if detail["type"] != "value_error":
        return ""
    # A rule over the whole question: the fields its message speaks of, else the mode, which all such rules are about.
    named = [name for name in model.model_fields if name in detail["msg"].replace(",", " ").replace(";", " ").split()]
    return ", ".join(named) or ("mode" if "mode" in model.model_fields else "")


def path_of(steps: Iterable[int | str]) -> str:
    """`("turns", 0, "text")` as `turns[0].text`."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list in [ ]",
    "dict_type": "an object in { }",
    "model_type": "an object in { }",
    "model_attributes_type": "an object in { }",
}


def _words(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """What is wrong, and what to do."""
    given, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            *parents, name = detail["loc"]
            known = _model_at(model, parents).model_fields
            return "unknown key", f"remove it or correct its name ({one_of(known, instead_of=str(name))})"
        case "missing":
            return "is missing", "add it"
        case "enum" | "literal_error":
            words = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
            return f"{given!r} is not a known value", one_of(words, instead_of=str(given))
        case "string_pattern_mismatch":
            return f"{given!r} does not have the form {context['pattern']}", "correct it"
        case "too_short":
            return f"needs at least {context['min_length']} entry", "add one"
        case "value_error":
            return str(context["error"]), ""
        case "json_invalid":
            return "holds half of a surrogate pair (such as \\ud800)", "write the character itself"
        case kind if kind in _EXPECTED:
            return f"must be {_EXPECTED[kind]}, but is {_kind_of(given)}", "correct the type"
        case _:
            return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}", "correct it"


def _model_at(model: type[BaseModel], steps: Iterable[int | str]) -> type[BaseModel]:
    for step in steps:
        if isinstance(step, str):
            model = _model_in(model.model_fields[step].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
