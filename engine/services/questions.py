"""Which bank a run asks."""

from __future__ import annotations

from collections import Counter

from engine.assembly import BUNDLED_BANK, Engine
from engine.bank import Bank, assembling, selection
from engine.domain.banks import BankInfo
from engine.domain.cases import Mode, Profile, Selection


def for_run(engine: Engine, name: str | None, profile: str) -> Bank:
    """None and `regression` are the installed files, whose fixtures are all checked; anything else is the newest
    version in the store, of which only what the profile may select is read.

    Raises:
        NotFoundError: `unknown_bank`; names what there is.
        BankError: the installed files are broken.
    """
    bundled, info = engine.bank(), _stored(engine, name)
    if info is None:
        return bundled
    named = bundled.profiles.get(profile)
    return assembled(engine, info, named.select if named is not None else Selection())


def modes(engine: Engine, name: str | None, profile: Profile) -> Counter[Mode]:
    """How many instances of each mode a profile with its own seed selects in the bank that `for_run` would take.

    Raises:
        NotFoundError: `unknown_bank`; names what there is.
        BankError: the installed files are broken.
    """
    info = _stored(engine, name)
    if info is None:
        asked = selection.drawn(profile, selection.meeting(profile, engine.bank().instances))
        return Counter(instance.mode for instance in asked)
    stored, found = engine.stores.banks, Counter[Mode]()
    if profile.sample is None and not profile.sample_per_kind:  # nothing is drawn, so no ids are needed
        for sketch, n in stored.tallies(info.id, profile.select):
            if selection.meets(sketch, profile.select):
                found[sketch.mode] += n
        return found
    sketches = selection.meeting(profile, stored.sketches(info.id, profile.select))
    return Counter(sketch.mode for sketch in selection.drawn(profile, sketches))


def count(engine: Engine, name: str | None, profile: str) -> int:
    """How many instances a profile selects there. Raises as `modes` does, and NotFoundError `unknown_profile`."""
    info = _stored(engine, name)
    named = selection.known(engine.bank().profiles, profile)
    if info is None:
        return selection.size(named, ((instance, 1) for instance in engine.bank().instances))
    return selection.size(named, engine.stores.banks.tallies(info.id, named.select))


def _stored(engine: Engine, name: str | None) -> BankInfo | None:
    """The newest version of a bank in the store; None for the installed files."""
    bundled = engine.bank()
    if name in (None, BUNDLED_BANK, bundled.name):
        return None
    engine.store_bundled(bundled)  # so that an unknown name is answered with all there is
    return engine.stores.banks.by_name(str(name))


def assembled(engine: Engine, info: BankInfo, wanted: Selection = Selection()) -> Bank:
    """A stored bank, as far as `wanted` may select it, with the installed profiles and fixture files."""
    bundled = engine.bank()
    return assembling.assemble(
        name=info.name,
        version=info.version,
        sha256=info.sha256,
        folder=bundled.folder,
        cases=engine.stores.banks.stream(
            info.id, clauses=wanted.clauses, modes=wanted.modes, severities=wanted.severities
        ),
        fixtures=engine.stores.banks.fixtures(info.id),
        profiles=bundled.profiles,
    )
