"""A question written as named texts: the columns of a table, the keys of a JSON line, the metadata of a sample."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from engine.bank.importers.base import ColumnMapping, SourceFile
from engine.bank.importers.clauses import Mapped, clause_of_harm
from engine.bank.importers.conversation import LeftOut
from engine.bank.importers.gathering import Details
from engine.bank.importers.reading import refuse
from engine.bank.problems import one_of
from engine.domain.cases import Mode, Severity, Tag, Technique
from engine.domain.clauses import Aspect

TEXT = "text"
TURN = re.compile(r"turn_([1-9][0-9]?)")
DETAILS = ("mode", "language", "title", "system", "must", "must_not", "severity", "technique", "aspect", "tags")
NAMES = ("case_id", "clause", *DETAILS[:4], TEXT, *DETAILS[4:])
"""Our column names; beside them `turn_1`, `turn_2` and so on in the place of `text`."""


class NotOurs(ValueError):
    """A word that should be one of a closed list, or of a form, and is not. `name` is our name of the column."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(f"{name}: {words}")
        self.name = name
        self.words = words


class Headings(NamedTuple):
    """Which of our names stands under which heading of a file."""

    by_name: dict[str, str]
    defaults: dict[str, str]

    def heading(self, name: str) -> str:
        """What the file calls it."""
        return self.by_name.get(name, name)

    @property
    def turns(self) -> tuple[str, ...]:
        """Our names of the columns that hold turns, in order."""
        named = [name for name in {**self.by_name, **self.defaults} if TURN.fullmatch(name)]
        return tuple(sorted(named, key=lambda name: int(name.removeprefix("turn_")))) or (TEXT,)


def headings(
    file: SourceFile,
    found: Sequence[str],
    mapping: ColumnMapping | None,
    *,
    line: int,
    aliases: Mapping[str, str] = {},
) -> Headings:
    """Sorts the headings of a file into our names.

    Raises:
        BankError: a column that is neither known, mapped nor ignored; a mapping that names what is not there; no
            column for the clause or the text.
    """
    mapping = mapping or ColumnMapping()
    for name in (*mapping.columns, *mapping.defaults):
        if not _is_name(name):
            raise_unknown_name(file, name)
    for name, heading in mapping.columns.items():
        if heading not in found:
            words = f"no column {heading!r}, which the mapping names for {name!r}; {one_of(found, instead_of=heading)}"
            refuse(file, words, line=line)
    taken = {heading: name for name, heading in mapping.columns.items()}
    by_name = dict(mapping.columns)
    for number, heading in enumerate(found, start=1):
        if heading in taken or heading in mapping.ignored:
            continue
        name = aliases.get(heading, _our_form(heading))
        if not _is_name(name):
            hint = one_of((*NAMES, "turn_1"), instead_of=name)
            words = f"unknown column {heading!r}; rename it, map it to one of ours or leave it out ({hint})"
            refuse(file, words, line=line, column=number)
        if name in by_name:
            words = f"{heading!r} and {by_name[name]!r} both stand for {name!r}; leave one out"
            refuse(file, words, line=line, column=number)
        by_name[name] = heading
    named = Headings(by_name, dict(mapping.defaults))
    for name in ("clause", named.turns[0]):
        if name not in by_name and name not in mapping.defaults:
            refuse(file, f"no column for {name!r}, which every question needs; add or map one", line=line)
    if TEXT in by_name and named.turns != (TEXT,):
        refuse(file, f"has both {TEXT!r} and {named.turns[0]!r}; keep one of them", line=line)
    numbers = [f"turn_{number}" for number in range(1, len(named.turns) + 1)]
    if named.turns != (TEXT,) and list(named.turns) != numbers:
        refuse(file, f"turns are numbered {', '.join(named.turns)}; number them 1, 2, 3 and so on", line=line)
    return named


def raise_unknown_name(file: SourceFile, name: str) -> None:
    """Raises BankError for a mapping that names a column we do not have."""
    refuse(file, f"the mapping names {name!r}, which is no column of ours; {one_of(NAMES, instead_of=name)}")


def details_of(values: Mapping[str, Any], *, only: Iterable[str] = DETAILS) -> Details:
    """What texts under our names say about a question; blank is as good as absent.

    Raises:
        NotOurs: a value is not one of those we know.
    """
    given = {name: values[name] for name in only if name in values}
    if isinstance(expectation := values.get("expectation"), dict):
        given = {name: expectation[name] for name in ("must", "must_not") if name in expectation} | given
    texts = {name: _text(name, value) for name, value in given.items() if name != "tags"}
    return Details(
        mode=_word(Mode, "mode", texts, {"refusal": Mode.RF, "over_caution": Mode.OC}),
        language=_language(texts.get("language")),
        title=texts.get("title"),
        system=texts.get("system"),
        must=texts.get("must"),
        must_not=texts.get("must_not"),
        severity=_word(Severity, "severity", texts),
        technique=_word(Technique, "technique", texts),
        aspect=_word(Aspect, "aspect", texts),
        tags=_tags(given.get("tags")),
    )


_LABELS = ("clause", "harmCategory", "harm_category", "harm_categories", "category")


def labels_of(metadata: Mapping[str, Any]) -> list[str]:
    """The labels of the first key in a sample's metadata that says what harm it is about."""
    for key in _LABELS:
        value = metadata.get(key)
        labels = [
            one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one.strip()
        ]
        if labels:
            return labels
    return []


def clause_in(metadata: Mapping[str, Any]) -> Mapped:
    """The clause that a sample's metadata names. Raises LeftOut when it names none."""
    labels = labels_of(metadata)
    if not labels:
        raise LeftOut("names no clause and no category of harm in its metadata")
    mapped = clause_of_harm(labels)
    if mapped is None:
        raise LeftOut("the label means no clause that we know of; add metadata.clause")
    return mapped


_Word = TypeVar("_Word", bound=StrEnum)


def _word(
    kind: type[_Word], name: str, texts: Mapping[str, str | None], aliases: Mapping[str, _Word] = {}
) -> _Word | None:
    written = texts.get(name)
    if written is None:
        return None
    word = _our_form(written)
    if word in aliases:
        return aliases[word]
    if word not in list(kind):
        raise NotOurs(name, f"{written!r} is not a known value; {one_of([one.value for one in kind], instead_of=word)}")
    return kind(word)


_LANGUAGE = re.compile(r"([a-zA-Z]{2,3})(?:[-_]([a-zA-Z]{4}))?(?:[-_]([a-zA-Z]{2}))?")


def _language(written: str | None) -> str | None:
    if written is None:
        return None
    found = _LANGUAGE.fullmatch(written)
    if found is None:
        raise NotOurs("language", f"{written!r} is not a language tag; write it as en or zh-CN")
    language, script, region = found.groups()
    return "-".join([language.lower(), *([script.title()] if script else []), *([region.upper()] if region else [])])


def _tags(written: Any) -> tuple[Tag, ...]:
    """From a list, or a text with `;` between: `owasp-llm:LLM01@2025`, a bare word is a label."""
    listed = written.split(";") if isinstance(written, str) else [] if written is None else written
    if not isinstance(listed, list):
        raise NotOurs("tags", "must be a list, or text with ; between the tags")
    return tuple(_tag(one) for one in listed if not (isinstance(one, str) and not one.strip()))


def _tag(written: Any) -> Tag:
    if isinstance(written, dict):
        try:
            return Tag.model_validate(dict(written), strict=True)
        except ValueError:
            raise NotOurs("tags", "a tag has the keys scheme and code, and perhaps year as a whole number") from None
    if not isinstance(written, str):
        raise NotOurs("tags", "a tag is text, as owasp-llm:LLM01@2025")
    scheme, _, code = written.strip().rpartition(":")
    code, _, year = code.partition("@")
    if year and not re.fullmatch("[0-9]{4}", year):
        raise NotOurs("tags", f"{written.strip()!r}: {year!r} is not a year; write the tag as owasp-llm:LLM01@2025")
    return Tag(scheme=scheme or "label", code=code, year=int(year) if year else None)


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise NotOurs(name, "must be text")
    return value.strip() or None


def _is_name(name: str) -> bool:
    return name in NAMES or TURN.fullmatch(name) is not None


def _our_form(heading: str) -> str:
    """`Case ID` as `case_id`."""
    return re.sub(r"[\s-]+", "_", unicodedata.normalize("NFKC", heading).strip().casefold())
