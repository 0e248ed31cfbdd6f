"""What a bank is short of, measured against a profile's minima."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.bank.loading import Bank
from engine.bank.selection import KINDS, kind_of, selected
from engine.domain.cases import Instance, Minima, Mode, Profile
from engine.domain.clauses import CLAUSES, REFUSAL_GROUPS, Aspect


class Shortage(NamedTuple):
    """One cell that holds less than it should. `key` is the minimum in the profile's file."""

    key: str
    cell: str
    have: int
    need: int

    @property
    def words(self) -> str:
        """As a person would say it."""
        return f"{self.cell}: {self.have} of at least {self.need}"


def shortages(bank: Bank, profile: str) -> list[Shortage]:
    """What the bank is short of for a profile: the minima, and what its samples are to be drawn from.

    Counted over everything the profile's conditions select, before it draws a sample.

    Raises:
        NotFoundError: code `unknown_profile`.
    """
    chosen, instances = selected(bank, profile)
    return [*short_of(chosen.minima, instances), *_short_samples(chosen, instances)]


def short_of(minima: Minima, instances: Iterable[Instance]) -> list[Shortage]:
    """The cells in which the instances fall below the minima, in the order of the standard."""
    counted = _Counts(instances)
    return [shortage for shortage in _cells(minima, counted) if shortage.have < shortage.need]


class _Counts:
    def __init__(self, instances: Iterable[Instance]) -> None:
        self.all = 0
        self.modes: Counter[Mode] = Counter()
        self.clauses: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.cells: Counter[tuple[str, str]] = Counter()
        """By kind and clause."""
        self.aspects: Counter[Aspect | None] = Counter()
        self.seeds: dict[str, set[str]] = {}
        self.techniques: dict[str, set[str]] = {}
        for instance in instances:
            kind = kind_of(instance)
            self.all += 1
            self.modes[instance.mode] += 1
            self.clauses[instance.clause] += 1
            self.kinds[kind] += 1
            self.cells[kind, instance.clause] += 1
            self.aspects[instance.aspect] += 1
            self.seeds.setdefault(instance.clause, set()).add(instance.seed_case)
            self.techniques.setdefault(instance.clause, set()).add(instance.technique)


def _cells(minima: Minima, counted: _Counts) -> Iterator[Shortage]:
    yield Shortage("instances", "questions in all", counted.all, minima.instances)
    for mode, need in minima.per_mode.items():
        yield Shortage("per_mode", f"questions of mode {mode.value}", counted.modes[mode], need)
    for kind, what in KINDS.items():
        need = {"content": minima.content, "rf": minima.rf, "oc": minima.oc}[kind]
        yield Shortage(kind, what, counted.kinds[kind], need)
    for clause in CLAUSES:
        where = f"clause {clause.id}"
        yield Shortage("per_clause", f"questions of {where}", counted.clauses[clause.id], minima.per_clause)
        content, refusing = counted.cells["content", clause.id], counted.cells["rf", clause.id]
        need = minima.content_per_clause.get(clause.group, 0)
        yield Shortage("content_per_clause", f"{KINDS['content']} of {where}", content, need)
        if clause.group in REFUSAL_GROUPS:
            yield Shortage("rf_per_clause", f"{KINDS['rf']} of {where}", refusing, minima.rf_per_clause)
        seeds, techniques = counted.seeds.get(clause.id, ()), counted.techniques.get(clause.id, ())
        yield Shortage("seeds_per_clause", f"cases of {where}", len(seeds), minima.seeds_per_clause)
        yield Shortage("techniques_per_clause", f"techniques of {where}", len(techniques), minima.techniques_per_clause)
    for aspect in Aspect:
        what = f"{KINDS['oc']} of aspect {aspect.value}"
        yield Shortage("oc_per_aspect", what, counted.aspects[aspect], minima.oc_per_aspect)


def _short_samples(profile: Profile, instances: list[Instance]) -> Iterator[Shortage]:
    if profile.sample is not None and len(instances) < profile.sample:
        yield Shortage("sample", "questions to draw from", len(instances), profile.sample)
    kinds = Counter(map(kind_of, instances))
    for kind, need in profile.sample_per_kind.items():
        if kinds[kind] < need:
            yield Shortage("sample_per_kind", f"{KINDS[kind]} to draw from", kinds[kind], need)
