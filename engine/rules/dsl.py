"""The rule language: what a rule may say, read strictly.

::

    rule      := { rule_key, category, [priority], [is_hard], [enabled], conditions, effects,
                   [description] [note] [source] [version] }
    condition := { member* }                       conjunction of its members; {} only at the top: always true
    member    := "all": [condition+] | "any": [condition+] | <dimension>: predicate
    predicate := { [include: [v+]] [exclude: [v+]] [range: bounds] [on_missing: "skip" | "match"] }
    bounds    := { [min] [max] [gt] [lt] }         min and max inclusive, gt and lt exclusive
    effects   := { [recommend: [effect+]] [avoid: [effect+]] }
    effect    := { slot, [attrs: { <attr_dim>: [v+] }] [reason] }     without attrs: the whole slot

Values are strings, numbers or booleans, three classes apart: 1, true and "1" differ. Strings are compared folded.
There is no `not`: exclude covers it, and negation over what is unknown is where sets of rules go wrong.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from engine.domain.base import Localized, Model
from engine.errors import InputError

Value = str | int | float | bool
Folded = tuple[str, Any]
"""A value as it is compared: its class and its folded form."""

ANY_SLOT = "*"
COMPLIANCE = "compliance"
GROUPS = ("all", "any")


def folded(value: Value) -> Folded:
    """NFKC, stripped and case folded for strings; numbers compare as numbers, booleans only as booleans."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, str):
        return ("text", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).strip().casefold()))
    return ("number", value)


class Kind(StrEnum):
    """What values a dimension takes."""

    SCALAR = "scalar"
    SET = "set"
    NUMBER = "number"
    BOOL = "bool"


class Vocabulary(Model):
    """The words of one domain. None leaves a list free."""

    dimensions: dict[str, Kind]
    compliance_categories: tuple[str, ...] = (COMPLIANCE,)
    categories: tuple[str, ...] | None = None
    slots: tuple[str, ...] | None = None
    attr_dims: tuple[str, ...] | None = None


class Bounds(Model):
    """An interval of numbers that is not empty."""

    min: float | None = None
    max: float | None = None
    gt: float | None = None
    lt: float | None = None

    @field_validator("min", "max", "gt", "lt", mode="before")
    @classmethod
    def _is_a_number(cls, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError("a bound is a finite number")
        return value

    @model_validator(mode="after")
    def _is_not_empty(self) -> Bounds:
        lows = [(low, strict) for low, strict in ((self.min, False), (self.gt, True)) if low is not None]
        highs = [(high, strict) for high, strict in ((self.max, False), (self.lt, True)) if high is not None]
        if not lows and not highs:
            raise ValueError("a range needs one of min, max, gt, lt")
        for low, low_strict in lows:
            for high, high_strict in highs:
                if low > high or (low == high and (low_strict or high_strict)):
                    raise ValueError(f"no number lies in the range from {low:g} to {high:g}")
        return self

    def holds(self, number: float) -> bool:
        return (
            (self.min is None or number >= self.min)
            and (self.max is None or number <= self.max)
            and (self.gt is None or number > self.gt)
            and (self.lt is None or number < self.lt)
        )


class Predicate(Model):
    """What is asked of one dimension; all its operators must hold."""

    include: tuple[Value, ...] | None = Field(default=None, min_length=1)
    exclude: tuple[Value, ...] | None = Field(default=None, min_length=1)
    range: Bounds | None = None
    on_missing: Literal["skip", "match"] = "skip"

    @field_validator("include", "exclude", mode="before")
    @classmethod
    def _values_are_plain(cls, value: Any) -> Any:
        return _plain_values(value)

    @model_validator(mode="after")
    def _asks_something(self) -> Predicate:
        if self.include is None and self.exclude is None and self.range is None:
            raise ValueError("a predicate needs one of include, exclude, range")
        return self

    @cached_property
    def included(self) -> frozenset[Folded]:
        return frozenset(folded(value) for value in self.include or ())

    @cached_property
    def excluded(self) -> frozenset[Folded]:
        return frozenset(folded(value) for value in self.exclude or ())


class Condition:
    """A conjunction: predicates by dimension, and groups of conditions of which all or any must hold."""

    __slots__ = ("groups", "predicates")

    def __init__(
        self, predicates: tuple[tuple[str, Predicate], ...], groups: tuple[tuple[str, tuple[Condition, ...]], ...]
    ) -> None:
        self.predicates = predicates
        self.groups = groups

    @classmethod
    def parse(cls, value: Any, *, path: str = "conditions", top: bool = True) -> Condition:
        """Raises ValueError that names the place."""
        if not isinstance(value, Mapping):
            raise ValueError(f"{path}: a condition is an object")
        if not value and not top:
            raise ValueError(f"{path}: an empty condition is allowed only at the top")
        predicates: list[tuple[str, Predicate]] = []
        groups: list[tuple[str, tuple[Condition, ...]]] = []
        for name, member in sorted(value.items()):
            place = f"{path}.{name}"
            if name in GROUPS:
                if not isinstance(member, list) or not member:
                    raise ValueError(f"{place}: needs at least one condition")
                parts = (cls.parse(each, path=f"{place}[{n}]", top=False) for n, each in enumerate(member))
                groups.append((name, tuple(parts)))
            else:
                try:
                    predicates.append((name, Predicate.model_validate(member)))
                except ValidationError as error:
                    raise ValueError(f"{place}: {_first(error)}") from error
        return cls(tuple(predicates), tuple(groups))

    def every_predicate(self) -> Iterator[tuple[str, Predicate]]:
        """Predicates of this condition and of all inside it."""
        yield from self.predicates
        for _name, parts in self.groups:
            for part in parts:
                yield from part.every_predicate()


class Effect(Model):
    """A slot and what of it is meant; without `attrs` the whole slot."""

    slot: str = Field(min_length=1)
    attrs: dict[str, tuple[Value, ...]] = {}
    reason: str | Localized | None = None

    @field_validator("attrs", mode="before")
    @classmethod
    def _values_are_plain(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("attrs is an object")
        return {name: _plain_values(values) for name, values in value.items()}

    @field_validator("attrs")
    @classmethod
    def _no_list_is_empty(cls, value: dict[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
        for name, values in value.items():
            if not values:
                raise ValueError(f"attrs.{name} needs at least one value")
        return value


class Effects(Model):
    """What a rule that fires recommends and what it says to avoid."""

    recommend: tuple[Effect, ...] = ()
    avoid: tuple[Effect, ...] = ()

    @model_validator(mode="after")
    def _does_something(self) -> Effects:
        if not self.recommend and not self.avoid:
            raise ValueError("a rule needs at least one effect")
        return self


class Rule(Model):
    """One rule. `conditions` is kept as written; `condition` is it parsed."""

    rule_key: str = Field(min_length=1)
    category: str = Field(min_length=1)
    priority: int = Field(default=50, ge=0, le=1000, strict=True)
    is_hard: bool = Field(default=False, strict=True)
    enabled: bool = Field(default=True, strict=True)
    conditions: dict[str, JsonValue]
    effects: Effects
    description: str | Localized | None = None
    note: str | None = None
    source: str | None = None
    version: str | int | None = None

    @field_validator("conditions")
    @classmethod
    def _conditions_can_be_read(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        Condition.parse(value)
        return value

    @cached_property
    def condition(self) -> Condition:
        return Condition.parse(self.conditions)


def check(rule: Rule, vocabulary: Vocabulary) -> None:
    """The rule speaks of known things only.

    Raises:
        InputError: code `invalid_rule`, naming rule, place and the words that are known.
    """
    for name, predicate in rule.condition.every_predicate():
        kind = vocabulary.dimensions.get(name)
        if kind is None:
            _refuse(rule, f"unknown dimension {name!r}; known: {', '.join(sorted(vocabulary.dimensions))}")
        if predicate.range is not None and kind is not Kind.NUMBER:
            _refuse(rule, f"a range on {name}, which is a {kind}, not a number")
    if vocabulary.categories is not None and rule.category not in vocabulary.categories:
        _refuse(rule, f"unknown category {rule.category!r}; known: {', '.join(vocabulary.categories)}")
    strict = rule.is_hard or rule.category in vocabulary.compliance_categories
    for effect in (*rule.effects.recommend, *rule.effects.avoid):
        if effect.slot == ANY_SLOT:
            if effect in rule.effects.recommend or not strict:
                _refuse(rule, "slot * is only for an avoid of a hard or compliance rule")
        elif vocabulary.slots is not None and effect.slot not in vocabulary.slots:
            _refuse(rule, f"unknown slot {effect.slot!r}; known: {', '.join(vocabulary.slots)}")
        unknown = [n for n in effect.attrs if vocabulary.attr_dims is not None and n not in vocabulary.attr_dims]
        if unknown:
            _refuse(rule, f"unknown attr {unknown[0]!r}; known: {', '.join(vocabulary.attr_dims or ())}")


def _refuse(rule: Rule, why: str) -> None:
    raise InputError(f"rule {rule.rule_key}: {why}", code="invalid_rule")


def _plain_values(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of values is needed")
    for each in value:
        if not isinstance(each, str | bool | int | float) or (isinstance(each, float) and not math.isfinite(each)):
            raise ValueError(f"{each!r} is neither text nor a finite number nor a boolean")
    return tuple(value)


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg']}" if place else str(found["msg"])
