"""Which instances a profile means."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import zip_longest

from engine.bank.loading import Bank
from engine.domain.cases import Instance, Mode, Profile, Selection
from engine.errors import BankError, NotFoundError

KINDS = {"content": "content questions", "rf": "should-refuse questions", "oc": "should-not-refuse questions"}
"""The three banks of the standard. Content is what is neither `rf` nor `oc`."""


def kind_of(instance: Instance) -> str:
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
    chosen, instances = selected(bank, profile)
    if not instances:
        raise BankError(
            f"profiles.json, profile {profile!r}, key 'select': no instance of bank {bank.name!r} meets it; widen it"
        )
    seed = chosen.seed if seed is None else seed
    if chosen.sample_per_kind:
        drawn: set[str] = set()
        for kind, sample in chosen.sample_per_kind.items():
            of_kind = [instance for instance in instances if kind_of(instance) == kind]
            drawn |= _draw(of_kind, sample, seed, stratum=_aspect if kind == "oc" else _clause)
    elif chosen.sample is not None:
        drawn = _draw(instances, chosen.sample, seed)
    else:
        return instances
    return [instance for instance in instances if instance.instance_id in drawn]


def selected(bank: Bank, profile: str) -> tuple[Profile, list[Instance]]:
    """A profile and what meets its conditions, before any sample is drawn.

    Raises:
        NotFoundError: code `unknown_profile`.
    """
    if profile not in bank.profiles:
        known = ", ".join(sorted(bank.profiles)) or "none"
        raise NotFoundError(f"no profile named {profile!r}; known: {known}", code="unknown_profile")
    chosen = bank.profiles[profile]
    return chosen, [instance for instance in bank.instances if _meets(instance, chosen.select)]


def _meets(instance: Instance, where: Selection) -> bool:
    tags = {f"{tag.scheme}:{tag.code}" for tag in instance.tags}
    return (
        (not where.clauses or instance.clause in where.clauses)
        and (not where.modes or instance.mode in where.modes)
        and (not where.languages or instance.language in where.languages)
        and (not where.severities or instance.severity in where.severities)
        and (not where.tags or not tags.isdisjoint(where.tags))
    )


def _clause(instance: Instance) -> str:
    return instance.clause


def _aspect(instance: Instance) -> str:
    return instance.aspect or ""


def _draw(
    instances: list[Instance], sample: int, seed: int, *, stratum: Callable[[Instance], str] = _clause
) -> set[str]:
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
