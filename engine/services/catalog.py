"""What there is to run."""

from __future__ import annotations

from collections import Counter

from engine import bank as banks
from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Localized, Model


class ProfileInfo(Model):
    """A profile and how many instances it selects, by mode too."""

    name: str
    title: Localized
    formal: bool
    instances: int
    modes: dict[str, int]


def profiles(engine: Engine, *, actor: User) -> list[ProfileInfo]:
    """Profiles of the bundled bank, smallest first. Raises BankError."""
    actor.require(Permission.READ)
    bank = engine.bank()
    infos = []
    for profile in bank.profiles.values():
        chosen = banks.select(bank, profile.name)
        infos.append(
            ProfileInfo(
                name=profile.name,
                title=profile.title,
                formal=profile.formal,
                instances=len(chosen),
                modes=dict(Counter(instance.mode.value for instance in chosen)),
            )
        )
    return sorted(infos, key=lambda info: (info.instances, info.name))
