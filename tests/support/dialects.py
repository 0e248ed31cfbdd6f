"""The scripted server's answers in each kind's own wire shape, whole and piece by piece.

Tests say what is answered once, as a chat completion (`scripted_server.message`), and a `Face` turns it into what an
endpoint of its kind sends, and a question of its kind back into a chat completions request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support import completions
from tests.support.scripted_server import Received, ScriptedServer, Step

Json = dict[str, Any]

SSE = {"Content-Type": "text/event-stream; charset=utf-8"}
LINES = {"Content-Type": "application/x-ndjson"}


class Face:
    """Chat completions."""

    kind = "openai"
    chat_path = "/v1/chat/completions"
    models_path = "/v1/models"
    key_header = "authorization"
    key_prefix = "Bearer "
    stream_headers = SSE

    def base_url(self, server: ScriptedServer) -> str:
        return f"http://127.0.0.1:{server.port}/v1"

    def streams(self, sent: Json) -> bool:
        """Whether a question asks for a stream."""
        return sent.get("stream") is True

    def request(self, sent: Json) -> Json:
        """A question as chat completions would put it."""
        return sent

    def whole(self, completion: Json) -> Json:
        return completion

    def pieces(self, completion: Json) -> list[bytes]:
        """The same answer as a stream, one entry an event."""
        return list(completions.streamed(completion, usage=True))

    def error(self, message: str, *, code: str = "invalid_request_error", param: str | None = None) -> Json:
        return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}

    def error_piece(self, message: str) -> bytes:
        return event(self.error(message, code="server_error"))

    def models(self, names: Sequence[str]) -> Json:
        return {"object": "list", "data": [{"id": name} for name in names]}

    def images(self, sent: Json) -> list[str]:
        """The pictures of a question, each as base64."""
        parts = [part for said in sent["messages"] if isinstance(said["content"], list) for part in said["content"]]
        return [part["image_url"]["url"].partition(",")[2] for part in parts if part["type"] == "image_url"]

    def step(self, completion: Json, *, streamed: bool, **changes: Any) -> Step:
        """One scripted answer."""
        if streamed:
            return Step(body=b"".join(self.pieces(completion)), headers=self.stream_headers, **changes)
        return Step(body=json.dumps(self.whole(completion)).encode(), **changes)


class AzureFace(Face):
    kind = "azure"
    chat_path = "/openai/deployments/scripted/chat/completions"
    models_path = "/openai/models"
    key_header = "api-key"
    key_prefix = ""

    def base_url(self, server: ScriptedServer) -> str:
        return f"http://127.0.0.1:{server.port}"

    def pieces(self, completion: Json) -> list[bytes]:
        # Azure's first piece tells of the filters and holds no choice.
        first = event({"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
        return [first, *super().pieces(completion)]


class AnthropicFace(Face):
    kind = "anthropic"
    chat_path = "/v1/messages"
    key_header = "x-api-key"
    key_prefix = ""
    finishes = {
        "stop": "end_turn",
        "length": "max_tokens",
        "content_filter": "refusal",
        "tool_calls": "tool_use",
    }

    def request(self, sent: Json) -> Json:
        messages: list[Json] = []
        if sent.get("system"):
            messages.append({"role": "system", "content": sent["system"]})
        for said in sent["messages"]:
            messages += self._messages(said)
        tools = [
            {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}
            for tool in sent.get("tools", ())
        ]
        return {"model": sent["model"], "messages": messages, **({"tools": tools} if tools else {})}

    def _messages(self, said: Json) -> list[Json]:
        if isinstance(said["content"], str):
            return [said]
        parts: list[Json] = []
        calls: list[Json] = []
        results: list[Json] = []
        for block in said["content"]:
            if block["type"] == "text":
                parts.append({"type": "text", "text": block["text"]})
            elif block["type"] == "image":
                source = block["source"]
                url = f"data:{source['media_type']};base64,{source['data']}"
                parts.append({"type": "image_url", "image_url": {"url": url}})
            elif block["type"] == "tool_use":
                function = {"name": block["name"], "arguments": json.dumps(block["input"])}
                calls.append({"id": block["id"], "type": "function", "function": function})
            else:
                results.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]})
        rest = [{"role": said["role"], "content": parts, **({"tool_calls": calls} if calls else {})}]
        return results + (rest if parts or calls else [])

    def whole(self, completion: Json) -> Json:
        choice = completion["choices"][0]
        said = choice["message"]
        blocks: list[Json] = []
        if said.get("reasoning_content"):
            blocks.append({"type": "thinking", "thinking": said["reasoning_content"], "signature": "c2ln"})
        if said.get("content"):
            blocks.append({"type": "text", "text": said["content"]})
        for call in said.get("tool_calls") or ():
            function = call["function"]
            given = json.loads(function["arguments"])
            blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": given})
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": completion["model"],
            "content": blocks,
            "stop_reason": self.finishes.get(choice["finish_reason"], choice["finish_reason"]),
            "stop_sequence": None,
        }
        usage = completion.get("usage")
        return message if usage is None else {**message, "usage": renamed(usage, "input_tokens", "output_tokens")}

    def pieces(self, completion: Json) -> list[bytes]:
        whole = self.whole(completion)
        usage = whole.get("usage")
        start = {**whole, "content": [], "stop_reason": None}
        ended: Json = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}}
        if isinstance(usage, dict):
            start["usage"] = {**usage, "output_tokens": 1} if "output_tokens" in usage else usage
            ended["usage"] = {"input_tokens": None, "output_tokens": usage.get("output_tokens")}
        events: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(whole["content"]):
            events += self._block_pieces(index, block)
        events += [ended, {"type": "message_stop"}]
        return [event(each, name=each["type"]) for each in events]

    def _block_pieces(self, index: int, block: Json) -> list[Json]:
        kind = block["type"]
        if kind == "tool_use":
            opened: Json = {**block, "input": {}}
            texts = split(json.dumps(block["input"]))
            deltas: list[Json] = [{"type": "input_json_delta", "partial_json": text} for text in texts]
        else:
            name = "thinking" if kind == "thinking" else "text"
            opened = {"type": kind, name: ""}
            deltas = [{"type": f"{name}_delta", name: text} for text in split(block[name])]
            if kind == "thinking":
                deltas.append({"type": "signature_delta", "signature": "c2ln"})
        return [
            {"type": "content_block_start", "index": index, "content_block": opened},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def error(self, message: str, *, code: str = "invalid_request_error", param: str | None = None) -> Json:
        return {"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"}

    def error_piece(self, message: str) -> bytes:
        return event(self.error(message, code="overloaded_error"), name="error")

    def images(self, sent: Json) -> list[str]:
        blocks = [block for said in sent["messages"] if isinstance(said["content"], list) for block in said["content"]]
        return [block["source"]["data"] for block in blocks if block["type"] == "image"]


class OllamaFace(Face):
    kind = "ollama"
    chat_path = "/api/chat"
    models_path = "/api/tags"
    stream_headers = LINES

    def base_url(self, server: ScriptedServer) -> str:
        return f"http://127.0.0.1:{server.port}"

    def streams(self, sent: Json) -> bool:
        return sent.get("stream") is not False  # the server streams unless told not to

    def request(self, sent: Json) -> Json:
        messages = []
        for said in sent["messages"]:
            parts: list[Json] = [{"type": "text", "text": said["content"]}]
            parts += [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
                for data in said.get("images", ())
            ]
            messages.append({**said, "content": parts if said.get("images") else said["content"]})
        return {**sent, "messages": messages}

    def whole(self, completion: Json) -> Json:
        choice = completion["choices"][0]
        said = choice["message"]
        message: Json = {"role": "assistant", "content": said.get("content") or ""}
        if said.get("reasoning_content"):
            message["thinking"] = said["reasoning_content"]
        calls = [
            {"function": {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}}
            for call in said.get("tool_calls") or ()
        ]
        if calls:
            message["tool_calls"] = calls
        reason = "stop" if choice["finish_reason"] == "tool_calls" else choice["finish_reason"]
        answer = {"model": completion["model"], "message": message, "done": True, "done_reason": reason}
        usage = completion.get("usage")
        if isinstance(usage, dict):
            answer |= renamed(usage, "prompt_eval_count", "eval_count")
        return answer

    def pieces(self, completion: Json) -> list[bytes]:
        whole = self.whole(completion)
        said = whole.pop("message")
        base = {"model": whole["model"], "done": False}
        messages: list[Json] = [{"thinking": piece, "content": ""} for piece in split(said.get("thinking", ""))]
        messages += [{"content": piece} for piece in split(said["content"])]
        if said.get("tool_calls"):
            messages.append({"content": "", "tool_calls": said["tool_calls"]})
        lines = [{**base, "message": {"role": "assistant", **message}} for message in messages]
        lines.append({**whole, "message": {"role": "assistant", "content": ""}})
        return [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines]

    def error(self, message: str, *, code: str = "", param: str | None = None) -> Json:
        return {"error": message}

    def error_piece(self, message: str) -> bytes:
        return json.dumps(self.error(message)).encode() + b"\n"

    def models(self, names: Sequence[str]) -> Json:
        return {"models": [{"name": name, "model": name, "size": 1} for name in names]}

    def images(self, sent: Json) -> list[str]:
        return [data for said in sent["messages"] for data in said.get("images", ())]


FACES: dict[str, Face] = {face.kind: face for face in (Face(), AzureFace(), AnthropicFace(), OllamaFace())}


class FacedServer(ScriptedServer):
    """The scripted server as an endpoint of one kind: it knows that kind's paths only, and streams when asked to."""

    def __init__(self, face: Face, **options: Any) -> None:
        super().__init__(**options)
        self.face = face

    @property
    def base_url(self) -> str:
        return self.face.base_url(self)

    @property
    def chats(self) -> list[Received]:
        return [request for request in self.requests if request.path.partition("?")[0] == self.face.chat_path]

    def received(self, request: Received) -> Step:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path == self.face.models_path:
            self.requests.append(request)
            return Step(body=self.face.models(self.models))
        if request.method != "POST" or path != self.face.chat_path:
            self.requests.append(request)
            return Step(status=404, body={"error": {"message": f"no route {path}"}})
        # The server below decides as it would for a chat completion: script, then always, then an answer.
        step = super().received(
            Received("POST", "/v1/chat/completions", request.headers, request.content, request.at_s)
        )
        self.requests[-1] = request
        if step.body is not None or step.status != 200 or step.hang or step.drop or step.raw is not None:
            return step
        completion = self._answer(self.face.request(request.json))
        told = self.face.step(completion, streamed=self.face.streams(request.json))
        return replace(step, body=told.body, headers={**told.headers, **step.headers})


def event(content: Json, *, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()


def split(text: str) -> list[str]:
    """A text in three pieces, or none for no text."""
    third = max(1, len(text) // 3)
    return [piece for piece in (text[:third], text[third : 2 * third], text[2 * third :]) if piece]


def renamed(usage: Json, prompt: str, completion: str) -> Json:
    names = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {names.get(name, name): value for name, value in usage.items()}
