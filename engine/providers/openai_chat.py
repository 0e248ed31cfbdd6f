"""Chat completions, as OpenAI defined them and many gateways speak them; whole or streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from engine.domain.chat import Answer, ChatRequest, Message
from engine.domain.runs import EndpointSettings
from engine.errors import ProviderError
from engine.providers.addresses import ENDPOINT, check_base_url
from engine.providers.openai_answer import answer_of
from engine.providers.openai_stream import Pieces
from engine.providers.transport import RetryPolicy
from engine.providers.wire import STREAM, SYSTEM, folded, names, picture, read_json, spoken
from engine.providers.wire_chat import WireChat

STREAM_OPTIONS = "stream_options"


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
) -> OpenAIChat:
    """Raises InputError when address, key, headers or extra body cannot be used."""
    return OpenAIChat(
        settings,
        api_key=api_key,
        retry=retry,
        base_url=check_base_url(settings.base_url, allowed_hosts),
        allowed_hosts=allowed_hosts,
    )


class OpenAIChat(WireChat):
    """A ChatModel behind a chat completions endpoint."""

    _asks_for_usage = True
    """Whether a streamed answer is asked to count its tokens; not every gateway takes the question."""

    def _own_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def _path(self, request: ChatRequest) -> str:
        return ENDPOINT

    def _models_path(self) -> str:
        return "/models"

    async def _complete(self, request: ChatRequest, retry: RetryPolicy) -> Answer:
        try:
            return await super()._complete(request, retry)
        except ProviderError as error:
            if error.refused != STREAM_OPTIONS or not self._streams(request):
                raise
            refused = error
        self._asks_for_usage = False  # costs the count of tokens and nothing of the answer, so nobody need be asked
        answer = await super()._complete(request, retry)
        return answer.model_copy(update={"tries": answer.tries + refused.tries})

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        system = request.dialect.renamed.get(SYSTEM, SYSTEM)
        messages = folded(request.messages, request.dialect)
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [_wire_message(message, request.images, system=system) for message in messages],
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        if request.json_object:
            body["response_format"] = {"type": "json_object"}
        if self._streams(request):
            body[STREAM] = True
            if self._asks_for_usage:
                body[STREAM_OPTIONS] = {"include_usage": True}
        if self._extra and not request.plain:
            body.update(self._extra)
        return spoken(body, request.dialect)

    def _gathering(self, request: ChatRequest) -> Pieces | None:
        if not self._streams(request):
            return None
        return Pieces(self._answer, where=self._endpoint.where, secrets=self._endpoint.secrets)

    def _read_answer(self, body: bytes) -> Answer:
        return self._answer(read_json(body, where=self._endpoint.where))

    def _answer(self, content: dict[str, Any]) -> Answer:
        return answer_of(content, where=self._endpoint.where, secrets=self._endpoint.secrets)

    def _read_models(self, body: bytes) -> list[str]:
        content = read_json(body, where=self._endpoint.where)
        return names(content.get("data", content.get("models")), "id", "name", where=self._endpoint.where)


def _wire_message(message: Message, images: Mapping[str, bytes], *, system: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
    role = system if message.role == SYSTEM else message.role
    wire: dict[str, Any] = {"role": role, "content": message.text}
    if message.tool_calls:
        wire["content"] = message.text or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    pictures = [fixture for fixture in message.fixtures if fixture.media_type.startswith("image/")]
    if pictures:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
        for fixture in pictures:
            data = picture(fixture, images)
            parts.append({"type": "image_url", "image_url": {"url": f"data:{fixture.media_type};base64,{data}"}})
        wire["content"] = parts
    return wire
