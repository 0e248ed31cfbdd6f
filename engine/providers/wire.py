"""What every kind of endpoint does the same way on the wire: keys and headers, JSON in and out, texts kept apart."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import SecretStr

from engine.domain.chat import Dialect, FinishReason, FixtureRef, Message, ToolCall
from engine.errors import InputError, ProviderError
from engine.providers import faults

SYSTEM = "system"
"""In a dialect's `left_out`: the endpoint takes no system text of its own."""

STREAM = "stream"
"""In a dialect's `left_out`: the endpoint sends whole answers only."""

_FORBIDDEN_HEADERS = frozenset(
    {
        "host",
        "content-length",
        "content-type",
        "transfer-encoding",
        "connection",
        "accept-encoding",
        "expect",
        "upgrade",
    }
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_THINK_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THINK_BLOCK = re.compile(r"(?:\A|(?<=\n))[ \t]*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.IGNORECASE | re.DOTALL)
_THINK_CLOSE = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)
_LARGEST_COUNT = 2**53


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """A request's body on the wire."""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair in a question; escaped, it still travels as it is
        return json.dumps(body).encode()


def picture(fixture: FixtureRef, images: Mapping[str, bytes]) -> str:
    """The bytes of an image as base64. Raises InputError where the request does not hold them."""
    if fixture.sha256 not in images:
        raise InputError(f"the bytes of image {fixture.fixture_id} are missing", code="missing_image")
    return base64.b64encode(images[fixture.sha256]).decode("ascii")


def spoken(body: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The body without the parameters the endpoint refuses, and with the names it accepts."""
    if not dialect.left_out and not dialect.renamed:
        return body
    return {dialect.renamed.get(name, name): value for name, value in body.items() if name not in dialect.left_out}


def folded(messages: tuple[Message, ...], dialect: Dialect) -> tuple[Message, ...]:
    """The messages; where the endpoint refuses system text, it stands before the first message of the user."""
    if SYSTEM not in dialect.left_out:
        return messages
    system = "\n\n".join(message.text for message in messages if message.role == SYSTEM)
    rest = [message for message in messages if message.role != SYSTEM]
    first = next((index for index, message in enumerate(rest) if message.role == "user"), None)
    if not system:
        return tuple(rest)
    if first is None:
        return (Message(role="user", text=system), *rest)
    text = f"{system}\n\n{rest[first].text}" if rest[first].text else system
    rest[first] = rest[first].model_copy(update={"text": text})
    return tuple(rest)


def read_json(body: bytes, *, where: str) -> dict[str, Any]:
    """A body that must be one JSON object. Raises ProviderError `malformed_body` that says what it is instead."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        start = body.lstrip()[:1]
        if not start:
            raise faults.malformed("an empty body", where=where) from None
        if start == b"<":
            raise faults.malformed(faults.provider_words(body)[0], where=where) from None
        if start in b"{[":
            raise faults.malformed("JSON that breaks off or cannot be read", where=where) from None
        raise faults.malformed("something that is not JSON", where=where) from None
    if not isinstance(content, dict):
        raise faults.malformed("JSON that is not an object", where=where)
    return content


def error_in_200(content: dict[str, Any], *, where: str, secrets: faults.Secrets) -> ProviderError:
    """Some gateways report a failure below them with status 200 and the real status inside, as a number or a word."""
    error = content["error"]
    inner = error.get("code") if isinstance(error, dict) else None
    status = int(inner) if isinstance(inner, int | str) and re.fullmatch(r"[45]\d\d", str(inner)) else None
    said, word = faults.words_of(content)
    status = status or faults.STATUS_OF_WORD.get(word.lower())
    if status is not None:
        return faults.from_status(status, {}, json.dumps(content).encode(), where=where, secrets=secrets)
    words = secrets.masked(f"{word}: {said}" if word and said else said or word)
    return faults.malformed(f"an error instead of an answer: {words}", where=where)


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """A call's arguments for APIs that want an object; what is no object travels under one name."""
    try:
        found = json.loads(call.arguments) if call.arguments else {}
    except (ValueError, RecursionError):
        found = call.arguments
    return found if isinstance(found, dict) else {"arguments": found}


def arguments_text(found: Any) -> str:
    """A call's arguments as the text we keep: what came as text as it is, anything else as JSON."""
    if isinstance(found, str):
        return storable(found)
    return storable(json.dumps({} if found is None else found, ensure_ascii=False))


def names(items: Any, *keys: str, where: str) -> list[str]:
    """The models of a list, each a text or an object with its name under the first of `keys` that it has."""
    if not isinstance(items, list):
        raise faults.malformed("JSON without a list of models", where=where)
    found = (
        next((item[key] for key in keys if key in item), None) if isinstance(item, dict) else item for item in items
    )
    return [faults.cleaned(name, 200) for name in found if isinstance(name, str) and name]


def served_model(content: Mapping[str, Any]) -> str | None:
    """The model that says it answered."""
    served = content.get("model")
    return faults.cleaned(served, 200) if isinstance(served, str) and served else None


def paragraphs(texts: Iterable[str]) -> str:
    """Several pieces of reasoning as one text."""
    return storable("\n\n".join(text.strip() for text in texts if text.strip()))


def empty_answer(reason: FinishReason, reasoning: str, *, where: str) -> ProviderError:
    """The error for an answer that holds nothing to judge."""
    why = ""
    if reason is FinishReason.LENGTH:
        why = "; its length limit was reached before the answer began"
    elif reasoning:
        why = "; there was reasoning only"
    return ProviderError(
        f"{where} answered without text or tool call{why}",
        code="empty_answer",
        retryable=False,
        status=200,
        hint="Raise the model's output limit." if why else "Ask the model directly; it may not be a chat model.",
    )


def apart(text: str) -> tuple[str, list[str]]:
    """The answer without its think blocks, and what they held. A block that never ends is all reasoning."""
    if "think" not in text.lower():
        return text, []
    thoughts: list[str] = []

    def keep(match: re.Match[str]) -> str:
        thoughts.append(match[1])
        return ""

    rest = _THINK_BLOCK.sub(keep, text)
    unfinished = _THINK_OPEN.match(rest)
    if unfinished:
        return "", [*thoughts, rest[unfinished.end() :]]
    closing = _THINK_CLOSE.search(rest)
    if closing and not thoughts and "<think" not in rest.lower():  # some templates put the opening tag into the prompt
        return rest[closing.end() :], [rest[: closing.start()]]
    return rest, thoughts


def count(value: Any) -> int | None:
    """A count we can believe; a string, a negative or an absurd number is as good as unknown."""
    return value if type(value) is int and 0 <= value <= _LARGEST_COUNT else None


def storable(text: str) -> str:
    """Halves of surrogate pairs cannot be stored as UTF-8; they become the replacement character."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text)


def checked_key(api_key: SecretStr | None) -> str:
    """The key as it can travel in a header; empty for none. Raises InputError."""
    key = api_key.get_secret_value().strip() if api_key is not None else ""
    if not key.isascii() or any(ord(character) <= 32 or ord(character) == 127 for character in key):
        raise InputError(
            "the key holds spaces, line breaks or letters that no key has; copy it again",
            code="bad_api_key",
            fields=(("api_key", "cannot travel in a header"),),
        )
    return key


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Extra headers under lower-case names. Raises InputError."""
    for name, value in headers.items():
        problem = ""
        if not _HEADER_NAME.fullmatch(name):
            problem = "is no header name"
        elif name.lower() in _FORBIDDEN_HEADERS:
            problem = "is set by the connection itself"
        elif not value.isascii() or any(ord(character) < 32 or ord(character) == 127 for character in value):
            problem = "has a value with line breaks or letters that cannot travel in a header"
        if problem:
            message = f"the extra header {faults.cleaned(name, 60)!r} {problem}"
            raise InputError(message, code="bad_header", fields=(("extra_headers", message),))
    return {name.lower(): value for name, value in headers.items()}


def checked_extra(extra: Mapping[str, Any], *, ours: Collection[str]) -> dict[str, Any]:
    """The extra body as it can travel; `ours` are the parts of a request that only we set. Raises InputError."""
    taken = sorted(extra.keys() & ours)
    problem = f"must not set {', '.join(taken)}" if taken else ""
    try:
        json.dumps(extra, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        problem = "cannot be written as JSON"
    if problem:
        message = f"the extra body {problem}"
        raise InputError(message, code="bad_extra_body", fields=(("extra_body", message),))
    return dict(extra)
