"""The published test sets, one small module each.

Nothing of these sets is bundled. They are read from a copy of the user's own, and every case carries the licence of
its set; `donotanswer` is non-commercial, `chisafetybench` states no licence.
"""

from __future__ import annotations

from engine.bank.importers.base import Importer
from engine.bank.importers.published import (
    ailuminate,
    chisafetybench,
    donotanswer,
    harmbench,
    jade,
    jailbreakbench,
    orbench,
    safetybench,
    saladbench,
    strongreject,
    xstest,
)

PUBLISHED: dict[str, Importer] = {
    "xstest": xstest.read,
    "ailuminate": ailuminate.read,
    "harmbench": harmbench.read,
    "jailbreakbench": jailbreakbench.read,
    "strongreject": strongreject.read,
    "orbench": orbench.read,
    "donotanswer": donotanswer.read,
    "jade": jade.read,
    "safetybench": safetybench.read,
    "chisafetybench": chisafetybench.read,
    "saladbench": saladbench.read,
}

LICENCES: dict[str, str | None] = {
    module.ORIGIN.set: module.ORIGIN.licence
    for module in (
        xstest,
        ailuminate,
        harmbench,
        jailbreakbench,
        strongreject,
        orbench,
        donotanswer,
        jade,
        safetybench,
        chisafetybench,
        saladbench,
    )
}
"""By format: what the set may be used under."""
