"""What a model can do, and how its endpoint wants to be spoken to, found out by asking.

Every probe but `chat` carries a code word of eight capital letters, new each time, that must come back: an endpoint
that accepts a request and ignores half of it is not counted as able. All probes travel side by side. Where the endpoint
refuses a parameter or role by name, the probes that it refused are asked once more without it: two round trips at most.
What is refused after that, the run meets and learns.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from hashlib import sha256

from engine.domain.cases import ToolDef
from engine.domain.chat import Answer, ChatModel, ChatRequest, Dialect, FixtureRef, Message, Probed
from engine.errors import ProviderError
from engine.providers.dialects import told, without
from engine.providers.wire import SYSTEM

CAPABILITIES = ("chat", "system_message", "multi_turn", "tools", "vision", "json", "streaming")

_LETTERS = "BCDFGHJKLMNPRSTVWXZ"
"""No vowels, so that no word comes out, and no letters that look like another one."""

_PASSING = frozenset({"timeout", "connection", "tls", "rate_limited", "server_error", "auth"})
"""Faults that say nothing about what the model can do."""

_JSON_PARAMETERS = ("response_format", "format")
"""What only the probe for JSON sends; without it, JSON is asked for in words alone."""

_GREETING = re.compile(
    r"\b(hello|hi|hey|greetings|welcome|good (morning|day|afternoon|evening))\b|[你您]好|嗨", re.IGNORECASE
)

_TOOL = ToolDef(
    name="record_word",
    description="Records one word.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to record."}},
        "required": ["word"],
    },
)

Heard = dict[str, Answer | ProviderError]


async def probe(model: ChatModel, name: str) -> Probed:
    """Capabilities, the dialect to speak from now on, and what a reader of the run should know.

    Args:
        model: The endpoint.
        name: The model's name there.

    Raises:
        ProviderError: chat itself cannot be had; the other probes are given up.
    """
    words = {capability: code_word() for capability in CAPABILITIES}
    requests = {capability: _request(capability, name, words[capability]) for capability in CAPABILITIES}
    heard = await _ask(model, requests)
    dialect = Dialect()
    again = [capability for capability in CAPABILITIES if _worth_asking_again(capability, heard)]
    if again:
        dialect = without(dialect, _refusals(heard, again))
        repeated = {capability: _spoken(requests[capability], dialect) for capability in again}
        if "chat" in again:
            repeated |= {f"bare {capability}": _bare(requests[capability], dialect) for capability in again}
        second = await _ask(model, repeated)
        refused_again = [name for name in again if "chat" in again and _worth_asking_again(name, second)]
        dialect = without(dialect, _refusals(second, refused_again))
        heard |= {name: second[f"bare {name}" if name in refused_again else name] for name in again}
    chat = heard["chat"]
    if isinstance(chat, ProviderError):
        before, dialect = dialect, without(dialect, _refusals(heard, ["chat"]))
        if dialect == before:
            raise chat
        # It minds how it is asked, not what; the run goes on finding out how.
        unknown: dict[str, bool | None] = dict.fromkeys(CAPABILITIES)
        return Probed(unknown, dialect, _warnings(unknown, dialect, None))
    if not chat.text.strip():
        raise ProviderError(
            "the model answered a greeting with nothing",
            code="empty_answer",
            retryable=False,
            hint="Ask the model directly; it may not be a chat model.",
        )
    found = {capability: _able(capability, heard[capability], words[capability]) for capability in CAPABILITIES}
    return Probed(found, dialect, _warnings(found, dialect, chat))


def served_model_note(configured: str, served: str | None) -> str | None:
    """What to tell when an endpoint answers under another name than the one asked for; None where it does not."""
    if served is None:
        return None
    asked, came = (name.strip().casefold().removesuffix(":latest") for name in (configured, served))
    if not came or asked == came or asked.endswith(f"/{came}") or came.endswith(f"/{asked}"):
        return None
    return f"asked for {configured!r}, the endpoint answered as {served!r}"


def code_word() -> str:
    """Eight random capital letters."""
    return "".join(secrets.choice(_LETTERS) for _ in range(8))


def picture_of(word: str) -> bytes:
    """A PNG that shows a word, each letter in a cell of its own."""
    from PIL import Image, ImageDraw, ImageFont  # slow to import, and only probing draws

    cell, margin = 48, 24
    image = Image.new("L", (2 * margin + cell * len(word), 2 * margin + cell), 255)
    font = ImageFont.load_default(size=44)
    draw = ImageDraw.Draw(image)
    for index, letter in enumerate(word):
        draw.text((margin + index * cell + cell // 2, margin + cell // 2), letter, fill=0, font=font, anchor="mm")
    png = io.BytesIO()
    image.save(png, format="PNG")
    return png.getvalue()


# -- asking -------------------------------------------------------------------------------------------------------


async def _ask(model: ChatModel, requests: Mapping[str, ChatRequest]) -> Heard:
    """All of them side by side. A chat that fails for good ends the others: there is nothing to find out then."""
    tasks = {name: asyncio.create_task(_heard(model, request)) for name, request in requests.items()}
    try:
        if "chat" in tasks:
            chat = await tasks["chat"]
            if isinstance(chat, ProviderError) and chat.refused is None:
                raise chat
        return {name: await task for name, task in tasks.items()}
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _heard(model: ChatModel, request: ChatRequest) -> Answer | ProviderError:
    try:
        return await model.complete(request)
    except ProviderError as error:
        return error


# -- refusals -----------------------------------------------------------------------------------------------------


def _worth_asking_again(capability: str, heard: Heard) -> bool:
    """Whether it was refused for a parameter or role that it can do without.

    What every question carries is refused in `chat` as well. Anything else that a probe is refused for is about what it
    alone sends; the words of such an error must not change how all the others are asked.
    """
    refused = _refused(heard, capability)
    if refused is None:
        return False
    if capability == "json" and refused in _JSON_PARAMETERS:
        return True
    return refused == _refused(heard, "chat") or (capability == "system_message" and refused == SYSTEM)


def _refusals(heard: Heard, capabilities: Iterable[str]) -> list[str]:
    """What was refused there and is to be minded from now on, in the order of asking, each once."""
    refused = (_refused(heard, capability) for capability in capabilities)
    return list(dict.fromkeys(name for name in refused if name is not None and name not in _JSON_PARAMETERS))


def _refused(heard: Heard, capability: str) -> str | None:
    error = heard.get(capability)
    return error.refused if isinstance(error, ProviderError) else None


def _spoken(request: ChatRequest, dialect: Dialect) -> ChatRequest:
    """The same question the second time: in this dialect, and JSON asked for in words alone."""
    return request.model_copy(update={"dialect": dialect, "json_object": False})


def _bare(request: ChatRequest, dialect: Dialect) -> ChatRequest:
    """The same with nothing that the endpoint could refuse and the question does without.

    Endpoints name one refused parameter at a time; whether the model is able shows without any of them.
    """
    return _spoken(request, without(dialect, [SYSTEM])).model_copy(update={"plain": True})


# -- finding ------------------------------------------------------------------------------------------------------


def _able(capability: str, heard: Answer | ProviderError, word: str) -> bool | None:
    if isinstance(heard, ProviderError):
        return None if heard.code in _PASSING else False
    if capability == "chat":
        return True
    if capability == "tools":
        return any(_holds(call.arguments, word) for call in heard.tool_calls)
    if capability == "json":
        return _holds_as_json(heard.text, word)
    if capability == "streaming" and not heard.streamed:
        return False
    return _holds(heard.text, word)


def _holds(text: str, word: str) -> bool:
    """Whether the word occurs, be it spelled with blanks or small letters."""
    return word in re.sub(r"[^A-Z]", "", text.upper())


def _holds_as_json(text: str, word: str) -> bool:
    """Whether the text is one JSON object and nothing else, with the word in it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and _holds(json.dumps(list(found.values())), word)


def _warnings(found: Mapping[str, bool | None], dialect: Dialect, chat: Answer | None) -> tuple[str, ...]:
    sentences = list(told(dialect))
    if chat is not None and not _GREETING.search(chat.text):
        sentences.append("asked to say hello, the model said something else; it may not be a chat model")
    unknown = [name for name, able in found.items() if able is None]
    if unknown:
        sentences.append(
            f"it could not be found out whether the model can do {', '.join(unknown)}; it is asked all the same"
        )
    return tuple(sentences)


# -- the questions ------------------------------------------------------------------------------------------------


def _request(capability: str, name: str, word: str) -> ChatRequest:
    if capability == "chat":
        return ChatRequest(model=name, messages=(Message(role="user", text="Say hello in one short sentence."),))
    if capability == "json":
        text = f'Reply with a JSON object and nothing else: one key "word" whose value is the word {word}.'
        return ChatRequest(model=name, messages=(Message(role="user", text=text),), json_object=True)
    if capability == "streaming":
        text = f"Reply with this word only: {word}"
        return ChatRequest(model=name, messages=(Message(role="user", text=text),), stream=True)
    if capability == "system_message":
        return ChatRequest(
            model=name,
            messages=(
                Message(role="system", text=f"You are a friendly assistant. End every reply with the word {word}."),
                Message(role="user", text="Say hello."),
            ),
        )
    if capability == "multi_turn":
        return ChatRequest(
            model=name,
            messages=(
                Message(role="user", text=f"Please remember this word: {word}"),
                Message(role="assistant", text="I will remember it."),
                Message(role="user", text="Which word did I ask you to remember? Reply with that word only."),
            ),
        )
    if capability == "tools":
        text = f"Call the tool {_TOOL.name} with the word {word}."
        return ChatRequest(model=name, messages=(Message(role="user", text=text),), tools=(_TOOL,))
    picture = picture_of(word)
    digest = sha256(picture).hexdigest()
    shown = FixtureRef(fixture_id="probe", sha256=digest, media_type="image/png")
    text = "Which word is in the picture? Reply with that word only."
    return ChatRequest(
        model=name, messages=(Message(role="user", text=text, fixtures=(shown,)),), images={digest: picture}
    )
