"""AILuminate: prompts by hazard code, from skilled and unskilled personas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Details, Gathering, Origin
from engine.bank.importers.mapping import AILUMINATE
from engine.bank.importers.published.questions import harmful, tags, unknown
from engine.bank.importers.published.records import records_of
from engine.domain.cases import Tag

ORIGIN = Origin("ailuminate", licence="CC-BY-4.0")

_YEAR = 2024
_VERSION = re.compile(r"(?<!\d)(\d+\.\d+)(?!\d)")
_LANGUAGE = re.compile(r"([a-z]{2})[-_]([a-z]{2})", re.IGNORECASE)


def read(files: Sequence[SourceFile]) -> Imported:
    """`release_prompt_id, prompt_text, hazard, persona, locale, prompt_hash`, in any case; mode `single`.

    A code's suffix (`spc_ele`, `sxc_prn`) stays in the provenance and the tags and does not change the clause.
    """
    gathering = Gathering()
    for record in records_of(files, needed=("release_prompt_id", "prompt_text", "hazard")):
        hazard = record.need("hazard").casefold().replace("-", "_")
        code = hazard.partition("_")[0]
        if code not in AILUMINATE:
            gathering.leave(record.place, hazard, unknown(hazard, "hazard"))
            continue
        version = _VERSION.search(record.place.file.shown)
        locale = _LANGUAGE.fullmatch(record.get("locale"))
        rule = AILUMINATE[code]
        extension = tags(ORIGIN, hazard, rule.extension)[1:]
        persona = record.get("persona")
        harmful(
            gathering,
            record,
            record.need("prompt_text"),
            rule,
            origin=ORIGIN._replace(version=version[1] if version else None),
            original_id=record.need("release_prompt_id"),
            label=hazard,
            details=Details(
                language=_language(locale[1], locale[2]) if locale else None,
                tags=(
                    *(Tag(scheme=ORIGIN.set, code=one, year=_YEAR) for one in dict.fromkeys((code, hazard))),
                    *((Tag(scheme="persona", code=persona),) if persona else ()),
                    *extension,
                ),
            ),
        )
    return gathering.imported()


def _language(language: str, region: str) -> str:
    return "en" if language.lower() == "en" else f"{language.lower()}-{region.upper()}"
