"""Which confident verdicts a person looks at too, so that errors the judges are sure of can be found."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b


def drawn(instance_ids: Iterable[str], *, share: float, seed: str) -> frozenset[str]:
    """The instances of a run whose verdict is audited if the judges are sure of it.

    Drawn before anything is asked, each by itself and whatever comes of it: so those that end in a confident verdict
    are a random sample of all that do.

    Args:
        instance_ids: Of the whole run.
        share: From 0 (none) to 1 (all).
        seed: The same seed draws the same instances.
    """
    limit = share * 2**64
    return frozenset(
        instance_id
        for instance_id in instance_ids
        if int.from_bytes(blake2b(f"{seed}\0{instance_id}".encode(), digest_size=8).digest()) < limit
    )
