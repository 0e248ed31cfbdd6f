"""What every kind of endpoint must send, and how its answers must be read, whole or streamed."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import pytest

from engine.domain.cases import ToolDef
from engine.domain.chat import Dialect, FinishReason, FixtureRef, Message, RefusalType, ToolCall, Usage
from engine.errors import InputError, ProviderError
from tests.providers.conftest import KEY, answer_of, ask, error_of, using
from tests.support.scripted_server import message, texts

WEATHER = ToolDef(
    name="get_weather",
    description="Weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
CALL = ToolCall(id="call_7", name="get_weather", arguments='{"city": "Oslo"}')
TALK = (
    Message(role="system", text="Be brief."),
    Message(role="user", text="What is a rainbow?"),
    Message(role="assistant", text="Bent light."),
    Message(role="user", text="Bent by what?"),
)


def called(*calls):
    """A completion that calls tools, each a name with its arguments."""
    entries = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (name, arguments) in enumerate(calls)
    ]
    return message(None, tool_calls=entries, finish_reason="tool_calls")


@pytest.fixture
def say(server, face, streamed):
    """Let the server answer with these completions, one after the other."""

    def scripted(*completions):
        server.script(*(face.step(completion, streamed=streamed) for completion in completions))

    return scripted


# -- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Light, bent by rain.", "光被雨折射。🌈\n\n  两行", 'quotes " and \\ and \u2028 lines']
)
def test_a_question_is_answered_to_the_letter(settings, say, streamed, text):
    say(message(text, model="scripted-2"))
    answer = answer_of(settings())
    assert answer.text == text
    assert answer.streamed is streamed
    assert answer.finish_reason is FinishReason.STOP
    assert answer.refusal_type is None and answer.reasoning == "" and answer.tool_calls == ()
    assert answer.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert answer.served_model == "scripted-2"
    assert answer.tries == 1


def test_the_question_names_the_model_and_says_whether_to_stream(settings, server, streamed):
    answer_of(settings())
    sent = server.chats[0].json
    assert sent["model"] == "scripted"
    assert server.face.streams(sent) is streamed
    assert texts(server.face.request(sent)) == [("user", "What is a rainbow?")]


def test_a_single_question_may_be_streamed_or_not_whatever_the_settings_say(settings, server, streamed):
    answer = answer_of(settings(), ask(stream=not streamed))
    assert answer.text
    assert answer.streamed is not streamed


def test_a_conversation_with_system_text_keeps_its_order(settings, server):
    answer_of(settings(), ask(messages=TALK))
    assert texts(server.face.request(server.chats[0].json)) == [(said.role, said.text) for said in TALK]


def test_system_text_alone_among_the_users_words_travels_apart(settings, server, face):
    answer_of(settings(), ask(messages=TALK))
    sent = server.chats[0].json
    if face.kind == "anthropic":
        assert sent["system"] == "Be brief."
    assert all("Be brief." not in text for role, text in texts(face.request(sent)) if role != "system")


def test_pictures_travel_beside_the_text(settings, server, face):
    content = b"\x89PNG not really"
    digest = sha256(content).hexdigest()
    shown = FixtureRef(fixture_id="sign", sha256=digest, media_type="image/png")
    notes = FixtureRef(fixture_id="notes", sha256="0" * 64, media_type="text/plain")
    request = ask(messages=(Message(role="user", text="What is this?", fixtures=(shown, notes)),))
    with pytest.raises(InputError, match="sign"):
        answer_of(settings(), request)
    answer_of(settings(), request.model_copy(update={"images": {digest: content}}))
    sent = server.chats[0].json
    assert [base64.b64decode(data) for data in face.images(sent)] == [content]
    assert [(role, text.strip()) for role, text in texts(face.request(sent))] == [("user", "What is this?")]


# -- tools --------------------------------------------------------------------------------------------------------


def test_a_tool_is_offered_and_called(settings, server, say):
    say(called(("get_weather", {"city": "Oslo", "days": [1, 2]})))
    answer = answer_of(settings(), ask(tools=(WEATHER,)))
    offered = server.face.request(server.chats[0].json)["tools"][0]["function"]
    assert (offered["name"], offered["parameters"]) == (WEATHER.name, WEATHER.parameters)
    assert [call.name for call in answer.tool_calls] == ["get_weather"]
    assert json.loads(answer.tool_calls[0].arguments) == {"city": "Oslo", "days": [1, 2]}
    assert answer.finish_reason is FinishReason.TOOL_CALLS
    assert answer.text == ""


def test_several_tools_are_called_at_once_each_under_an_id_of_its_own(settings, say):
    say(called(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rom"}), ("get_time", {})))
    calls = answer_of(settings(), ask(tools=(WEATHER,))).tool_calls
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rom"}),
        ("get_time", {}),
    ]
    assert len({call.id for call in calls}) == 3


def test_results_of_tools_travel_back_to_the_calls_they_belong_to(settings, server, face):
    other = CALL.model_copy(update={"id": "call_8", "name": "get_time", "arguments": "{}"})
    request = ask(
        messages=(
            Message(role="user", text="Weather and time?"),
            Message(role="assistant", text="Let me look.", tool_calls=(CALL, other)),
            Message(role="tool", text='{"sky": "clear"}', tool_call_id="call_7"),
            Message(role="tool", text='{"time": "noon"}', tool_call_id="call_8"),
        ),
        tools=(WEATHER,),
    )
    answer_of(settings(), request)
    user, assistant, *results = face.request(server.chats[0].json)["messages"]
    assert user["role"] == "user" and assistant["role"] == "assistant"
    sent = [(call["function"]["name"], call["function"]["arguments"]) for call in assistant["tool_calls"]]
    as_objects = [(name, json.loads(given) if isinstance(given, str) else given) for name, given in sent]
    assert as_objects == [("get_weather", {"city": "Oslo"}), ("get_time", {})]
    assert [(said["role"], said["tool_call_id"], said["content"]) for said in results] == [
        ("tool", "call_7", '{"sky": "clear"}'),
        ("tool", "call_8", '{"time": "noon"}'),
    ]


def test_anthropic_is_sent_user_and_assistant_in_turn(settings, server, face):
    if face.kind != "anthropic":
        pytest.skip("others take what comes")
    other = CALL.model_copy(update={"id": "call_8"})
    said = (
        Message(role="user", text="Weather?"),
        Message(role="user", text="In both?"),
        Message(role="assistant", tool_calls=(CALL, other)),
        Message(role="tool", text="clear", tool_call_id="call_7"),
        Message(role="tool", text="rain", tool_call_id="call_8"),
        Message(role="user", text="And tomorrow?"),
    )
    answer_of(settings(), ask(messages=said, tools=(WEATHER,)))
    user, _assistant, results = sent = server.chats[0].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in user["content"]] == ["Weather?", "In both?"]
    assert [block["type"] for block in results["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize("arguments", ["", "not JSON", "[1]"])
def test_arguments_that_are_no_object_do_not_stop_the_conversation(settings, server, arguments):
    call = CALL.model_copy(update={"arguments": arguments})
    said = (
        Message(role="user", text="Weather?"),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", text="?", tool_call_id="call_7"),
    )
    assert answer_of(settings(), ask(messages=said, tools=(WEATHER,))).text
    assert arguments in server.chats[0].content.decode()


# -- reasoning, refusals, ends ------------------------------------------------------------------------------------


def test_reasoning_is_kept_apart_from_the_answer(settings, say):
    """C17."""
    say(message("Seven.", reasoning_content="Three and four\n\nmake seven."))
    answer = answer_of(settings())
    assert answer.text == "Seven."
    assert answer.reasoning == "Three and four\n\nmake seven."


def test_think_tags_are_kept_apart_from_the_answer(settings, say):
    """C17."""
    say(message("<think>Three and four.</think>\nSeven."))
    answer = answer_of(settings())
    assert answer.text == "Seven."
    assert answer.reasoning == "Three and four."


@pytest.mark.parametrize(
    "completion",
    [
        message(None, reasoning_content="Hm."),
        message("<think>Hm.</think>"),
        message("<think>Hm, this goes on", finish_reason="length"),
    ],
)
def test_reasoning_alone_is_no_answer(settings, say, completion):
    """C17."""
    say(completion)
    assert error_of(settings()).code == "empty_answer"


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_an_empty_answer_is_a_state_of_its_own(settings, say, text):
    """C17."""
    say(message(text))
    error = error_of(settings())
    assert (error.code, error.retryable) == ("empty_answer", False)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("solar_flare", FinishReason.UNKNOWN),
        (None, FinishReason.UNKNOWN),
    ],
)
def test_every_finish_reason_is_kept(settings, say, face, finish, reason):
    """C16."""
    if face.kind == "ollama" and finish == "content_filter":
        pytest.skip("Ollama has no filter")
    say(message("So far.", finish_reason=finish))
    answer = answer_of(settings())
    assert (answer.text, answer.finish_reason) == ("So far.", reason)
    filtered = finish == "content_filter"
    assert answer.refusal_type is (RefusalType.PROVIDER_FILTER if filtered else None)


def test_a_refusal_in_a_field_of_its_own_is_the_models_refusal(settings, say, face):
    if face.kind not in ("openai", "azure"):
        pytest.skip("has no such field")
    say(message(None, refusal="I will not do that."))
    answer = answer_of(settings())
    assert answer.text == "I will not do that."
    assert answer.refusal_type is RefusalType.MODEL


def test_a_filter_that_stops_the_answer_before_its_first_word_is_an_answer(settings, say, face):
    """C16."""
    if face.kind == "ollama":
        pytest.skip("Ollama has no filter")
    say(message(None, finish_reason="content_filter"))
    answer = answer_of(settings())
    assert (answer.text, answer.refusal_type) == ("", RefusalType.PROVIDER_FILTER)


# -- usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counted", "usage"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 0}, Usage(prompt_tokens=7, completion_tokens=0)),
        ({"prompt_tokens": 7}, Usage(prompt_tokens=7, completion_tokens=None)),
        ({"prompt_tokens": "7", "completion_tokens": 3}, Usage(prompt_tokens=None, completion_tokens=3)),
        ({"prompt_tokens": -7, "completion_tokens": 2.5}, None),
        ({}, None),
        (None, None),
    ],
)
def test_tokens_are_counted_or_unknown_never_zero(settings, say, counted, usage):
    """C13."""
    say(message("Yes.", usage=counted))
    assert answer_of(settings()).usage == usage


# -- models, keys -------------------------------------------------------------------------------------------------


def test_models_are_listed_where_the_kind_lists_what_can_be_asked(settings, server, face):
    server.models = ("one", "two")
    if face.kind == "azure":
        with pytest.raises(ProviderError, match="does not list its deployments") as caught:
            using(settings(), lambda model: model.models())
        assert caught.value.code == "not_found"
    else:
        assert using(settings(), lambda model: model.models()) == ["one", "two"]


def test_the_key_travels_in_the_header_of_its_kind_and_in_no_other(settings, server, face):
    answer_of(settings())
    headers = server.chats[0].headers
    assert headers[face.key_header] == face.key_prefix + KEY
    assert [name for name, value in headers.items() if KEY in value] == [face.key_header]
    assert KEY not in server.chats[0].path and KEY.encode() not in server.chats[0].content


def test_without_a_key_no_key_header_is_sent(settings, server, face):
    answer_of(settings(), key=None)
    assert face.key_header not in server.chats[0].headers


def test_anthropic_is_told_which_version_of_its_api_is_spoken(settings, server, face):
    answer_of(settings())
    assert ("anthropic-version" in server.chats[0].headers) is (face.kind == "anthropic")


# -- parameters and dialect ---------------------------------------------------------------------------------------


def sent_with(settings, server, request=None, **changes):
    """The parameters that went over the wire; Ollama's lie under `options`."""
    answer_of(settings(**changes), request)
    sent = server.chats[-1].json
    return {**sent, **sent.get("options", {})}


def test_parameters_travel_under_the_kinds_own_names(settings, server, face):
    sent = sent_with(settings, server, ask(temperature=0.0, max_tokens=50))
    assert sent["temperature"] == 0.0
    assert sent["num_predict" if face.kind == "ollama" else "max_tokens"] == 50


def test_an_extra_body_travels_and_cannot_change_the_question(settings, server):
    assert sent_with(settings, server, extra_body={"seed": 7})["seed"] == 7
    for taken in ("model", "messages", "stream", "tools"):
        with pytest.raises(InputError, match=taken):
            answer_of(settings(extra_body={taken: "x"}))


def test_options_of_ollama_come_from_the_extra_body(settings, server, face):
    if face.kind != "ollama":
        pytest.skip("has no options")
    sent = sent_with(
        settings, server, ask(temperature=0.5), extra_body={"options": {"num_ctx": 4096}, "keep_alive": "1m"}
    )
    assert sent["options"] == {"temperature": 0.5, "num_ctx": 4096}
    assert sent["keep_alive"] == "1m"


def test_a_length_limit_is_always_sent_where_the_kind_demands_one(settings, server, face):
    sent = sent_with(settings, server)
    assert ("max_tokens" in sent) is (face.kind == "anthropic")


def test_what_the_endpoint_refuses_is_left_out_wherever_it_comes_from(settings, server):
    """C15."""
    dialect = Dialect(left_out=("temperature", "top_p"))
    sent = sent_with(settings, server, ask(temperature=0.0, dialect=dialect), extra_body={"top_p": 0.5, "seed": 7})
    assert "temperature" not in sent and "top_p" not in sent
    assert sent["seed"] == 7


def test_options_the_endpoint_refuses_are_left_out_too(settings, server, face):
    """C15."""
    if face.kind != "ollama":
        pytest.skip("has no options")
    request = ask(dialect=Dialect(left_out=("temperature", "max_tokens", "thinking")))
    options = {"temperature": 1, "num_predict": 9, "seed": 1}
    sent = sent_with(settings, server, request, extra_body={"options": options, "think": True})
    assert sent["options"] == {"seed": 1}
    assert "think" not in sent


def test_what_the_endpoint_calls_otherwise_is_renamed(settings, server):
    """C15."""
    request = ask(max_tokens=50, dialect=Dialect(renamed={"max_tokens": "max_completion_tokens"}))
    sent = sent_with(settings, server, request)
    assert sent["max_completion_tokens"] == 50
    assert "num_predict" not in sent


def test_a_refused_system_text_is_folded_into_the_first_question(settings, server):
    """C15."""
    answer_of(settings(), ask(messages=TALK, dialect=Dialect(left_out=("system",))))
    sent = server.chats[0].json
    assert "system" not in sent
    assert texts(server.face.request(sent)) == [
        ("user", "Be brief.\n\nWhat is a rainbow?"),
        ("assistant", "Bent light."),
        ("user", "Bent by what?"),
    ]


def test_an_endpoint_that_refuses_to_stream_is_asked_for_the_whole(settings, server):
    """C15."""
    answer = answer_of(settings(), ask(dialect=Dialect(left_out=("stream",))))
    assert answer.text and not answer.streamed
    assert not server.face.streams(server.chats[0].json)


def test_a_json_object_is_asked_for_by_the_kinds_own_means(settings, server, face):
    sent = sent_with(settings, server, ask(json_object=True))
    expected = {
        "openai": {"response_format": {"type": "json_object"}},
        "azure": {"response_format": {"type": "json_object"}},
        "ollama": {"format": "json"},
        "anthropic": {},
    }[face.kind]
    assert {name: sent.get(name) for name in expected} == expected
    plain = sent_with(settings, server)
    assert "response_format" not in plain and "format" not in plain
