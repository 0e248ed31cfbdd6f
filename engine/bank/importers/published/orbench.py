"""OR-Bench: harmless prompts that get refused (80k and hard-1k), and toxic ones for contrast."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin, id_of_text
from engine.bank.importers.mapping import ORBENCH, ORBENCH_ASPECTS, Benign
from engine.bank.importers.published.questions import harmful, harmless, unknown
from engine.bank.importers.published.records import records_of
from engine.bank.importers.reading import refuse

ORIGIN = Origin("orbench", licence="CC-BY-4.0")

_SIDES = {"80k": "safe", "hard": "safe", "toxic": "toxic"}


def read(files: Sequence[SourceFile]) -> Imported:
    """`prompt, category`. The safe files become `oc`, the toxic one `rf` (`single` outside A.1 and A.2).

    All files have the same columns, so the name must say which it is. The set has no ids: a case's id comes from the
    prompt. The hard prompts are among the 80k: a prompt that was read already is reported, not doubled.
    """
    gathering = Gathering()
    seen: dict[str, str] = {}
    for record in records_of(files, needed=("prompt", "category")):
        side = _side(record.place.file)
        label, prompt = record.get("category"), record.need("prompt")
        rule = ORBENCH.get(label.casefold().replace("_", "-"))
        original_id = f"{record.place.file.stem}:{record.number}"
        if rule is None:
            gathering.leave(record.place, label, unknown(label, "category"))
            continue
        if prompt in seen:
            gathering.leave(record.place, label, f"the same prompt stands in {seen[prompt]}")
            continue
        seen[prompt] = f"{record.place.file.shown}, line {record.place.line}"
        if side == "safe":
            benign = Benign(rule.clause, ORBENCH_ASPECTS.get(label.casefold()), rule.name)
            harmless(
                gathering,
                record,
                prompt,
                benign,
                origin=ORIGIN,
                original_id=original_id,
                label=label,
                case_id=id_of_text(side, prompt),
            )
        else:
            harmful(
                gathering,
                record,
                prompt,
                rule,
                origin=ORIGIN,
                original_id=original_id,
                label=label,
                case_id=id_of_text(side, prompt),
                should_refuse=True,
            )
    return gathering.imported()


def _side(file: SourceFile) -> str:
    found = {side for word, side in _SIDES.items() if word in file.shown.casefold()}
    if len(found) != 1:
        refuse(
            file, "the name does not say which part it is; keep or-bench-80k, or-bench-hard-1k or or-bench-toxic in it"
        )
    return found.pop()
