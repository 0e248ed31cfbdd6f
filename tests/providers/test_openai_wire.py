"""What goes over the wire to a chat completions endpoint, and how its answers are read."""

from __future__ import annotations

import asyncio
import base64
import json
from hashlib import sha256
from typing import Any

import pytest
from pydantic import SecretStr

from engine.domain.cases import ToolDef
from engine.domain.chat import FinishReason, FixtureRef, Message, RefusalType, ToolCall, Usage
from engine.errors import InputError
from engine.providers import RetryPolicy, build
from tests.providers.conftest import KEY, answer_of, ask, endpoint, using
from tests.support.scripted_server import ScriptedServer, Step, message

WEATHER = ToolDef(name="get_weather", description="Weather of a city.", parameters={"type": "object"}, result={})


def test_a_question_is_answered(server):
    server.script(Step(body=message("Light, bent by rain.", model="scripted-2")))
    answer = answer_of(endpoint(server.base_url))
    assert answer.text == "Light, bent by rain."
    assert answer.finish_reason is FinishReason.STOP
    assert answer.refusal_type is None
    assert answer.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert answer.served_model == "scripted-2"
    assert answer.tries == 1


def test_the_request_carries_model_messages_key_and_nothing_unasked(server):
    answer_of(endpoint(server.base_url))
    sent = server.chats[0]
    assert sent.json == {"model": "scripted", "messages": [{"role": "user", "content": "What is a rainbow?"}]}
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"
    assert sent.path == "/v1/chat/completions"


def test_without_a_key_no_authorization_is_sent(server):
    answer_of(endpoint(server.base_url), key=None)
    assert "authorization" not in server.chats[0].headers


def test_system_text_tools_results_and_parameters_travel(server):
    call = ToolCall(id="call_7", name="get_weather", arguments='{"city": "Oslo"}')
    request = ask(
        messages=(
            Message(role="system", text="Be brief."),
            Message(role="user", text="Weather?"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", text='{"sky": "clear"}', tool_call_id="call_7"),
        ),
        tools=(WEATHER,),
        temperature=0.0,
        max_tokens=50,
    )
    answer_of(endpoint(server.base_url), request)
    assert server.chats[0].json == {
        "model": "scripted",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_7",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_7", "content": '{"sky": "clear"}'},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "Weather of a city.",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "temperature": 0.0,
        "max_tokens": 50,
    }


def picture(content: bytes) -> FixtureRef:
    return FixtureRef(fixture_id="sign", sha256=sha256(content).hexdigest(), media_type="image/png")


def test_pictures_travel_as_data_urls_beside_the_text(server):
    content = b"\x89PNG not really"
    shown = picture(content)
    notes = FixtureRef(fixture_id="notes", sha256="0" * 64, media_type="text/plain")
    request = ask(
        messages=(Message(role="user", text="What is this?", fixtures=(shown, notes)),), images={shown.sha256: content}
    )
    answer_of(endpoint(server.base_url), request)
    encoded = base64.b64encode(content).decode()
    assert server.chats[0].json["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
    ]


def test_a_picture_without_bytes_is_refused_by_name(server):
    request = ask(messages=(Message(role="user", fixtures=(picture(b"x"),)),))
    with pytest.raises(InputError, match="sign"):
        answer_of(endpoint(server.base_url), request)


def test_half_a_surrogate_pair_in_a_question_still_travels(server):
    answer_of(endpoint(server.base_url), ask("broken \ud83d emoji"))
    assert json.loads(server.chats[0].content)["messages"][0]["content"] == "broken \ud83d emoji"


def test_extra_headers_and_body_travel(server):
    settings = endpoint(server.base_url, extra_headers={"X-Team": "red"}, extra_body={"seed": 7})
    answer_of(settings)
    assert server.chats[0].headers["x-team"] == "red"
    assert server.chats[0].json["seed"] == 7


def test_an_extra_authorization_header_replaces_the_key(server):
    answer_of(endpoint(server.base_url, extra_headers={"Authorization": "Token other-secret"}))
    assert server.chats[0].headers["authorization"] == "Token other-secret"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"extra_headers": {"X Team": "red"}}, "bad_header"),
        ({"extra_headers": {"X-Team": "red\r\nX-Evil: 1"}}, "bad_header"),
        ({"extra_headers": {"X-Team": "röd"}}, "bad_header"),
        ({"extra_headers": {"Host": "elsewhere"}}, "bad_header"),
        ({"extra_body": {"messages": []}}, "bad_extra_body"),
        ({"extra_body": {"stream": True}}, "bad_extra_body"),
        ({"extra_body": {"top_p": float("nan")}}, "bad_extra_body"),
        ({"kind": "telepathy"}, "unknown_kind"),
        ({"base_url": "ftp://host/v1"}, "bad_base_url"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_words(changes, code):
    settings = endpoint(**{"base_url": "http://127.0.0.1:9", **changes})
    with pytest.raises(InputError) as caught:
        build(settings, api_key=None, retry=RetryPolicy())
    assert caught.value.code == code


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak"])
def test_a_key_that_cannot_travel_is_refused_without_being_shown(key):
    with pytest.raises(InputError) as caught:
        build(endpoint("http://127.0.0.1:9"), api_key=SecretStr(key), retry=RetryPolicy())
    assert caught.value.code == "bad_api_key"
    assert key not in caught.value.message


def test_blanks_around_a_pasted_key_are_dropped(server):
    answer_of(endpoint(server.base_url), key=f"  {KEY}\n")
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"


# -- reading answers ----------------------------------------------------------------------------------------------


def read(server: ScriptedServer, body: Any) -> Any:
    server.script(Step(body=body))
    return answer_of(endpoint(server.base_url))


def test_text_in_parts_is_joined_and_thinking_parts_are_kept_apart(server):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm."}]},
        {"type": "reasoning", "text": "So."},
        {"type": "text", "text": "One, "},
        {"type": "output_text", "text": {"value": "two, "}},
        "three",
        {"type": "image_url", "image_url": {}},
        17,
    ]
    answer = read(server, message(parts))
    assert answer.text == "One, two, three"
    assert answer.reasoning == "Hmm.\n\nSo."


@pytest.mark.parametrize(
    "parts", [{"refusal": "I must decline."}, {"content": [{"type": "refusal", "refusal": "I must decline."}]}]
)
def test_a_refusal_field_is_a_refusal_by_the_model(server, parts):
    body = message(None)
    body["choices"][0]["message"].update(parts)
    answer = read(server, body)
    assert answer.text == "I must decline."
    assert answer.refusal_type is RefusalType.MODEL


def test_a_filtered_answer_is_a_refusal_by_the_provider_even_when_empty(server):
    """C16."""
    answer = read(server, message("", finish_reason="content_filter"))
    assert answer.finish_reason is FinishReason.CONTENT_FILTER
    assert answer.refusal_type is RefusalType.PROVIDER_FILTER
    assert answer.text == ""


def test_a_request_stopped_by_the_providers_filter_is_an_answer_too(server):
    error = {"error": {"code": "content_filter", "message": "The prompt was filtered."}}
    server.script(Step(status=400, body=error))
    answer = answer_of(endpoint(server.base_url))
    assert answer.refusal_type is RefusalType.PROVIDER_FILTER
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("end_turn", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("max_tokens", FinishReason.LENGTH),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("sensitive", FinishReason.CONTENT_FILTER),
        ("tired", FinishReason.UNKNOWN),
        (None, FinishReason.UNKNOWN),
        (7, FinishReason.UNKNOWN),
    ],
)
def test_every_finish_reason_has_a_name(server, word, reason):
    """C16."""
    assert read(server, message("Yes.", finish_reason=word)).finish_reason is reason


def test_tool_calls_keep_their_arguments_exactly(server):
    calls = [
        {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":  "Oslo"'}},
        {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "深圳"}}},
        {"id": "c", "function": {"name": "get_weather"}},
    ]
    answer = read(server, message(None, tool_calls=calls, finish_reason="tool_calls"))
    assert answer.tool_calls == (
        ToolCall(id="a", name="get_weather", arguments='{"city":  "Oslo"'),
        ToolCall(id="call_1", name="get_weather", arguments='{"city": "深圳"}'),
        ToolCall(id="c", name="get_weather", arguments=""),
    )


def test_the_older_function_call_is_read_as_a_tool_call(server):
    answer = read(server, message(None, function_call={"name": "get_weather", "arguments": "{}"}))
    assert answer.tool_calls == (ToolCall(id="call_0", name="get_weather", arguments="{}"),)


@pytest.mark.parametrize(
    ("content", "extra", "text", "reasoning"),
    [
        ("Yes.", {"reasoning_content": "Let me see."}, "Yes.", "Let me see."),
        ("Yes.", {"reasoning": "Let me see."}, "Yes.", "Let me see."),
        ("<think>Let me see.</think>\n\nYes.", {}, "Yes.", "Let me see."),
        ("\n<thinking>One.</thinking>\n<think>Two.</think>Yes.", {}, "\nYes.", "One.\n\nTwo."),
        ("Let me see.</think>Yes.", {}, "Yes.", "Let me see."),
        ("The tag <think> opens a block.", {}, "The tag <think> opens a block.", ""),
        ("I think so.", {}, "I think so.", ""),
    ],
)
def test_reasoning_is_kept_apart_from_the_answer(server, content, extra, text, reasoning):
    """C17."""
    answer = read(server, message(content, **extra))
    assert answer.text == text
    assert answer.reasoning == reasoning


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        (None, None),
        ("many", None),
        ({"prompt_tokens": "12", "completion_tokens": -1}, None),
        ({"prompt_tokens": True, "completion_tokens": 1.5}, None),
        ({"prompt_tokens": 10**30}, None),
        ({"prompt_tokens": 12, "completion_tokens": None}, Usage(prompt_tokens=12)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(prompt_tokens=0, completion_tokens=0)),
    ],
)
def test_tokens_nobody_counted_are_unknown_never_zero(server, usage, known):
    """C13."""
    assert read(server, message("Yes.", usage=usage)).usage == known


def test_text_that_cannot_be_stored_is_repaired(server):
    answer = read(server, b'{"choices":[{"message":{"content":"a \\ud83d b"},"finish_reason":"stop"}]}')
    assert answer.text == "a \ufffd b"
    assert answer.served_model is None


def test_the_models_an_endpoint_offers_are_listed(server):
    server.models = ("small", "large")
    assert using(endpoint(server.base_url), lambda model: model.models()) == ["small", "large"]


def test_no_more_requests_are_in_flight_than_configured():
    async def many(model: Any) -> None:
        await asyncio.gather(*(model.complete(ask(f"question {number}")) for number in range(30)))

    with ScriptedServer(latency_s=0.02) as slow:
        using(endpoint(slow.base_url, max_concurrency=5), many)
        assert len(slow.chats) == 30
        assert slow.most_in_flight == 5


def test_requests_a_minute_are_spread_evenly(server):
    async def three(model: Any) -> None:
        await asyncio.gather(*(model.complete(ask(f"question {number}")) for number in range(3)))

    using(endpoint(server.base_url, requests_per_minute=600), three)
    first, second, third = (request.at_s for request in server.chats)
    assert second - first > 0.05 and third - second > 0.05


def test_cookies_are_not_kept(server):
    async def twice(model: Any) -> None:
        await model.complete(ask())
        await model.complete(ask())

    server.always(Step(headers={"Set-Cookie": "track=1; Path=/"}))
    using(endpoint(server.base_url), twice)
    assert "cookie" not in server.chats[1].headers


def test_proxies_of_the_environment_are_not_used(server, monkeypatch):
    """C19."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert answer_of(endpoint(server.base_url)).text
