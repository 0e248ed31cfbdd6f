"""Which instances a profile means."""

from __future__ import annotations

import hashlib
from itertools import zip_longest

from engine.bank.loading import Bank
from engine.domain.cases import Instance, Selection
from engine.errors import BankError, NotFoundError


def select(bank: Bank, profile: str, *, seed: int | None = None) -> list[Instance]:
    """The instances of a profile in the order of the bank.

    A profile with `sample` draws that many, as evenly over the clauses as they allow; `seed` None takes the
    profile's own. The draw ranks each instance by a hash of the seed and its id, so what it picks in one clause
    depends on nothing but the ids of that clause and how many are drawn there.

    Raises:
        NotFoundError: code `unknown_profile`.
        BankError: the profile selects nothing in this bank.
    """
    if profile not in bank.profiles:
        known = ", ".join(sorted(bank.profiles)) or "none"
        raise NotFoundError(f"no profile named {profile!r}; known: {known}", code="unknown_profile")
    chosen = bank.profiles[profile]
    selected = [instance for instance in bank.instances if _meets(instance, chosen.select)]
    if not selected:
        raise BankError(
            f"profiles.json, profile {profile!r}, key 'select': no instance of bank {bank.name!r} meets it; widen it"
        )
    if chosen.sample is None:
        return selected
    drawn = _draw(selected, chosen.sample, chosen.seed if seed is None else seed)
    return [instance for instance in selected if instance.instance_id in drawn]


def _meets(instance: Instance, where: Selection) -> bool:
    tags = {f"{tag.scheme}:{tag.code}" for tag in instance.tags}
    return (
        (not where.clauses or instance.clause in where.clauses)
        and (not where.modes or instance.mode in where.modes)
        and (not where.languages or instance.language in where.languages)
        and (not where.severities or instance.severity in where.severities)
        and (not where.tags or not tags.isdisjoint(where.tags))
    )


def _draw(instances: list[Instance], sample: int, seed: int) -> set[str]:
    """Rounds over the clauses: each gives its best-ranked instance, then its second, until enough are drawn."""
    by_clause: dict[str, list[str]] = {}
    for instance in instances:
        by_clause.setdefault(instance.clause, []).append(instance.instance_id)
    clauses = sorted(by_clause, key=lambda clause: _rank(seed, clause))  # who goes without in the last round
    ranked = [sorted(by_clause[clause], key=lambda instance_id: _rank(seed, instance_id)) for clause in clauses]
    in_order = [instance_id for round_ in zip_longest(*ranked) for instance_id in round_ if instance_id is not None]
    return set(in_order[:sample])


def _rank(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()
