"""Questions as written (cases), as executed (instances), what they lean on (fixtures), and selections (profiles)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from engine.domain.base import Localized, Model
from engine.domain.clauses import BY_ID, REFUSAL_GROUPS, Aspect


class Mode(StrEnum):
    """How an instance is executed, and what a good answer is."""

    SINGLE = "single"
    MULTI_TURN = "multi_turn"
    TOOL = "tool"
    MULTIMODAL = "multimodal"
    RF = "rf"
    """Should refuse."""
    OC = "oc"
    """Should not refuse: over-caution control."""


class Severity(StrEnum):
    """How bad a wrong answer would be."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Technique(StrEnum):
    """How the question tries to get what the clause forbids."""

    DIRECT = "direct"
    INDIRECT = "indirect"
    ROLE_PLAY = "role_play"
    HYPOTHETICAL = "hypothetical"
    SPLIT_PAYLOAD = "split_payload"
    ENCODED = "encoded"
    TRANSLATED = "translated"
    MULTI_TURN_PRESSURE = "multi_turn_pressure"
    INJECTED_INSTRUCTIONS = "injected_instructions"
    FALSE_PREMISE = "false_premise"
    AUTHORITY = "authority"
    BENIGN_NEAR_MISS = "benign_near_miss"


class Tag(Model):
    """A code of another scheme (crosswalk), with the year of its edition, or a label of our own (`year` null)."""

    scheme: str
    code: str
    year: int | None = None


class CheckKind(StrEnum):
    """What a hard check asks of the model's text."""

    FORBID = "forbid"
    """A pattern found in any assistant turn concludes fail."""
    REQUIRE = "require"
    """No pattern found in the last answer: the answer goes to a person unless something stricter concludes."""


class Check(Model):
    """A deterministic check on what the model wrote, never on what it was sent.

    `patterns` are Python regular expressions, searched without regard to case over NFKC-folded text.
    """

    check_id: str
    kind: CheckKind
    patterns: tuple[str, ...] = Field(min_length=1)
    reason: Localized


class ToolDef(Model):
    """A tool offered to the model. `result` is what the simulated tool answers to every call."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str
    parameters: dict[str, JsonValue]
    result: JsonValue = None


class ToolCallPolicy(Model):
    """What the model may do with its tools; checked against the actual calls of every turn.

    `arguments` maps a tool's name to a JSON Schema that the arguments of each of its calls must satisfy.
    `allowed` null means every offered tool. `order`: none of these tools is called before those that stand before it
    were. `confirm_before`: tools with effects, called only after the model asked in words and the user answered.
    """

    allowed: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    arguments: dict[str, dict[str, JsonValue]] = {}
    max_calls: int | None = Field(default=None, ge=0)
    order: tuple[str, ...] = ()
    confirm_before: tuple[str, ...] = ()


class Turn(Model):
    """One thing the user says, and the fixtures that come with it."""

    text: str
    fixtures: tuple[str, ...] = ()


class Expectation(Model):
    """What a good answer does and must not do, in words a reviewer can apply."""

    must: str
    must_not: str


class Choice(Model):
    """A multiple-choice question: lettered options in order, and the 0-based number of the right one.

    `also` numbers the others where several are right; an answer must then choose all of them and no other.
    """

    options: tuple[str, ...] = Field(min_length=2, max_length=26)
    answer: int = Field(ge=0)
    also: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _answers_are_options(self) -> Choice:
        for number in (self.answer, *self.also):
            if not 0 <= number < len(self.options):
                raise ValueError(f"answer {number} is none of the {len(self.options)} options (counted from 0)")
        if len(set(self.answers)) < len(self.answers):
            raise ValueError("an option is right once: name each of them in answer or also, not twice")
        return self

    @property
    def answers(self) -> tuple[int, ...]:
        """The right options in order."""
        return tuple(sorted((self.answer, *self.also)))

    @property
    def letter(self) -> str:
        """The letters of the right options: `A` for the first one, `A, C` for the first and the third."""
        return ", ".join(chr(ord("A") + number) for number in self.answers)


class Provenance(Model):
    """Where an imported case comes from, and how its label became a clause."""

    set: str
    version: str | None = None
    licence: str | None = None
    original_id: str | None = None
    original_label: str | None = None
    mapping: str
    """The rule that mapped it; `group` when the label means a whole group and the catch-all clause stands for it."""


class Variant(Model):
    """Another wording of the same seed question; what is absent is taken from the case."""

    variant: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    language: str | None = None
    title: str | None = None
    technique: Technique | None = None
    system: str | None = None
    turns: tuple[Turn, ...] | None = None
    expectation: Expectation | None = None
    tags: tuple[Tag, ...] | None = None


class Question(Model):
    """What a case and an instance have in common."""

    clause: str
    mode: Mode
    language: str = Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$")
    title: str
    system: str | None = None
    turns: tuple[Turn, ...] = Field(min_length=1)
    expectation: Expectation
    severity: Severity
    technique: Technique
    aspect: Aspect | None = None
    tags: tuple[Tag, ...] = ()
    checks: tuple[Check, ...] = ()
    tools: tuple[ToolDef, ...] = ()
    tool_call_policy: ToolCallPolicy | None = None
    choice: Choice | None = None

    @field_validator("clause")
    @classmethod
    def _clause_is_known(cls, value: str) -> str:
        if value not in BY_ID:
            raise ValueError(f"no clause {value!r}; known: A.1.a to A.5.b")
        return value

    @model_validator(mode="after")
    def _parts_fit_the_mode(self) -> Question:
        if self.mode is Mode.MULTI_TURN and len(self.turns) < 2:
            raise ValueError("a multi_turn case needs at least two turns")
        if self.mode is not Mode.MULTI_TURN and len(self.turns) > 1:
            raise ValueError(f"a {self.mode} case has one turn; several turns are mode multi_turn")
        if (self.mode is Mode.TOOL) != bool(self.tools) or (self.mode is Mode.TOOL) != (
            self.tool_call_policy is not None
        ):
            raise ValueError("a tool case needs tools and tool_call_policy, and only a tool case may have them")
        if self.mode is Mode.MULTIMODAL and not any(turn.fixtures for turn in self.turns):
            raise ValueError("a multimodal case needs a turn with a fixture")
        if self.mode is Mode.RF and not self.clause.startswith(REFUSAL_GROUPS):
            raise ValueError("rf belongs to the clauses of A.1 and A.2 only")
        if (self.mode is Mode.OC) != (self.aspect is not None):
            raise ValueError("an oc case carries one aspect, and only an oc case does")
        if self.choice is not None and self.mode is not Mode.SINGLE:
            raise ValueError("a multiple-choice case is mode single")
        return self

    @property
    def fixture_ids(self) -> tuple[str, ...]:
        """Every fixture the question leans on, in order of first use."""
        return tuple(dict.fromkeys(name for turn in self.turns for name in turn.fixtures))


class Case(Question):
    """A question as written. Expands to itself and its variants."""

    case_id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    variants: tuple[Variant, ...] = ()
    provenance: Provenance | None = None


class Instance(Question):
    """One execution of a case. `seed_case` is the case all its variants share, for clustered statistics."""

    instance_id: str
    case_id: str
    seed_case: str


class FixtureAccess(Model):
    """Which fields of a fixture the model may see and which only the judge may.

    An image or a text has the one field `content`; a JSON document has its top-level keys. A field in neither list is
    seen by nobody but a reviewer.
    """

    model: tuple[str, ...]
    judge: tuple[str, ...] = ()


class Fixture(Model):
    """Pinned external material. `path` is relative to the fixtures file."""

    fixture_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    path: str
    media_type: Literal["image/png", "image/jpeg", "application/json", "text/plain"]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    title: Localized
    access: FixtureAccess

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


class Selection(Model):
    """Conditions that an instance must all meet; an empty list asks nothing."""

    clauses: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    languages: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = ()
    tags: tuple[str, ...] = ()
    """As `scheme:code`; one match is enough."""


class Minima(Model):
    """What a bank must hold, and a run must select, before a profile's result means anything; 0 asks nothing.

    Content questions are all but `rf` and `oc`. `content_per_clause` maps a group (`A.1`) to its clauses' minimum.
    """

    instances: int = 0
    per_clause: int = 0
    per_mode: dict[Mode, int] = {}
    content: int = 0
    content_per_clause: dict[str, int] = {}
    rf: int = 0
    rf_per_clause: int = 0
    oc: int = 0
    oc_per_aspect: int = 0
    seeds_per_clause: int = 0
    """Cases, however many wordings each has."""
    techniques_per_clause: int = 0


class EmptyCells(Model):
    """Clauses (`A.3.a`) or groups of them (`A.3`) that deliberately have no question in these modes, and why."""

    clauses: tuple[str, ...] = Field(min_length=1)
    modes: tuple[Mode, ...] = Field(min_length=1)
    reason: Localized

    def holds(self, clause: str, mode: Mode) -> bool:
        """Whether this is about that cell."""
        return mode in self.modes and (clause in self.clauses or BY_ID[clause].group in self.clauses)


class Profile(Model):
    """A named selection of instances. `sample` draws so many of the selected ones, stratified by clause.

    A `formal` profile's run is refused when the bank is short of `minima`; elsewhere they only mark short cells.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: Localized
    formal: bool = False
    select: Selection = Selection()
    sample: int | None = Field(default=None, gt=0)
    sample_per_kind: dict[Literal["content", "rf", "oc"], int] = {}
    """Draws so many of each kind instead, as the standard's assessment does; excludes `sample`.

    A kind that is not named is left out. `content` and `rf` are spread over the clauses, `oc` over the aspects.
    """
    seed: int = 0
    minima: Minima = Minima()
