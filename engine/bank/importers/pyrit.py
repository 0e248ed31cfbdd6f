"""PyRIT seed datasets (YAML), and the CSV files its scorers are checked with.

Seeds of one group are one conversation, in the order of their `sequence`; a seed without a group is a question of its
own. An objective says what an attack is after: inside a group it is not sent, alone it is the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.clauses import Mapped, clause_of_harm
from engine.bank.importers.conversation import Conversation, LeftOut, conversation_of
from engine.bank.importers.gathering import Details, Gathering, Origin, Place, id_of_text
from engine.bank.importers.reading import Entry, refuse, rows_of, yaml_of
from engine.domain.cases import Technique

_LICENCE = re.compile(r"\blicen[cs]e:\s*([^\n;]+)", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_VERSION = re.compile(r"dataset_version\s*=\s*([^\s,]+)")
_COLUMNS = ("objective", "assistant_response")


class _Seed(NamedTuple):
    place: Place
    value: str
    kind: str
    data_type: str
    role: str
    sequence: int
    group: str | None
    labels: tuple[str, ...]
    name: str | None
    template: bool


def read(files: Sequence[SourceFile]) -> Imported:
    """All seeds of all files."""
    gathering = Gathering()
    seen: set[str] = set()
    for file in files:
        if file.ends_with(".csv"):
            _read_scorer_csv(gathering, file, seen)
        else:
            _read_seeds(gathering, file)
    return gathering.imported()


def _read_scorer_csv(gathering: Gathering, file: SourceFile, seen: set[str]) -> None:
    """Each objective once, whatever the number of answers to it; the answers are not imported."""
    table = rows_of(file, comment="#")
    for name in _COLUMNS:
        if name not in table.headings:
            refuse(file, f"no column {name!r}; choose one of the files that scorers are checked with", line=table.line)
    version = next((found[1] for one in table.comments if (found := _VERSION.search(one))), None)
    for row in table.rows:
        place, objective = Place(file, row.line), row.cells["objective"]
        if not objective.strip():
            refuse(file, "the cell is blank, and every question needs one; fill it", line=row.line, column="objective")
        if objective in seen:
            continue
        seen.add(objective)
        labels = tuple(one.strip() for one in row.cells.get("harm_category", "").split(",") if one.strip())
        if (kind := row.cells.get("data_type", "").strip() or "text") != "text":
            gathering.leave(place, ", ".join(labels), f"data type {kind!r}; only text can be imported")
            continue
        origin = Origin("pyrit", version)
        _add(gathering, place, [objective], labels, origin=origin, details=Details(), original_id=None)


def _read_seeds(gathering: Gathering, file: SourceFile) -> None:
    document = yaml_of(file)
    if not isinstance(document, Entry):
        refuse(file, "must hold a mapping with the list 'seeds'; choose a seed dataset")
    listed = document.get("seeds", document.get("prompts", [document] if "value" in document else None))
    if not isinstance(listed, list) or not listed:
        refuse(file, "must be a list of seeds with at least one entry", column="seeds")
    name = _text(file, document, "dataset_name", {}) or _text(file, document, "name", {}) or file.stem
    source = f"{_text(file, document, 'source', {}) or ''}\n{_text(file, document, 'description', {}) or ''}"
    licence = found[1].strip() if (found := _LICENCE.search(source)) else None
    groups: dict[str, list[_Seed]] = {}
    for number, entry in enumerate(listed):
        if not isinstance(entry, Entry):
            refuse(file, "must be a mapping with a value", column=f"seeds[{number}]")
        seed = _seed(file, entry, document)
        groups.setdefault(f"group {seed.group}" if seed.group else f"seed {number}", []).append(seed)
    for seeds in groups.values():
        _add_group(gathering, seeds, Origin(name, None, licence))


def _seed(file: SourceFile, entry: Entry, shared: Entry) -> _Seed:
    value = _text(file, entry, "value", {})
    if not value:
        refuse(file, "the seed has no value", line=entry.line, column="value")
    kind = _text(file, entry, "seed_type", shared)
    if kind is None:
        kind = "objective" if entry.get("is_objective", shared.get("is_objective")) in ("true", "True") else "prompt"
    labels = entry.get("harm_categories", shared.get("harm_categories")) or []
    labels = [labels] if isinstance(labels, str) else labels
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        refuse(file, "must be a list of texts", line=entry.line, column="harm_categories")
    sequence = _text(file, entry, "sequence", {}) or "0"
    if not sequence.isascii() or not sequence.isdigit() or len(sequence) > 6:
        refuse(file, f"{sequence!r} is not a whole number", line=entry.line, column="sequence")
    group = _text(file, entry, "prompt_group_alias", {}) or _text(file, entry, "prompt_group_id", {})
    template = entry.get("is_jinja_template", shared.get("is_jinja_template")) in ("true", "True")
    return _Seed(
        place=Place(file, entry.line),
        value=value,
        kind=kind,
        data_type=_text(file, entry, "data_type", shared) or "text",
        role=_text(file, entry, "role", {}) or "user",
        sequence=int(sequence),
        group=group,
        labels=tuple(label.strip() for label in labels if label.strip()),
        name=_text(file, entry, "name", {}),
        template=template or bool(entry.get("parameters", shared.get("parameters"))) or bool(_TEMPLATE.search(value)),
    )


def _add_group(gathering: Gathering, seeds: list[_Seed], origin: Origin) -> None:
    first = seeds[0]
    labels = tuple(dict.fromkeys(label for seed in seeds for label in seed.labels))
    sent = [seed for seed in seeds if seed.kind == "prompt"] or seeds
    try:
        system, turns = _conversation(sent)
    except LeftOut as left:
        gathering.leave(first.place, ", ".join(labels), str(left))
        return
    _add(
        gathering,
        first.place,
        turns,
        labels,
        origin=origin,
        details=Details(
            system=system,
            title=first.name if first.group is None else None,
            technique=Technique.MULTI_TURN_PRESSURE if len(turns) > 1 else None,
        ),
        original_id=first.group or first.name,
    )


def _conversation(seeds: list[_Seed]) -> Conversation:
    """Seeds of one sequence number and role are parts of one message."""
    messages: dict[tuple[int, str], list[str]] = {}
    for seed in sorted(seeds, key=lambda seed: seed.sequence):
        if seed.kind not in ("prompt", "objective"):
            raise LeftOut(f"seed type {seed.kind!r} is no question")
        if seed.data_type != "text":
            raise LeftOut(f"data type {seed.data_type!r}; only text can be imported")
        if seed.template:
            raise LeftOut("is a template, a method rather than a question")
        messages.setdefault((seed.sequence, seed.role), []).append(seed.value)
    return conversation_of((role, "\n".join(parts)) for (_, role), parts in messages.items())


def _add(
    gathering: Gathering,
    place: Place,
    turns: list[str],
    labels: tuple[str, ...],
    *,
    origin: Origin,
    details: Details,
    original_id: str | None,
) -> None:
    label = ", ".join(labels)
    mapped: Mapped | None = clause_of_harm(labels)
    if mapped is None:
        known = "the category of harm means no clause that we know of" if labels else "names no category of harm"
        gathering.leave(place, label, known)
        return
    gathering.add(
        place,
        turns,
        mapped,
        origin=origin,
        case_id=id_of_text(origin.set, details.system or "", *turns),
        details=details,
        original_id=original_id,
        original_label=label,
    )


def _text(file: SourceFile, entry: Entry, key: str, shared: Mapping[str, Any]) -> str | None:
    value = entry.get(key, shared.get(key))
    if value is not None and not isinstance(value, str):
        refuse(file, "must be text", line=entry.line, column=key)
    return value if value and value.strip() else None
