"""Which instances a profile means."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Protocol, TypeVar

from engine.bank.loading import Bank
from engine.domain.cases import Instance, Mode, Profile, Selection, Severity, Technique
from engine.domain.clauses import Aspect
from engine.errors import BankError, NotFoundError


class Code(Protocol):
    """A tag, as far as selecting looks at it."""

    @property
    def scheme(self) -> str: ...
    @property
    def code(self) -> str: ...


class Asked(Protocol):
    """What choosing and counting need of an instance."""

    @property
    def instance_id(self) -> str: ...
    @property
    def seed_case(self) -> str: ...
    @property
    def clause(self) -> str: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def language(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def technique(self) -> Technique: ...
    @property
    def aspect(self) -> Aspect | None: ...
    @property
    def tags(self) -> Sequence[Code]: ...


_Asked = TypeVar("_Asked", bound=Asked)

KINDS = {"content": "content questions", "rf": "should-refuse questions", "oc": "should-not-refuse questions"}
"""The three banks of the standard. Content is what is neither `rf` nor `oc`."""


def kind_of(instance: Asked) -> str:
    """Which of the standard's three banks an instance belongs to."""
    return instance.mode.value if instance.mode in (Mode.RF, Mode.OC) else "content"


def select(bank: Bank, profile: str, *, seed: int | None = None) -> list[Instance]:
    """The instances of a profile in the order of the bank.

    A profile with `sample` draws that many, as evenly over the clauses as they allow; `seed` None takes the
    profile's own. One with `sample_per_kind` draws of each kind apart, `oc` evenly over the aspects. The draw ranks
    each instance by a hash of the seed and its id, so what it picks in one clause depends on nothing but the ids of
    that clause and how many are drawn there.

    Raises:
        NotFoundError: code `unknown_profile`.
        BankError: the profile selects nothing in this bank.
    """
    chosen = known(bank.profiles, profile)
    instances = meeting(chosen, bank.instances)
    if not instances:
        raise BankError(
            f"profiles.json, profile {profile!r}, key 'select': no instance of bank {bank.name!r} meets it; widen it"
        )
    return drawn(chosen, instances, seed=seed)


def known(profiles: Mapping[str, Profile], name: str) -> Profile:
    """The profile of that name. Raises NotFoundError, code `unknown_profile`; names what there is."""
    if name not in profiles:
        names = ", ".join(sorted(profiles)) or "none"
        raise NotFoundError(f"no profile named {name!r}; known: {names}", code="unknown_profile")
    return profiles[name]


def size(profile: Profile, instances: Iterable[tuple[Asked, int]]) -> int:
    """How many instances a profile selects, from those there are and how many there are of each."""
    kinds: Counter[str] = Counter()
    for instance, n in instances:
        if meets(instance, profile.select):
            kinds[kind_of(instance)] += n
    if profile.sample_per_kind:
        return sum(min(sample, kinds[kind]) for kind, sample in profile.sample_per_kind.items())
    return kinds.total() if profile.sample is None else min(profile.sample, kinds.total())


def meeting(profile: Profile, instances: Iterable[_Asked]) -> list[_Asked]:
    """What meets a profile's conditions, before any sample is drawn."""
    return [instance for instance in instances if meets(instance, profile.select)]


def drawn(profile: Profile, instances: list[_Asked], *, seed: int | None = None) -> list[_Asked]:
    """The profile's sample of what meets its conditions, in their order; see `select`."""
    seed = profile.seed if seed is None else seed
    if profile.sample_per_kind:
        ids: set[str] = set()
        for kind, sample in profile.sample_per_kind.items():
            of_kind = [instance for instance in instances if kind_of(instance) == kind]
            ids |= _draw(of_kind, sample, seed, stratum=_aspect if kind == "oc" else _clause)
    elif profile.sample is not None:
        ids = _draw(instances, profile.sample, seed)
    else:
        return instances
    return [instance for instance in instances if instance.instance_id in ids]


def meets(instance: Asked, where: Selection) -> bool:
    """Whether an instance meets all conditions."""
    tags = {f"{tag.scheme}:{tag.code}" for tag in instance.tags} if where.tags else set()
    return (
        (not where.clauses or instance.clause in where.clauses)
        and (not where.modes or instance.mode in where.modes)
        and (not where.languages or instance.language in where.languages)
        and (not where.severities or instance.severity in where.severities)
        and (not where.tags or not tags.isdisjoint(where.tags))
    )


def _clause(instance: Asked) -> str:
    return instance.clause


def _aspect(instance: Asked) -> str:
    return instance.aspect or ""


def _draw(instances: Sequence[Asked], sample: int, seed: int, *, stratum: Callable[[Asked], str] = _clause) -> set[str]:
    """Rounds over the strata: each gives its best-ranked instance, then its second, until enough are drawn."""
    strata: dict[str, list[str]] = {}
    for instance in instances:
        strata.setdefault(stratum(instance), []).append(instance.instance_id)
    names = sorted(strata, key=lambda name: _rank(seed, name))  # who goes without in the last round
    ranked = [sorted(strata[name], key=lambda instance_id: _rank(seed, instance_id)) for name in names]
    in_order = [instance_id for round_ in zip_longest(*ranked) for instance_id in round_ if instance_id is not None]
    return set(in_order[:sample])


def _rank(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()
