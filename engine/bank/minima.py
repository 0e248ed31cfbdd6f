"""What a bank is short of, measured against a profile's minima."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.bank.loading import Bank
from engine.bank.selection import KINDS, Asked, kind_of, known, meets
from engine.domain.cases import Minima, Mode, Profile
from engine.domain.clauses import CLAUSES, REFUSAL_GROUPS, Aspect


class Shortage(NamedTuple):
    """One cell that holds less than it should. `key` is the minimum in the profile's file.

    `of` is the clause, mode, aspect or kind that is counted; empty for the whole.
    """

    key: str
    cell: str
    have: int
    need: int
    of: str = ""

    @property
    def words(self) -> str:
        """As a person would say it."""
        return f"{self.cell}: {self.have} of at least {self.need}"


Counted = tuple[Asked, int]
"""An instance and how many like it there are. Several stand for cases of their own, with an empty `seed_case`."""


def shortages(bank: Bank, profile: str) -> list[Shortage]:
    """What the bank is short of for a profile: the minima, and what its samples are to be drawn from.

    Counted over everything the profile's conditions select, before it draws a sample.

    Raises:
        NotFoundError: code `unknown_profile`.
    """
    return short_for(known(bank.profiles, profile), ((instance, 1) for instance in bank.instances))


def short_for(profile: Profile, instances: Iterable[Counted]) -> list[Shortage]:
    """The same for the instances of a bank that is not read whole; the cells stand in the order of the standard."""
    counted = _Counts((instance, n) for instance, n in instances if meets(instance, profile.select))
    short = [shortage for shortage in _cells(profile.minima, counted) if shortage.have < shortage.need]
    return [*short, *_short_samples(profile, counted)]


class _Counts:
    def __init__(self, instances: Iterable[Counted]) -> None:
        self.all = 0
        self.modes: Counter[Mode] = Counter()
        self.clauses: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.cells: Counter[tuple[str, str]] = Counter()
        """By kind and clause."""
        self.aspects: Counter[Aspect | None] = Counter()
        self.seeds: Counter[str] = Counter()
        """Cases by clause."""
        self.techniques: dict[str, set[str]] = {}
        seen: set[str] = set()
        for instance, n in instances:
            kind = kind_of(instance)
            self.all += n
            self.modes[instance.mode] += n
            self.clauses[instance.clause] += n
            self.kinds[kind] += n
            self.cells[kind, instance.clause] += n
            self.aspects[instance.aspect] += n
            if instance.seed_case not in seen:
                self.seeds[instance.clause] += n
            if instance.seed_case:
                seen.add(instance.seed_case)
            self.techniques.setdefault(instance.clause, set()).add(instance.technique)


def _cells(minima: Minima, counted: _Counts) -> Iterator[Shortage]:
    yield Shortage("instances", "questions in all", counted.all, minima.instances)
    for mode, need in minima.per_mode.items():
        yield Shortage("per_mode", f"questions of mode {mode.value}", counted.modes[mode], need, mode.value)
    for kind, what in KINDS.items():
        need = {"content": minima.content, "rf": minima.rf, "oc": minima.oc}[kind]
        yield Shortage(kind, what, counted.kinds[kind], need)
    for clause in CLAUSES:
        where = f"clause {clause.id}"
        yield Shortage("per_clause", f"questions of {where}", counted.clauses[clause.id], minima.per_clause, clause.id)
        content, refusing = counted.cells["content", clause.id], counted.cells["rf", clause.id]
        need = minima.content_per_clause.get(clause.group, 0)
        yield Shortage("content_per_clause", f"{KINDS['content']} of {where}", content, need, clause.id)
        if clause.group in REFUSAL_GROUPS:
            yield Shortage("rf_per_clause", f"{KINDS['rf']} of {where}", refusing, minima.rf_per_clause, clause.id)
        techniques = counted.techniques.get(clause.id, ())
        yield Shortage(
            "seeds_per_clause", f"cases of {where}", counted.seeds[clause.id], minima.seeds_per_clause, clause.id
        )
        yield Shortage(
            "techniques_per_clause", f"techniques of {where}", len(techniques), minima.techniques_per_clause, clause.id
        )
    for aspect in Aspect:
        what = f"{KINDS['oc']} of aspect {aspect.value}"
        yield Shortage("oc_per_aspect", what, counted.aspects[aspect], minima.oc_per_aspect, aspect.value)


def _short_samples(profile: Profile, counted: _Counts) -> Iterator[Shortage]:
    if profile.sample is not None and counted.all < profile.sample:
        yield Shortage("sample", "questions to draw from", counted.all, profile.sample)
    for kind, need in profile.sample_per_kind.items():
        if counted.kinds[kind] < need:
            yield Shortage("sample_per_kind", f"{KINDS[kind]} to draw from", counted.kinds[kind], need, kind)
