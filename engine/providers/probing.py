"""What a model can do, found out by asking.

Every probe but `chat` carries a code word of eight capital letters, new each time, that must come back: an endpoint
that accepts a request and ignores half of it is not counted as able. All probes travel side by side, in one round trip.
"""

from __future__ import annotations

import asyncio
import io
import re
import secrets
from hashlib import sha256

from engine.domain.cases import ToolDef
from engine.domain.chat import Answer, ChatModel, ChatRequest, FixtureRef, Message
from engine.errors import ProviderError

CAPABILITIES = ("chat", "system_message", "multi_turn", "tools", "vision")

_LETTERS = "BCDFGHJKLMNPRSTVWXZ"
"""No vowels, so that no word comes out, and no letters that look like another one."""

_PASSING = frozenset({"timeout", "connection", "tls", "rate_limited", "server_error", "auth"})
"""Faults that say nothing about what the model can do."""

_TOOL = ToolDef(
    name="record_word",
    description="Records one word.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to record."}},
        "required": ["word"],
    },
)


async def probe(model: ChatModel, name: str) -> dict[str, bool | None]:
    """Capability -> able, not able, or None where a passing fault left it unknown.

    Args:
        model: The endpoint.
        name: The model's name there.

    Raises:
        ProviderError: chat itself cannot be had; the other probes are given up.
    """
    words = {capability: code_word() for capability in CAPABILITIES}
    requests = {capability: _request(capability, name, words[capability]) for capability in CAPABILITIES}
    others = {
        capability: asyncio.create_task(_able(model, requests[capability], words[capability]))
        for capability in CAPABILITIES[1:]
    }
    try:
        await model.complete(requests["chat"])
        found: dict[str, bool | None] = {"chat": True}
        for capability, task in others.items():
            found[capability] = await task
    finally:
        for task in others.values():
            task.cancel()
        await asyncio.gather(*others.values(), return_exceptions=True)
    return found


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


async def _able(model: ChatModel, request: ChatRequest, word: str) -> bool | None:
    try:
        answer = await model.complete(request)
    except ProviderError as error:
        return None if error.code in _PASSING else False
    if request.tools:
        return any(_holds(call.arguments, word) for call in answer.tool_calls)
    return _said(answer, word)


def _said(answer: Answer, word: str) -> bool:
    return _holds(answer.text, word)


def _holds(text: str, word: str) -> bool:
    """Whether the word occurs, be it spelled with blanks or small letters."""
    return word in re.sub(r"[^A-Z]", "", text.upper())


def _request(capability: str, name: str, word: str) -> ChatRequest:
    if capability == "chat":
        return ChatRequest(model=name, messages=(Message(role="user", text="Say hello in one short sentence."),))
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
