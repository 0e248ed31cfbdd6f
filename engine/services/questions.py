"""Which bank a run asks."""

from __future__ import annotations

from engine.assembly import BUNDLED_BANK, Engine
from engine.bank import Bank, assembling
from engine.domain.banks import BankInfo
from engine.domain.cases import Selection


def for_run(engine: Engine, name: str | None, profile: str) -> Bank:
    """None and `regression` are the installed files, whose fixtures are all checked; anything else is the newest
    version in the store, of which only what the profile may select is read.

    Raises:
        NotFoundError: `unknown_bank`; names what there is.
        BankError: the installed files are broken.
    """
    bundled = engine.bank()
    if name in (None, BUNDLED_BANK, bundled.name):
        return bundled
    engine.store_bundled(bundled)  # so that an unknown name is answered with all there is
    info = engine.stores.banks.by_name(str(name))
    chosen = bundled.profiles.get(profile)
    return assembled(engine, info, chosen.select if chosen is not None else Selection())


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
