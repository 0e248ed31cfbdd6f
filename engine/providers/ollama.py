"""A local Ollama server's own chat route: parameters under `options`, pictures beside the text, lines when streamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import SecretStr

from engine.domain.chat import Answer, ChatRequest, Dialect, FinishReason, Message, ToolCall, Usage
from engine.domain.runs import EndpointSettings
from engine.providers import faults
from engine.providers.addresses import checked, plain_path, query_of, refused
from engine.providers.transport import RetryPolicy
from engine.providers.wire import (
    apart,
    arguments_object,
    arguments_text,
    count,
    empty_answer,
    error_in_200,
    folded,
    names,
    paragraphs,
    picture,
    read_json,
    served_model,
    spoken,
    storable,
)
from engine.providers.wire_chat import WireChat

ENDPOINT = "/api/chat"

_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
_NAMES = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict", "thinking": "think"}
"""What is called otherwise here than elsewhere."""


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
) -> OllamaChat:
    """Raises InputError when address, key, headers or extra body cannot be used."""
    return OllamaChat(
        settings,
        api_key=api_key,
        retry=retry,
        base_url=base_url(settings.base_url, allowed_hosts),
        allowed_hosts=allowed_hosts,
    )


def base_url(url: str, allowed_hosts: tuple[str, ...] = ()) -> str:
    """The server's address without `/api` and what follows it.

    Raises:
        InputError: code `bad_base_url`.
    """
    origin, parsed = checked(url, allowed_hosts)
    path = plain_path(parsed)
    if path.endswith("/v1") or "/v1/" in path:
        raise refused("the base URL is that of Ollama's chat completions; write it without /v1, or take kind openai")
    for known in (ENDPOINT, "/api/generate", "/api/tags", "/api"):
        path = path.removesuffix(known)
    return f"{origin}{path}{query_of(parsed)}"


class OllamaChat(WireChat):
    """A ChatModel behind an Ollama server."""

    ours: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools", "stream"})

    def _own_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def _path(self, request: ChatRequest) -> str:
        return ENDPOINT

    def _models_path(self) -> str:
        return "/api/tags"

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        messages = folded(request.messages, request.dialect)
        body: dict[str, Any] = {
            "model": request.model,
            "messages": _wire_messages(messages, request.images),
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        if request.json_object:
            body["format"] = "json"
        options: dict[str, Any] = {}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.max_tokens is not None:
            options["num_predict"] = request.max_tokens
        extra = {} if request.plain else dict(self._extra)
        given = extra.pop("options", None)
        if isinstance(given, dict):
            options.update(given)
        dialect = _in_our_names(request.dialect)
        body = spoken({**body, **extra}, dialect)
        if options := spoken(options, dialect):
            body["options"] = options
        body["stream"] = self._streams(request)  # absent means true here
        return body

    def _read_answer(self, body: bytes) -> Answer:
        first, _end, rest = body.strip().partition(b"\n")
        if not rest or not first.rstrip().endswith(b"}"):
            return self._answer(read_json(body, where=self._endpoint.where))
        return self._answer(self._joined([first, *rest.split(b"\n")])).model_copy(update={"streamed": True})

    def _joined(self, lines: Sequence[bytes]) -> dict[str, Any]:
        """One answer from the lines of its stream; the last holds how it ended and what it took."""
        where = self._endpoint.where
        content: dict[str, Any] = {}
        texts: dict[str, list[str]] = {"content": [], "thinking": []}
        calls: list[Any] = []
        for line in lines:
            if not line.strip():
                continue
            content = read_json(line, where=where)
            if content.get("error"):
                raise error_in_200(content, where=where, secrets=self._endpoint.secrets)
            message = content.get("message")
            if not isinstance(message, dict):
                raise faults.malformed("a piece of an answer without a message", where=where)
            for name, pieces in texts.items():
                if isinstance(message.get(name), str):
                    pieces.append(message[name])
            if isinstance(message.get("tool_calls"), list):
                calls += message["tool_calls"]
        if content.get("done") is not True:
            raise faults.broke_off(where=where)
        return {**content, "message": {"tool_calls": calls} | {name: "".join(said) for name, said in texts.items()}}

    def _answer(self, content: dict[str, Any]) -> Answer:
        where = self._endpoint.where
        message = content.get("message")
        if message is None and content.get("error"):
            raise error_in_200(content, where=where, secrets=self._endpoint.secrets)
        if not isinstance(message, dict):
            raise faults.malformed("JSON without a message", where=where)
        if content.get("done") is False:
            raise faults.broke_off(where=where)
        text, reasoning = _texts(message, where=where)
        calls = _tool_calls(message, where=where)
        ended = content.get("done_reason")
        finish = _FINISH.get(ended, FinishReason.UNKNOWN) if isinstance(ended, str) else FinishReason.UNKNOWN
        if calls and finish is FinishReason.STOP:
            finish = FinishReason.TOOL_CALLS  # Ollama has no word of its own for it
        if not text.strip() and not calls:
            raise empty_answer(finish, reasoning, where=where)
        return Answer(
            text=text,
            tool_calls=calls,
            finish_reason=finish,
            reasoning=reasoning,
            usage=_usage(content),
            served_model=served_model(content),
        )

    def _read_models(self, body: bytes) -> list[str]:
        where = self._endpoint.where
        return names(read_json(body, where=where).get("models"), "name", "model", where=where)


def _in_our_names(dialect: Dialect) -> Dialect:
    return Dialect(
        left_out=tuple(_NAMES.get(name, name) for name in dialect.left_out),
        renamed={_NAMES.get(name, name): new for name, new in dialect.renamed.items()},
    )


def _wire_messages(messages: Sequence[Message], images: Mapping[str, bytes]) -> list[dict[str, Any]]:
    called = {call.id: call.name for message in messages for call in message.tool_calls}
    wire = []
    for message in messages:
        sent: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.role == "tool":
            # Older servers know the tool's name only, newer ones the call's id as well.
            sent["tool_name"] = called.get(message.tool_call_id or "", "")
            sent["tool_call_id"] = message.tool_call_id or ""
        if message.tool_calls:
            sent["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": arguments_object(call)}}
                for call in message.tool_calls
            ]
        pictures = [fixture for fixture in message.fixtures if fixture.media_type.startswith("image/")]
        if pictures:
            sent["images"] = [picture(fixture, images) for fixture in pictures]
        wire.append(sent)
    return wire


def _texts(message: dict[str, Any], *, where: str) -> tuple[str, str]:
    """Answer and reasoning, each whole and apart."""
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise faults.malformed("a message whose content is no text", where=where)
    text, inside = apart(content or "")
    thinking = message.get("thinking")
    thoughts = [thinking, *inside] if isinstance(thinking, str) else inside
    return storable(text), paragraphs(thoughts)


def _tool_calls(message: dict[str, Any], *, where: str) -> tuple[ToolCall, ...]:
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, list):
        raise faults.malformed("tool calls that are no list", where=where)
    calls: list[ToolCall] = []
    for index, entry in enumerate(listed or ()):
        function = entry.get("function") if isinstance(entry, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not name:
            raise faults.malformed("a tool call without a name", where=where)
        found, given = function.get("arguments"), entry.get("id")
        calls.append(
            ToolCall(
                id=storable(given) if isinstance(given, str) and given else f"call_{index}",
                name=storable(name),
                arguments=arguments_text(found),
            )
        )
    return tuple(calls)


def _usage(content: dict[str, Any]) -> Usage | None:
    prompt, completion = count(content.get("prompt_eval_count")), count(content.get("eval_count"))
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion)
