"""What goes to a model and what comes back, in our own words; providers translate to and from the wire."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import Field

from engine.domain.base import Model, Timestamp
from engine.domain.cases import ToolDef


class FixtureRef(Model):
    """A fixture by name and hash; its bytes travel beside the request, never inside a stored message."""

    fixture_id: str
    sha256: str
    media_type: str


class ToolCall(Model):
    """A call the model asked for. `arguments` is the text exactly as the model emitted it, valid JSON or not."""

    id: str
    name: str
    arguments: str


class Message(Model):
    """One message of a conversation, either way."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    fixtures: tuple[FixtureRef, ...] = ()


class Dialect(Model):
    """How an endpoint wants to be spoken to: as probing found out, and as it refuses more while it is asked.

    Kept with the run, so that every call is alike.
    """

    left_out: tuple[str, ...] = ()
    """Parameters the endpoint refuses, so they are not sent, such as `temperature`."""
    renamed: dict[str, str] = {}
    """Parameters and roles under the name it accepts, such as `max_tokens`: `max_completion_tokens`."""


class Pace(Model):
    """How fast an endpoint lets itself be asked right now."""

    limit: int
    """Calls allowed at once: at most the configured concurrency, fewer after it said that it is asked too fast."""
    in_flight: int
    paused_until: Timestamp | None
    """No call starts before this moment: the endpoint asked for a pause."""
    failures: int = 0
    """Calls in a row, whoever made them, that brought no answer; 0 after one that did."""


class ChatRequest(Model):
    """One call. `images` maps the SHA-256 of each image in `messages` to its bytes."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDef, ...] = ()
    images: dict[str, bytes] = Field(default={}, repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    json_object: bool = False
    """Ask for an answer that is one JSON object."""
    dialect: Dialect = Dialect()
    stream: bool | None = None
    """Piece by piece or whole; None leaves it to the endpoint's settings."""
    plain: bool = False
    """Without what the endpoint's settings add to every request."""


class FinishReason(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    UNKNOWN = "unknown"


class RefusalType(StrEnum):
    """Who refused. Absent (null) means nobody was seen to refuse."""

    MODEL = "model"
    PROVIDER_FILTER = "provider_filter"
    GUARDRAIL = "guardrail"
    """A gateway's guardrail, before or behind the model."""


class Usage(Model):
    """Tokens as the provider counted them; absent counts are unknown, never 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Answer(Model):
    """A whole answer. Reasoning that the provider sends apart, or in think tags, is kept apart."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason
    refusal_type: RefusalType | None = None
    reasoning: str = ""
    usage: Usage | None = None
    served_model: str | None = None
    tries: int = 1
    """HTTP calls made for it, retries included."""
    took_s: float | None = None
    """How long the call that brought it took: no earlier try, no pause and no queue. None where nobody measured."""
    streamed: bool = False
    """Whether it came piece by piece."""


class ChatModel(Protocol):
    """Anything that answers a chat request."""

    async def complete(self, request: ChatRequest) -> Answer:
        """One whole answer.

        Raises:
            ProviderError: named by its code, after the retries that could help.
        """
        ...

    async def models(self) -> list[str]:
        """Names of the models the endpoint offers. Raises ProviderError."""
        ...

    def pace(self) -> Pace:
        """How fast it lets itself be asked right now. May be read from any thread."""
        ...

    async def close(self) -> None:
        """Free connections."""
        ...


class Connection(ChatModel, Protocol):
    """A ChatModel with a line of its own to its endpoint."""

    async def complete_once(self, request: ChatRequest) -> Answer:
        """The same as `complete` without retries, for questions whose point is how the endpoint fares now."""
        ...


class Probed(NamedTuple):
    """What asking an endpoint found out."""

    capabilities: dict[str, bool | None]
    """Able, not able, or None where a passing fault left it unknown."""
    dialect: Dialect
    warnings: tuple[str, ...]
    """What a reader of the run should know: what is not sent, or sent otherwise."""


JsonObject = dict[str, Any]
