"""StrongREJECT: forbidden prompts in six categories."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin, id_of_text
from engine.bank.importers.mapping import STRONGREJECT
from engine.bank.importers.published.questions import harmful, unknown
from engine.bank.importers.published.records import records_of

ORIGIN = Origin("strongreject", licence="MIT; the sources of single prompts vary")


def read(files: Sequence[SourceFile]) -> Imported:
    """`category, source, forbidden_prompt`; mode `single`.

    The set has no ids: a case's id comes from the prompt, and the row's number is kept as the original one. A prompt
    that the small file repeats is reported, not doubled.
    """
    gathering = Gathering()
    seen: dict[str, str] = {}
    for record in records_of(files, needed=("category", "forbidden_prompt")):
        label, prompt = record.get("category"), record.need("forbidden_prompt")
        rule = STRONGREJECT.get(label.casefold())
        if rule is None:
            gathering.leave(record.place, label, unknown(label, "category"))
        elif prompt in seen:
            gathering.leave(record.place, label, f"the same prompt stands in {seen[prompt]}")
        else:
            seen[prompt] = f"{record.place.file.shown}, line {record.place.line}"
            harmful(
                gathering,
                record,
                prompt,
                rule,
                origin=ORIGIN,
                original_id=str(record.number),
                label=label,
                case_id=id_of_text("prompt", prompt),
            )
    return gathering.imported()
