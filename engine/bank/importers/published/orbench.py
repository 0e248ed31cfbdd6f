"""OR-Bench: harmless prompts that get refused (80k and hard-1k), and toxic ones for contrast."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.gathering import Gathering, Origin, Place, id_of_text
from engine.bank.importers.mapping import ORBENCH, ORBENCH_ASPECTS, Benign
from engine.bank.importers.published.questions import harmful, harmless, unknown
from engine.bank.importers.published.records import given, records_of
from engine.bank.importers.reading import refuse

ORIGIN = Origin("orbench", licence="CC-BY-4.0")

_SIDES = {"80k": "safe", "hard": "safe", "toxic": "toxic"}


def read(files: Sequence[SourceFile]) -> Imported:
    """`prompt, category`. The safe files become `oc`, the toxic one `rf` (`single` outside A.1 and A.2).

    All files have the same columns, so the name must say which it is. The set has no ids: a case's id comes from the
    prompt. The hard prompts are among the 80k: a prompt that was read already is reported, not doubled.
    """
    gathering = Gathering()
    seen: dict[str, Place] = {}
    for file in given(files):
        side, stem = _side(file), file.stem
        for record in records_of([file], needed=("prompt", "category")):
            label, prompt = record.get("category"), record.need("prompt")
            plain = label.casefold().replace("_", "-")
            rule = ORBENCH.get(plain)
            if rule is None:
                gathering.leave(record.place, label, unknown(label, "category"))
                continue
            first = seen.setdefault(prompt, record.place)
            if first is not record.place:
                gathering.leave(record.place, label, f"the same prompt stands in {first.file.shown}, line {first.line}")
                continue
            original_id, case_id = f"{stem}:{record.number}", id_of_text(side, prompt)
            if side == "safe":
                harmless(
                    gathering,
                    record,
                    prompt,
                    Benign(rule.clause, ORBENCH_ASPECTS.get(plain), rule.name),
                    origin=ORIGIN,
                    original_id=original_id,
                    label=label,
                    case_id=case_id,
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
                    case_id=case_id,
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
