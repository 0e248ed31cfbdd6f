"""The built-in demo endpoint: chat completions spoken in-process, with no key and no network.

It is a transport below the same client a real endpoint has, so nothing is special about a run against it.
"""

from __future__ import annotations

import asyncio
import json
import re
from hashlib import blake2b
from typing import Any

import httpx
from pydantic import SecretStr

from engine.domain.runs import EndpointSettings
from engine.providers import demo_judge, demo_mind
from engine.providers.openai_chat import OpenAIChat
from engine.providers.transport import RetryPolicy

BASE_URL = "http://demo.invalid/v1"
MODEL = "demo-model"
JUDGE_MODEL = "demo-judge"
LONGEST_MESSAGE = 1200
"""Characters of the last user message; a longer one does not fit the demo model's context."""

QUICKEST_S, SLOWEST_S = 0.15, 0.7


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
    quickest_s: float = QUICKEST_S,
    slowest_s: float = SLOWEST_S,
) -> OpenAIChat:
    """The demo endpoint; address and key of `settings` are not used. An answer takes `quickest_s` to `slowest_s`."""
    return OpenAIChat(
        settings,
        api_key=None,
        retry=retry,
        base_url=BASE_URL,
        transport=DemoTransport(quickest_s=quickest_s, slowest_s=slowest_s),
    )


class DemoTransport(httpx.AsyncBaseTransport):
    """Answers HTTP requests as the demo endpoint; the time it takes depends on the text alone."""

    def __init__(self, *, quickest_s: float = QUICKEST_S, slowest_s: float = SLOWEST_S) -> None:
        self._quickest_s = quickest_s
        self._range_s = slowest_s - quickest_s

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and request.url.path.endswith("/models"):
            return _json(200, {"object": "list", "data": [{"id": MODEL}, {"id": JUDGE_MODEL}]})
        digest = blake2b(request.content, digest_size=8).digest()
        await asyncio.sleep(self._quickest_s + self._range_s * digest[0] / 255)
        return _respond(json.loads(request.content), digest.hex())


def _respond(body: dict[str, Any], digest: str) -> httpx.Response:
    conversation = [_said(message) for message in body["messages"]]
    last_user = next((said.text for said in reversed(conversation) if said.role == "user"), "")
    if body["model"] == JUDGE_MODEL:
        prompt = "\n".join(said.text for said in conversation)
        return _completion(body, {"role": "assistant", "content": demo_judge.reply(prompt)}, "stop", digest)
    if body["model"] != MODEL:
        return _error(
            404, "model_not_found", f"The model {body['model']!r} does not exist; known: {MODEL}, {JUDGE_MODEL}."
        )
    if any(_shows_picture(message) for message in body["messages"]):
        return _error(400, "image_not_supported", "This model reads text only.")
    if len(last_user) > LONGEST_MESSAGE:
        return _error(
            400,
            "context_length_exceeded",
            f"The message has {len(last_user)} characters; this model takes {LONGEST_MESSAGE} at most.",
        )
    tools = [_tool(entry["function"]) for entry in body.get("tools", ())]
    reply = demo_mind.answer(conversation, tools)
    if reply.tool is None:
        text = _as_json(reply.text) if _wants_json(body) else reply.text
        return _completion(body, {"role": "assistant", "content": text}, "stop", digest)
    call = {"id": f"call_{digest}", "type": "function", "function": {"name": reply.tool, "arguments": reply.arguments}}
    return _completion(body, {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls", digest)


def _said(message: dict[str, Any]) -> demo_mind.Said:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    called = tuple(call["function"]["name"] for call in message.get("tool_calls", ()))
    return demo_mind.Said(message["role"], content, called)


def _shows_picture(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == "image_url" for part in content)


def _tool(function: dict[str, Any]) -> demo_mind.Tool:
    return demo_mind.Tool(function["name"], function.get("description", ""), function.get("parameters") or {})


def _wants_json(body: dict[str, Any]) -> bool:
    wanted = body.get("response_format")
    return isinstance(wanted, dict) and wanted.get("type") == "json_object"


def _as_json(text: str) -> str:
    """The demo's JSON mode: whatever it has to say becomes an object."""
    return json.dumps({"answer": text}, ensure_ascii=False)


def _completion(body: dict[str, Any], message: dict[str, Any], finish: str, digest: str) -> httpx.Response:
    asked = sum(len(_said(sent).text) for sent in body["messages"])
    completion = {
        "id": f"demo-{digest}",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 1 + asked // 4,
            "completion_tokens": 1 + len(message["content"] or "") // 4,
        },
    }
    return _streamed(completion) if body.get("stream") is True else _json(200, completion)


def _streamed(completion: dict[str, Any]) -> httpx.Response:
    """The same as events: first the words, then how it ended and what it took."""
    choice = completion["choices"][0]
    message = choice["message"]
    words = re.findall(r"\S*\s*", message["content"] or "")
    deltas = [{"content": word} for word in words if word]
    deltas += [{"tool_calls": [{"index": 0, **call}]} for call in message.get("tool_calls", ())]
    base = {"id": completion["id"], "object": "chat.completion.chunk", "model": completion["model"]}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({**base, "choices": [], "usage": completion["usage"]})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    content = "".join([*lines, "data: [DONE]\n\n"]).encode()
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)


def _error(status: int, code: str, message: str) -> httpx.Response:
    return _json(status, {"error": {"message": message, "type": "invalid_request_error", "code": code}})


def _json(status: int, content: dict[str, Any]) -> httpx.Response:
    return httpx.Response(status, json=content)
