"""What a set of rules says about one context. Pure: no clock, no chance, no I/O; the order of the rules is no input.

Avoid beats recommend whatever the priorities, compliance beats both, and a hard avoid is never removed. Priority
orders the output and picks the rule that is credited for a suppression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from engine.domain.base import Localized, Model
from engine.errors import InputError
from engine.rules.dsl import ANY_SLOT, Condition, Folded, Kind, Predicate, Rule, Value, Vocabulary, check, folded


class Entry(Model):
    """What is said of one slot, merged over rules. `whole`: the slot itself is meant, save for `except_`."""

    slot: str
    attrs: dict[str, tuple[Value, ...]] = {}
    whole: bool = False
    except_: dict[str, tuple[Value, ...]] = Field(default={}, alias="except", serialization_alias="except")
    sources: tuple[str, ...]

    model_config = {**Model.model_config, "populate_by_name": True, "serialize_by_alias": True}


class HardBlock(Model):
    """An avoid of a hard rule that fired."""

    rule_key: str
    slot: str
    attrs: dict[str, tuple[Value, ...]]
    reason: str | Localized | None


class Suppressed(Model):
    """An atom that was taken out: a recommended one by an avoid, or a soft avoid by a compliance recommend."""

    kind: Literal["recommend", "avoid"]
    slot: str
    dim: str | None
    value: Value | None
    rule_key: str
    by: str


class Conflict(Model):
    """A compliance rule recommends what a soft rule wants avoided as a whole; both stand."""

    slot: str
    recommend: str
    avoid: str


class Why(Model):
    """One operator of a predicate against what is known."""

    dim: str
    op: str
    fact: Any
    ok: bool


class Trace(Model):
    rule_key: str
    fired: bool
    why: tuple[Why, ...]


class EvalResult(Model):
    """What the rules say, slot by slot in the order of their names."""

    recommend: tuple[Entry, ...]
    avoid: tuple[Entry, ...]
    hard_blocks: tuple[HardBlock, ...]
    suppressed: tuple[Suppressed, ...]
    conflicts: tuple[Conflict, ...]
    fired: tuple[str, ...]
    trace: tuple[Trace, ...]


class RuleContext:
    """Facts by dimension, checked against the vocabulary. None and absent are the same."""

    __slots__ = ("_folded", "facts")

    def __init__(self, facts: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        """Raises InputError, code `invalid_context`, for an unknown key or a value of another kind."""
        for name, value in facts.items():
            kind = vocabulary.dimensions.get(name)
            if kind is None:
                known = ", ".join(sorted(vocabulary.dimensions))
                raise InputError(f"context: unknown dimension {name!r}; known: {known}", code="invalid_context")
            if value is not None and not _is_of(kind, value):
                raise InputError(f"context: {name} is a {kind}, and {value!r} is not", code="invalid_context")
        self.facts: Mapping[str, Any] = {name: value for name, value in facts.items() if value is not None}
        self._folded: dict[str, frozenset[Folded]] = {
            name: frozenset(
                folded(each) for each in (value if isinstance(value, list | tuple | set | frozenset) else [value])
            )
            for name, value in self.facts.items()
        }

    def values(self, name: str) -> frozenset[Folded]:
        return self._folded.get(name, frozenset())

    def has(self, name: str) -> bool:
        return name in self.facts


class Atom(NamedTuple):
    """The smallest thing a rule can recommend or avoid; without dim and value the whole slot."""

    slot: str
    dim: str | None
    value: Folded | None


class _Said(NamedTuple):
    rule: Rule
    atom: Atom
    shown: Value | None


def evaluate(
    rules: Iterable[Rule],
    context: RuleContext,
    vocabulary: Vocabulary,
    *,
    conflict: Literal["value", "priority"] = "value",
    trace: bool = True,
) -> EvalResult:
    """Fire, split into atoms, suppress once, merge by slot.

    Args:
        rules: In any order; two with one key are refused.
        context: The facts.
        vocabulary: The domain's words; every rule is checked against them.
        conflict: `priority` lets a soft recommend of higher priority stand against a soft avoid.
        trace: Whether to say of every rule why it fired or not.

    Raises:
        InputError: `invalid_rule`.
    """
    ordered = _ordered(rules, vocabulary)
    looked = [(rule, _holds(rule.condition, context, vocabulary)) for rule in ordered if rule.enabled]
    fired = [rule for rule, holds in looked if holds]
    recommended = [said for rule in fired for said in _atoms(rule, rule.effects.recommend)]
    avoided = [said for rule in fired for said in _atoms(rule, rule.effects.avoid)]
    surviving, suppressed = _suppress(recommended, avoided, vocabulary, conflict)
    standing, lifted, conflicts = _lift(surviving, avoided, vocabulary)
    return EvalResult(
        recommend=_merged(surviving, exceptions=standing),
        avoid=_merged(standing),
        hard_blocks=tuple(
            HardBlock(rule_key=rule.rule_key, slot=effect.slot, attrs=effect.attrs, reason=effect.reason)
            for rule in fired
            if rule.is_hard
            for effect in rule.effects.avoid
        ),
        suppressed=tuple(suppressed + lifted),
        conflicts=tuple(conflicts),
        fired=tuple(rule.rule_key for rule in fired),
        trace=tuple(_traced(rule, holds, context, vocabulary) for rule, holds in looked) if trace else (),
    )


def _ordered(rules: Iterable[Rule], vocabulary: Vocabulary) -> list[Rule]:
    every = list(rules)
    seen: set[str] = set()
    for rule in every:
        check(rule, vocabulary)
        if rule.rule_key in seen:
            raise InputError(f"rule {rule.rule_key}: there are two rules of that key", code="invalid_rule")
        seen.add(rule.rule_key)
    return sorted(every, key=lambda rule: (-_tier(rule, vocabulary), -rule.priority, rule.rule_key))


def _tier(rule: Rule, vocabulary: Vocabulary) -> int:
    return 2 if rule.category in vocabulary.compliance_categories else 1


# -- conditions -----------------------------------------------------------------------------------------------------


def _holds(condition: Condition, context: RuleContext, vocabulary: Vocabulary) -> bool:
    return all(
        _predicate_holds(name, predicate, context, vocabulary) for name, predicate in condition.predicates
    ) and all(
        (all if word == "all" else any)(_holds(part, context, vocabulary) for part in parts)
        for word, parts in condition.groups
    )


def _predicate_holds(name: str, predicate: Predicate, context: RuleContext, vocabulary: Vocabulary) -> bool:
    return all(ok for _op, ok in _operators(name, predicate, context, vocabulary))


def _operators(
    name: str, predicate: Predicate, context: RuleContext, vocabulary: Vocabulary
) -> Iterable[tuple[str, bool]]:
    """Each operator and whether it holds. A set that is absent is empty; anything else that is absent fails all."""
    if not context.has(name) and vocabulary.dimensions[name] is not Kind.SET:
        missing = predicate.on_missing == "match"
        for op in ("include", "exclude", "range"):
            if getattr(predicate, op) is not None:
                yield op, missing
        return
    values = context.values(name)
    if predicate.include is not None:
        yield "include", not values.isdisjoint(predicate.included)
    if predicate.exclude is not None:
        yield "exclude", values.isdisjoint(predicate.excluded)
    if predicate.range is not None:
        yield "range", predicate.range.holds(context.facts[name])


def _traced(rule: Rule, fired: bool, context: RuleContext, vocabulary: Vocabulary) -> Trace:
    why = tuple(
        Why(dim=name, op=op, fact=_plain(context.facts.get(name)), ok=ok)
        for name, predicate in rule.condition.every_predicate()
        for op, ok in _operators(name, predicate, context, vocabulary)
    )
    return Trace(rule_key=rule.rule_key, fired=fired, why=why)


def _plain(fact: Any) -> Any:
    return sorted(fact, key=lambda value: _rank(folded(value))) if isinstance(fact, set | frozenset) else fact


def _is_of(kind: Kind, value: Any) -> bool:
    if kind is Kind.BOOL:
        return isinstance(value, bool)
    if kind is Kind.NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if kind is Kind.SCALAR:
        return isinstance(value, str | bool | int | float)
    return isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(each, str | bool | int | float) for each in value
    )


# -- effects --------------------------------------------------------------------------------------------------------


def _atoms(rule: Rule, effects: Sequence[Any]) -> list[_Said]:
    said: list[_Said] = []
    for effect in effects:
        if not effect.attrs:
            said.append(_Said(rule, Atom(effect.slot, None, None), None))
        said.extend(
            _Said(rule, Atom(effect.slot, dim, folded(value)), value)
            for dim, values in effect.attrs.items()
            for value in values
        )
    return said


def _covers(avoid: Atom, wanted: Atom) -> bool:
    if avoid.slot not in (wanted.slot, ANY_SLOT):
        return False
    return avoid.dim is None or (avoid.dim == wanted.dim and avoid.value == wanted.value)


def _suppress(
    recommended: list[_Said], avoided: list[_Said], vocabulary: Vocabulary, conflict: str
) -> tuple[list[_Said], list[Suppressed]]:
    surviving: list[_Said] = []
    suppressed: list[Suppressed] = []
    for said in recommended:
        by = next((avoid.rule for avoid in avoided if _beats(avoid, said, vocabulary, conflict)), None)
        if by is None:
            surviving.append(said)
        else:
            suppressed.append(_taken_out("recommend", said, by))
    return surviving, suppressed


def _beats(avoid: _Said, said: _Said, vocabulary: Vocabulary, conflict: str) -> bool:
    if not _covers(avoid.atom, said.atom):
        return False
    if avoid.rule.is_hard:
        return True
    own, other = _tier(avoid.rule, vocabulary), _tier(said.rule, vocabulary)
    if conflict == "priority" and own == other == 1 and avoid.rule.priority < said.rule.priority:
        return False
    return own >= other


def _lift(
    surviving: list[_Said], avoided: list[_Said], vocabulary: Vocabulary
) -> tuple[list[_Said], list[Suppressed], list[Conflict]]:
    """A compliance recommend that stands takes out a soft avoid of that very atom; a whole-slot one stays beside it."""
    compliance = [said for said in surviving if _tier(said.rule, vocabulary) == 2]
    standing: list[_Said] = []
    lifted: list[Suppressed] = []
    conflicts: list[Conflict] = []
    for avoid in avoided:
        soft = not avoid.rule.is_hard and _tier(avoid.rule, vocabulary) == 1
        against = next((said for said in compliance if soft and _covers(avoid.atom, said.atom)), None)
        if against is None:
            standing.append(avoid)
        elif avoid.atom.dim is not None:
            lifted.append(_taken_out("avoid", avoid, against.rule))
        else:
            standing.append(avoid)
            found = Conflict(slot=avoid.atom.slot, recommend=against.rule.rule_key, avoid=avoid.rule.rule_key)
            if found not in conflicts:
                conflicts.append(found)
    return standing, lifted, conflicts


def _taken_out(kind: Literal["recommend", "avoid"], said: _Said, by: Rule) -> Suppressed:
    return Suppressed(
        kind=kind,
        slot=said.atom.slot,
        dim=said.atom.dim,
        value=said.shown,
        rule_key=said.rule.rule_key,
        by=by.rule_key,
    )


def _merged(said: list[_Said], *, exceptions: list[_Said] | None = None) -> tuple[Entry, ...]:
    entries = []
    for slot in sorted({each.atom.slot for each in said}):
        mine = [each for each in said if each.atom.slot == slot]
        whole = any(each.atom.dim is None for each in mine)
        barred = [
            each
            for each in (exceptions or ())
            if whole and each.atom.dim is not None and each.atom.slot in (slot, ANY_SLOT)
        ]
        entries.append(
            Entry(
                slot=slot,
                attrs=_values(mine),
                whole=whole,
                except_=_values(barred),
                sources=tuple(dict.fromkeys(each.rule.rule_key for each in mine)),
            )
        )
    return tuple(entries)


def _values(said: list[_Said]) -> dict[str, tuple[Value, ...]]:
    """Each value once, in the order of its folded form; of spellings that are the same value, the first by sorting."""
    found: dict[str, dict[Folded, Value]] = {}
    for each in said:
        if each.atom.dim is None or each.atom.value is None or each.shown is None:
            continue
        held = found.setdefault(each.atom.dim, {})
        known = held.get(each.atom.value)
        held[each.atom.value] = each.shown if known is None else min(known, each.shown, key=repr)
    return {dim: tuple(held[key] for key in sorted(held, key=_rank)) for dim, held in sorted(found.items())}


def _rank(value: Folded) -> tuple[str, Any]:
    return value
