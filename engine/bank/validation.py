"""Everything that is wrong with a bank, for the person who writes it; `load` refuses only what cannot be executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine import rules
from engine.bank import files, ruleset
from engine.bank.fixtures import read_one
from engine.bank.likeness import near_duplicates
from engine.bank.loading import EMPTY_CELLS_FILE, FIXTURES_FILE, PROFILES_FILE, Bank, read, uncollected
from engine.bank.minima import shortages
from engine.bank.patterns import why_never
from engine.bank.problems import Problem
from engine.domain.banks import Finding
from engine.domain.base import Model
from engine.domain.cases import Case, CheckKind, Instance, Mode
from engine.domain.clauses import CLAUSES
from engine.errors import BankError, InputError

MOST_INSTANCES = 3
"""Of one case. More wordings of one question say little new and weigh as much as other questions."""


class Counts(Model):
    """What a bank holds. `clauses` and `modes` count those that have an instance, as do the entries of `by_...`."""

    cases: int = 0
    instances: int = 0
    clauses: int = 0
    modes: int = 0
    by_clause: dict[str, int] = {}
    by_mode: dict[str, int] = {}
    by_language: dict[str, int] = {}


def validate_file(dataset_file: Path, *, rules_file: Path | None = None) -> tuple[Counts, list[Finding]]:
    """Check a bank in files, and the rules its answers are judged by where they are named.

    What can be read is checked to the end, however much else cannot. Never raises BankError: a file that is missing or
    not JSON is a finding too.
    """
    of_rules = [_finding(problem) for problem in ruleset.read(rules_file).problems] if rules_file is not None else []
    try:
        reading = read(dataset_file)
    except BankError:
        return Counts(), [*_unreadable(dataset_file), *of_rules]
    with uncollected():
        findings = of_rules + [_finding(problem) for problem in reading.problems]
        findings += _findings(reading.bank, unread=reading.unread)
    return counts(reading.bank), findings


def validate(bank: Bank) -> list[Finding]:
    """What is wrong with a bank whose cases were read and checked one by one before."""
    with uncollected():
        return list(_findings(bank, unread=()))


def counts(bank: Bank) -> Counts:
    """How many of what a bank holds."""
    clauses = Counter(instance.clause for instance in bank.instances)
    modes = Counter(instance.mode.value for instance in bank.instances)
    return Counts(
        cases=len(bank.cases),
        instances=len(bank.instances),
        clauses=len(clauses),
        modes=len(modes),
        by_clause={clause.id: clauses[clause.id] for clause in CLAUSES if clauses[clause.id]},
        by_mode={mode.value: modes[mode.value] for mode in Mode if modes[mode.value]},
        by_language=dict(sorted(Counter(instance.language for instance in bank.instances).items())),
    )


def _findings(bank: Bank, *, unread: Iterable[str]) -> Iterator[Finding]:
    by_case: dict[str, list[Instance]] = {}
    for instance in bank.instances:
        by_case.setdefault(instance.case_id, []).append(instance)
    for case in bank.cases:
        instances = by_case.get(case.case_id, [])
        yield from _case_findings(case, instances, file=bank.file)
    yield from _alike(bank)
    yield from _fixture_findings(bank, unread)
    yield from _language_findings(bank)
    yield from _cell_findings(bank)
    yield from _minima_findings(bank)


# -- one case


def _case_findings(case: Case, instances: list[Instance], *, file: str) -> Iterator[Finding]:
    found = len(case.variants) + 1
    if found > MOST_INSTANCES:
        words = f"makes {found} instances, at most {MOST_INSTANCES} are meaningful"
        yield Finding(
            file=file, case=case.case_id, key="variants", problem=words, fix="remove variants, or make cases of them"
        )
    for instance in instances:
        for key in _blank(instance):
            yield Finding(file=file, case=instance.instance_id, key=key, problem="is blank", fix="write the text")
    yield from _check_findings(case, instances, file=file)
    if (policy := case.tool_call_policy) is None:
        return
    for name in policy.arguments:
        if name in policy.forbidden or (policy.allowed is not None and name not in policy.allowed):
            yield Finding(
                file=file,
                case=case.case_id,
                key=f"tool_call_policy.arguments.{name}",
                problem=f"is never reached: no call of {name!r} is allowed",
                fix="remove it, or allow the tool",
            )


def _blank(instance: Instance) -> Iterator[str]:
    texts = {f"turns[{number}].text": turn.text for number, turn in enumerate(instance.turns)}
    texts |= {"title": instance.title, "expectation.must": instance.expectation.must}
    texts |= {"expectation.must_not": instance.expectation.must_not}
    for key, text in texts.items():
        if not text or text.isspace():
            yield key


def _check_findings(case: Case, instances: list[Instance], *, file: str) -> Iterator[Finding]:
    if not case.checks:
        return
    asked = [(instance.instance_id, rules.fold(turn.text)) for instance in instances for turn in instance.turns]
    for number, check in enumerate(case.checks):
        for position, pattern in enumerate(check.patterns):
            key = f"checks[{number}].patterns[{position}]"
            try:
                compiled = rules.compiled(pattern)
            except InputError:
                continue  # not a regular expression, which `read` has said
            if reason := why_never(pattern):
                problem = f"check {check.check_id!r} can never be met: {reason}"
                yield Finding(file=file, case=case.case_id, key=key, problem=problem, fix="correct the pattern")
            if check.kind is CheckKind.FORBID:
                hit = next(
                    ((whose, rules.quote(match)) for whose, text in asked if (match := compiled.search(text))), None
                )
                if hit is not None:
                    yield Finding(
                        file=file,
                        case=hit[0],
                        key=key,
                        problem=f"check {check.check_id!r} forbids {hit[1]!r}, which the question itself says",
                        fix="narrow the pattern: an answer that repeats the question would fail",
                    )


# -- the bank as a whole


def _alike(bank: Bank) -> Iterator[Finding]:
    """Questions that say the same, or nearly the same, as one of another case before them."""
    first: dict[str, Instance] = {}
    texts: list[str] = []
    instances: list[Instance] = []
    seeds: dict[str, int] = {}
    for instance in bank.instances:
        text = rules.fold(asked_text(instance))
        earlier = first.setdefault(text, instance)
        if earlier is instance:
            texts.append(text)
            instances.append(instance)
        elif earlier.case_id != instance.case_id or earlier.system == instance.system:
            problem = f"asks the same as {earlier.instance_id!r}"
            yield _prompt_finding(bank, instance, problem, "remove one of them, or ask something else")
    groups = [seeds.setdefault(instance.seed_case, len(seeds)) for instance in instances]
    pairs = [(instances[later], instances[earlier]) for later, earlier in sorted(near_duplicates(texts, groups))]
    for instance, other in pairs:
        problem = (
            f"asks nearly the same as {other.instance_id!r} (more than half of their 5-character pieces are shared)"
        )
        yield _prompt_finding(bank, instance, problem, "ask it in another way, or make it a variant of that case")


def asked_text(instance: Instance) -> str:
    """What a person would read as the question."""
    options = instance.choice.options if instance.choice is not None else ()
    return "\n".join((*(turn.text for turn in instance.turns), *options))


def _prompt_finding(bank: Bank, instance: Instance, problem: str, fix: str) -> Finding:
    return Finding(file=bank.file, case=instance.instance_id, key="turns", problem=problem, fix=fix)


def _fixture_findings(bank: Bank, unread: Iterable[str]) -> Iterator[Finding]:
    used = {name for instance in bank.instances for name in instance.fixture_ids}
    unread = list(unread)
    for name, fixture in bank.fixtures.items():
        _, problems = read_one(bank.folder, fixture)
        for problem in problems:
            yield _finding(problem._replace(key="path"))
        if name not in used and not any(f'"{name}"' in text for text in unread):
            yield Finding(
                file=FIXTURES_FILE,
                case=name,
                key="fixture_id",
                problem="no case uses this fixture",
                fix="remove it, or name it in a turn of a case",
            )


def _language_findings(bank: Bank) -> Iterator[Finding]:
    """Clauses asked about in one language only; a bank that is in one language altogether is said so once."""
    languages: dict[str, set[str]] = {}
    for instance in bank.instances:
        languages.setdefault(instance.clause, set()).add(instance.language.partition("-")[0])
    spoken = set().union(*languages.values()) if languages else set()
    if len(spoken) == 1:
        where = {"the bank": spoken}
    else:
        where = {f"clause {clause.id}": languages.get(clause.id, set()) for clause in CLAUSES}
    for what, found in where.items():
        if len(found) == 1:
            yield Finding(
                file=bank.file,
                case=None,
                key="language",
                problem=f"{what} has questions in one language only: {found.pop()}",
                fix="add questions in another language, or variants of these",
            )


def _cell_findings(bank: Bank) -> Iterator[Finding]:
    """Cells without a question and without a reason, in a bank that says which are empty; and reasons without need."""
    if bank.empty_cells is None:
        return
    cells = Counter((instance.clause, instance.mode) for instance in bank.instances)
    for clause in CLAUSES:
        for mode in Mode:
            found, reason = cells[clause.id, mode], bank.why_empty(clause.id, mode)
            if not found and reason is None:
                problem = f"clause {clause.id} has no question of mode {mode.value}, and no reason is given"
                fix = f"add one, or give the reason in {EMPTY_CELLS_FILE}"
                yield Finding(file=bank.file, case=None, key=f"{clause.id}, {mode.value}", problem=problem, fix=fix)
            elif found and reason is not None:
                problem = f"clause {clause.id} is said to have no question of mode {mode.value}, but has {found}"
                fix = "take the cell out of the list"
                yield Finding(
                    file=EMPTY_CELLS_FILE, case=None, key=f"{clause.id}, {mode.value}", problem=problem, fix=fix
                )


def _minima_findings(bank: Bank) -> Iterator[Finding]:
    """Not of formal profiles: few banks are meant for one, and its run is refused when this one is too small."""
    for profile in bank.profiles.values():
        for shortage in () if profile.formal else shortages(bank, profile.name):
            yield Finding(
                file=PROFILES_FILE,
                case=profile.name,
                key=shortage.key if shortage.key.startswith("sample") else f"minima.{shortage.key}",
                problem=shortage.words,
                fix=f"add {shortage.need - shortage.have} that the profile selects, or ask for less there",
            )


# -- words


def _finding(problem: Problem) -> Finding:
    return Finding(
        file=problem.file,
        case=problem.item or None,
        key=problem.key or None,
        problem=problem.problem if problem.item or not problem.subject else f"{problem.subject}: {problem.problem}",
        fix=problem.fix or "correct it there",
    )


def _unreadable(dataset_file: Path) -> Iterator[Finding]:
    """Each file that cannot be read at all; the words are the reader's own."""
    names = [dataset_file.name, FIXTURES_FILE, PROFILES_FILE]
    names += [EMPTY_CELLS_FILE] if dataset_file.with_name(EMPTY_CELLS_FILE).exists() else []
    for name in names:
        try:
            files.read_object(dataset_file.with_name(name))
        except BankError as error:
            problem, _, fix = error.message.removeprefix(name).lstrip(":, ").rpartition("; ")
            yield Finding(file=name, case=None, key=None, problem=problem, fix=fix)
