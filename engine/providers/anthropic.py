"""Messages, as Anthropic defined them: system text apart, content in blocks, thinking kept apart from the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import SecretStr

from engine.domain.chat import Answer, ChatRequest, FinishReason, Message, RefusalType, ToolCall, Usage
from engine.domain.runs import EndpointSettings
from engine.errors import ProviderError
from engine.providers import faults
from engine.providers.addresses import checked, plain_path, query_of, refused
from engine.providers.anthropic_stream import Pieces
from engine.providers.transport import RetryPolicy
from engine.providers.wire import (
    SYSTEM,
    apart,
    arguments_object,
    arguments_text,
    count,
    empty_answer,
    error_in_200,
    folded,
    json_bytes,
    names,
    paragraphs,
    picture,
    read_json,
    served_model,
    spoken,
    storable,
)
from engine.providers.wire_chat import WireChat

ENDPOINT = "/messages"
API_VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The length limit that a request must carry, where neither the request nor the extra body sets one."""

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.CONTENT_FILTER,  # a classifier beside the model stopped it
}

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status each type of error has when it does not come in the midst of a stream."""


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
) -> AnthropicChat:
    """Raises InputError when address, key, headers or extra body cannot be used."""
    return AnthropicChat(
        settings,
        api_key=api_key,
        retry=retry,
        base_url=base_url(settings.base_url, allowed_hosts),
        allowed_hosts=allowed_hosts,
    )


def base_url(url: str, allowed_hosts: tuple[str, ...] = ()) -> str:
    """The address in the one form that is stored and used: up to and with its version.

    Raises:
        InputError: code `bad_base_url`.
    """
    origin, parsed = checked(url, allowed_hosts)
    path = plain_path(parsed).removesuffix("/count_tokens").removesuffix(ENDPOINT).removesuffix("/models")
    if path.endswith(("/chat/completions", "/complete", "/responses")):
        raise refused("the base URL is that of another API; this kind speaks messages: https://api.anthropic.com/v1")
    if not re.search(r"/v\d+$", path):
        path = f"{path}/v1"
    return f"{origin}{path}{query_of(parsed)}"


class AnthropicChat(WireChat):
    """A ChatModel behind a messages endpoint."""

    ours: ClassVar[frozenset[str]] = frozenset({"model", "messages", "system", "tools", "stream"})

    def _own_headers(self, key: str) -> dict[str, str]:
        version = {"anthropic-version": API_VERSION}
        return {**version, "x-api-key": key} if key else version

    def _path(self, request: ChatRequest) -> str:
        return ENDPOINT

    def _models_path(self) -> str:
        return "/models"

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        messages = folded(request.messages, request.dialect)
        body: dict[str, Any] = {"model": request.model, "messages": _wire_messages(messages, request.images)}
        system = "\n\n".join(message.text for message in messages if message.role == SYSTEM and message.text)
        if system:
            body["system"] = system
        if self._streams(request):
            body["stream"] = True
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters or _NO_ARGUMENTS}
                for tool in request.tools
            ]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        extra = {} if request.plain else self._extra
        body = spoken({**body, **extra}, request.dialect)
        body.setdefault("max_tokens", MAX_TOKENS)
        return body

    def _gathering(self, request: ChatRequest) -> Pieces | None:
        if not self._streams(request):
            return None
        return Pieces(self._answer, where=self._endpoint.where, failed=self._failed)

    def _read_answer(self, body: bytes) -> Answer:
        return self._answer(read_json(body, where=self._endpoint.where))

    def _failed(self, content: dict[str, Any]) -> ProviderError:
        """An error that came with status 200, as it would have come with its own status."""
        where, secrets = self._endpoint.where, self._endpoint.secrets
        error = content.get("error")
        status = _STATUS.get(error.get("type", "")) if isinstance(error, dict) else None
        if status is None:
            return error_in_200({"error": error or "unknown"}, where=where, secrets=secrets)
        return faults.from_status(status, {}, json_bytes(content), where=where, secrets=secrets)

    def _answer(self, content: dict[str, Any]) -> Answer:
        where = self._endpoint.where
        blocks = content.get("content")
        stopped = content.get("stop_reason")
        if blocks is None and content.get("error"):
            raise self._failed(content)
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not isinstance(blocks, list):
            raise faults.malformed("JSON without a list of content blocks", where=where)
        text, reasoning = _texts(blocks)
        calls = _tool_calls(blocks, where=where)
        finish = _FINISH.get(stopped, FinishReason.UNKNOWN) if isinstance(stopped, str) else FinishReason.UNKNOWN
        refusal_type = RefusalType.PROVIDER_FILTER if finish is FinishReason.CONTENT_FILTER else None
        if not text.strip() and not calls and refusal_type is None:
            raise empty_answer(finish, reasoning, where=where)
        return Answer(
            text=text,
            tool_calls=calls,
            finish_reason=finish,
            refusal_type=refusal_type,
            reasoning=reasoning,
            usage=_usage(content.get("usage")),
            served_model=served_model(content),
        )

    def _read_models(self, body: bytes) -> list[str]:
        where = self._endpoint.where
        return names(read_json(body, where=where).get("data"), "id", where=where)


_NO_ARGUMENTS = {"type": "object", "properties": {}}


def _wire_messages(messages: Sequence[Message], images: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """User and assistant in turn, as the API wants them: neighbours of one role become one message."""
    wire: list[dict[str, Any]] = []
    for message in messages:
        if message.role == SYSTEM:
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, images)
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"].extend(blocks)
        else:
            wire.append({"role": role, "content": blocks})
    for each in wire:
        only = each["content"][0] if len(each["content"]) == 1 else {}
        if only.get("type") == "text":
            each["content"] = only["text"]
    return wire


def _blocks(message: Message, images: Mapping[str, bytes]) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": message.text}]
    blocks: list[dict[str, Any]] = []
    for fixture in message.fixtures:
        if fixture.media_type.startswith("image/"):
            source = {"type": "base64", "media_type": fixture.media_type, "data": picture(fixture, images)}
            blocks.append({"type": "image", "source": source})
    if message.text.strip() or not (blocks or message.tool_calls):  # a block of blanks is refused beside others
        blocks.append({"type": "text", "text": message.text})
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_object(call)})
    return blocks


def _texts(blocks: list[Any]) -> tuple[str, str]:
    """Answer and reasoning, each whole and apart."""
    said: list[str] = []
    thoughts: list[str] = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            said.append(block["text"])
        elif block.get("type") == "thinking" and isinstance(block.get("thinking"), str):
            thoughts.append(block["thinking"])
    text, inside = apart("".join(said))
    thoughts += inside
    return storable(text), paragraphs(thoughts)


def _tool_calls(blocks: list[Any], *, where: str) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for block in blocks:
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            continue
        name, given = block.get("name"), block.get("id")
        if not isinstance(name, str) or not name:
            raise faults.malformed("a tool call without a name", where=where)
        found = block.get("input")
        calls.append(
            ToolCall(
                id=storable(given) if isinstance(given, str) and given else f"call_{len(calls)}",
                name=storable(name),
                arguments=arguments_text(found),
            )
        )
    return tuple(calls)


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None
    # What was read from or written to a cache was part of the prompt as well.
    cached = [count(found.get(name)) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    fresh, completion = count(found.get("input_tokens")), count(found.get("output_tokens"))
    prompt = fresh + sum(cached) if fresh is not None else None
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion)
