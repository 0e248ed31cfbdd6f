"""What there is to run."""

from __future__ import annotations

from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Localized, Model
from engine.services import questions


class ProfileInfo(Model):
    """A profile and how many instances it selects, by mode too."""

    name: str
    title: Localized
    formal: bool
    instances: int
    modes: dict[str, int]


def profiles(engine: Engine, *, bank: str | None = None, actor: User) -> list[ProfileInfo]:
    """Profiles, smallest first, and what each would select in a bank; None is the installed one.

    A profile that selects nothing there has no instances.

    Raises:
        NotFoundError: `unknown_bank`.
        BankError: the installed files are broken.
    """
    actor.require(Permission.READ)
    infos = []
    for profile in engine.bank().profiles.values():
        found = questions.modes(engine, bank, profile)
        infos.append(
            ProfileInfo(
                name=profile.name,
                title=profile.title,
                formal=profile.formal,
                instances=found.total(),
                modes={mode.value: n for mode, n in found.items()},
            )
        )
    return sorted(infos, key=lambda info: (info.instances, info.name))
