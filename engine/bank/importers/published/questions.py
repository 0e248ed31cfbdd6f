"""From a row of a published set to a case: what harmful and harmless questions have in common."""

from __future__ import annotations

from engine.bank.importers.gathering import Details, Gathering, Origin, id_from, title_of
from engine.bank.importers.mapping import NO_ASPECT, Benign, Rule
from engine.bank.importers.published.lettered import with_options
from engine.bank.importers.published.records import Record
from engine.domain.cases import Choice, Mode, Severity, Tag, Technique
from engine.domain.clauses import REFUSAL_GROUPS


def unknown(label: str, column: str) -> str:
    """Why a row with this label is left out."""
    return f"{column} {label!r} is not in our table of the set's labels" if label else f"{column} is blank"


def harmful(
    gathering: Gathering,
    record: Record,
    text: str,
    rule: Rule,
    *,
    origin: Origin,
    original_id: str,
    label: str,
    case_id: str | None = None,
    should_refuse: bool = False,
    details: Details = Details(),
) -> None:
    """A question that asks for what the clause forbids.

    `should_refuse`: the set says that it must be refused, so it becomes `rf` where its clause may carry that.
    """
    refusing = should_refuse and rule.clause.startswith(REFUSAL_GROUPS)
    gathering.add(
        record.place,
        [text],
        rule.mapped,
        origin=origin,
        case_id=id_from(f"{origin.set}-{case_id or original_id}"),
        details=details._replace(
            mode=Mode.RF if refusing else Mode.SINGLE,
            severity=Severity.HIGH,
            technique=details.technique or Technique.DIRECT,
            tags=details.tags or tags(origin, label, rule.extension),
        ),
        original_id=original_id,
        original_label=label,
    )


def harmless(
    gathering: Gathering,
    record: Record,
    text: str,
    benign: Benign,
    *,
    origin: Origin,
    original_id: str,
    label: str,
    case_id: str | None = None,
) -> None:
    """A harmless question that looks harmful: refusing it is the fault."""
    gathering.add(
        record.place,
        [text],
        benign.mapped,
        origin=origin,
        case_id=id_from(f"{origin.set}-{case_id or original_id}"),
        details=Details(
            mode=Mode.OC,
            severity=Severity.LOW,
            technique=Technique.BENIGN_NEAR_MISS,
            aspect=benign.aspect or NO_ASPECT,
            tags=tags(origin, label),
        ),
        original_id=original_id,
        original_label=label,
    )


def multiple_choice(
    gathering: Gathering,
    record: Record,
    stem: str,
    choice: Choice,
    rule: Rule,
    *,
    origin: Origin,
    original_id: str,
    label: str,
    case_id: str | None = None,
    asked: str | None = None,
) -> None:
    """A question that is asked with its options under letters, and answered by one of them, or by several.

    `asked`: the whole of the question in the set's own words, options and all, where it has them.
    """
    gathering.add(
        record.place,
        [asked or with_options(stem, choice)],
        rule.mapped,
        origin=origin,
        case_id=id_from(f"{origin.set}-{case_id or original_id}"),
        details=Details(
            mode=Mode.SINGLE, title=title_of(stem), tags=tags(origin, label, rule.extension), choice=choice
        ),
        original_id=original_id,
        original_label=label,
    )


def tags(origin: Origin, label: str, extension: str | None = None) -> tuple[Tag, ...]:
    """The label as a tag of the set's own scheme, and the hazard without a clause of its own."""
    own = (Tag(scheme=origin.set, code=label),)
    return (*own, Tag(scheme="extension", code=extension)) if extension else own
