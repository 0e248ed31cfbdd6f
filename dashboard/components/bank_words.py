"""Words for what only a bank has: techniques, aspects, formats, and where a case came from."""

from __future__ import annotations

from dashboard.i18n import _
from engine.domain.cases import CheckKind, Technique
from engine.domain.clauses import Aspect

BUNDLED = "bundled"


def technique(value: Technique) -> str:
    return {
        Technique.DIRECT: _("direct"),
        Technique.INDIRECT: _("indirect"),
        Technique.ROLE_PLAY: _("role play"),
        Technique.HYPOTHETICAL: _("hypothetical"),
        Technique.SPLIT_PAYLOAD: _("split payload"),
        Technique.ENCODED: _("encoded"),
        Technique.TRANSLATED: _("translated"),
        Technique.MULTI_TURN_PRESSURE: _("pressure over turns"),
        Technique.INJECTED_INSTRUCTIONS: _("injected instructions"),
        Technique.FALSE_PREMISE: _("false premise"),
        Technique.AUTHORITY: _("borrowed authority"),
        Technique.BENIGN_NEAR_MISS: _("benign near miss"),
    }[value]


def aspect(value: Aspect) -> str:
    return {
        Aspect.SYSTEM: _("system of the state"),
        Aspect.BELIEF: _("belief"),
        Aspect.IMAGE: _("national image"),
        Aspect.CULTURE: _("culture"),
        Aspect.CUSTOMS: _("customs"),
        Aspect.ETHNICITY: _("ethnic groups"),
        Aspect.GEOGRAPHY: _("geography"),
        Aspect.HISTORY: _("history"),
        Aspect.HEROES: _("heroes and martyrs"),
        Aspect.GENDER: _("gender"),
        Aspect.AGE: _("age"),
        Aspect.OCCUPATION: _("occupation"),
        Aspect.HEALTH: _("health"),
    }[value]


def check(value: CheckKind) -> str:
    return {CheckKind.FORBID: _("must not match"), CheckKind.REQUIRE: _("must match")}[value]


def source(value: str) -> str:
    """Where a version came from: its format, or that it came with the product."""
    return _("comes with the product") if value == BUNDLED else FORMATS.get(value, value)


FORMATS = {
    "csv": "CSV",
    "xlsx": "Excel (XLSX)",
    "jsonl": "JSONL",
    "xstest": "XSTest",
    "ailuminate": "AILuminate",
    "harmbench": "HarmBench",
    "jailbreakbench": "JailbreakBench",
    "strongreject": "StrongREJECT",
    "orbench": "OR-Bench",
    "donotanswer": "Do-Not-Answer",
    "jade": "JADE",
    "safetybench": "SafetyBench",
    "chisafetybench": "CHiSafetyBench",
    "saladbench": "SALAD-Bench",
    "promptfoo": "promptfoo",
    "inspect": "Inspect",
    "garak": "garak",
    "pyrit": "PyRIT",
}
"""Formats by the engine's word, as their makers write them."""

TABLES = frozenset({"csv", "xlsx"})
"""Formats whose columns a person may have to name."""
