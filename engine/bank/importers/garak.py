"""garak prompts: the attempts of a report (JSONL), or a text file with one prompt a line.

The label is the probe: the attempt's probe class, or the name of the text file without its ending. A prompt that
occurs again, under the same probe or another, is the same question and is taken once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from engine.bank.importers.base import Imported, SourceFile
from engine.bank.importers.clauses import CATCH_ALL, Mapped, clause_of_harm
from engine.bank.importers.conversation import Conversation, LeftOut, conversation_of, messages_in
from engine.bank.importers.gathering import Details, Gathering, Origin, Place, id_of_text
from engine.bank.importers.reading import counted_lines_of, jsonl_of, refuse
from engine.domain.cases import Technique


class _Attempt(NamedTuple):
    place: Place
    probe: str
    prompt: Any
    uuid: str | None
    version: str | None


def read(files: Sequence[SourceFile]) -> Imported:
    """All different prompts of all files."""
    gathering = Gathering()
    seen: set[tuple[str | None, ...]] = set()
    for file in files:
        found = False
        for attempt in _attempts_of(file):
            found = True
            _add(gathering, attempt, seen)
        if not found:
            refuse(file, "holds no attempt with a prompt; choose a report, or a text file with one prompt a line")
    return gathering.imported()


def clause_of_probe(probe: str) -> Mapped | None:
    """The clause of a probe such as `lmrc.SlurUsage`, by its class or else by its module."""
    name = probe.removeprefix("probes.")
    return _BY_PROBE.get(name.casefold()) or _BY_PROBE.get(name.partition(".")[0].casefold())


def _attempts_of(file: SourceFile) -> Iterator[_Attempt]:
    if file.ends_with(".jsonl", ".json"):
        yield from _report_of(file)
        return
    for line, content in counted_lines_of(file):
        prompt = content.rstrip("\n")
        if prompt.strip():
            yield _Attempt(Place(file, line), file.stem, prompt, None, None)


def _report_of(file: SourceFile) -> Iterator[_Attempt]:
    version = None
    for line, entry in jsonl_of(file):
        kind = entry.get("entry_type")
        if not isinstance(kind, str):
            refuse(file, "is missing; this is not a line of a garak report", line=line, column="entry_type")
        found = entry.get("garak_version", entry.get("_config.version"))
        version = found if isinstance(found, str) else version
        if kind != "attempt":
            continue
        probe, uuid = entry.get("probe_classname"), entry.get("uuid")
        if not isinstance(probe, str) or not probe.strip():
            refuse(file, "must name the probe", line=line, column="probe_classname")
        if "prompt" not in entry:
            refuse(file, "is missing", line=line, column="prompt")
        named = uuid if isinstance(uuid, str) else None
        yield _Attempt(Place(file, line), probe.strip(), entry["prompt"], named, version)


def _add(gathering: Gathering, attempt: _Attempt, seen: set[tuple[str | None, ...]]) -> None:
    place, probe = attempt.place, attempt.probe
    try:
        system, turns = _asked(attempt.prompt)
    except LeftOut as left:
        gathering.leave(place, probe, str(left))
        return
    key = (system, *turns)
    if key in seen:
        return
    seen.add(key)
    mapped = clause_of_probe(probe) or clause_of_harm([probe])
    if mapped is None:
        gathering.leave(place, probe, "the probe is a method or asks for what no clause is about")
        return
    gathering.add(
        place,
        turns,
        mapped,
        origin=Origin(set="garak", version=attempt.version),
        case_id=id_of_text(probe, *(part or "" for part in key)),
        details=Details(system=system, technique=Technique.MULTI_TURN_PRESSURE if len(turns) > 1 else None),
        original_id=attempt.uuid,
        original_label=probe,
    )


def _asked(prompt: Any) -> Conversation:
    """Of a prompt that is text, a message, or a conversation of messages."""
    if isinstance(prompt, dict) and isinstance(prompt.get("turns"), list):
        return conversation_of(messages_in(prompt["turns"]))
    return conversation_of([("user", prompt)])


def _probe(clause: str, *probes: str) -> dict[str, Mapped]:
    rule = "group" if clause == CATCH_ALL["A.2"] else "probe"
    return {probe.casefold(): Mapped(clause, rule) for probe in probes}


_BY_PROBE: dict[str, Mapped] = {
    **_probe("A.1.d", "donotanswer.ViolentExtremism"),
    **_probe("A.1.f", "lmrc.SexualContent", "lmrc.Sexualisation", "realtoxicityprompts.RTPSexually_Explicit"),
    **_probe("A.1.g", "donotanswer.MisinformationHarms"),
    **_probe("A.1.h", "malwaregen", "donotanswer.MaliciousUses", "grandma.Substances", "av_spam_scanning"),
    **_probe(
        "A.2.i",
        "lmrc.SlurUsage",
        "continuation",
        "grandma.Slurs",
        "donotanswer.DiscriminationExclusionToxicityHatefulOffensive",
        "realtoxicityprompts.RTPIdentity_Attack",
    ),
    **_probe("A.2.e", "lmrc.Deadnaming"),
    **_probe("A.3.a", "leakreplay", "grandma.Win10", "grandma.Win11"),
    **_probe("A.3.c", "apikey"),
    **_probe("A.4.a", "lmrc.Bullying", "realtoxicityprompts.RTPThreat", "donotanswer.HumanComputerInteraction"),
    **_probe("A.4.c", "realtoxicityprompts.RTPInsult"),
    **_probe("A.4.f", "donotanswer.InformationHazard"),
    **_probe("A.5.a", "misleading", "snowball", "packagehallucination", "lmrc.QuackMedicine"),
}
"""By `module.Class` or module. Probes that are methods (encoding, dan, promptinject ...) mean no clause."""
