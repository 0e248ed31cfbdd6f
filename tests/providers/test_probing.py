"""Finding out what a model can do and how it wants to be asked, and checking a connection."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from engine.domain.chat import Answer, Dialect, FinishReason, Probed
from engine.errors import ProviderError
from engine.providers import NO_RETRY, RetryPolicy, check
from engine.providers.probing import CAPABILITIES, code_word, picture_of, probe, served_model_note
from tests.providers.conftest import KEY, QUICK, answer_of, ask, endpoint, using
from tests.support.dialects import FACES, Face, FacedServer
from tests.support.scripted_server import CODE_WORD, ScriptedServer, Step, default_answer, message, texts

ABLE = dict.fromkeys(CAPABILITIES, True)


@pytest.fixture(params=sorted(FACES))
def face(request: pytest.FixtureRequest) -> Face:
    return FACES[request.param]


def probed(settings: Any, retry: RetryPolicy = QUICK) -> Probed:
    return using(settings, lambda model: probe(model, settings.model), retry=retry)


def capable(request: dict[str, Any]) -> dict[str, Any]:
    """Passes every probe and greets."""
    answer = default_answer(request, capable=True)
    said = texts(request)
    return message("Hello there!") if said[-1][1].startswith("Say hello in") else answer


def of(server: FacedServer, **changes: Any) -> Any:
    return endpoint(server.base_url, kind=server.face.kind, **changes)


def test_a_capable_model_of_any_kind_is_found_able_in_one_round_trip(face):
    with FacedServer(face, answer=capable) as server:
        found = probed(of(server))
        assert found == Probed(ABLE, Dialect(), ())
        assert len(server.chats) == len(CAPABILITIES)


def test_an_endpoint_that_accepts_everything_and_understands_nothing_can_only_chat(face):
    with FacedServer(face) as server:
        found = probed(of(server))
    assert found.capabilities == {**dict.fromkeys(CAPABILITIES, False), "chat": True}
    assert found.dialect == Dialect()


def test_code_words_are_new_each_time_and_outputs_are_not_limited(server):
    probed(endpoint(server.base_url))
    probed(endpoint(server.base_url))
    said = [text for request in server.chats for _role, text in texts(request.json)]
    words = [word for text in said for word in CODE_WORD.findall(text)]
    assert len(set(words)) == 10  # five probes a time say their word in text
    assert all("max_tokens" not in request.json for request in server.chats)
    assert code_word() != code_word()


def kind_of(asked: dict[str, Any]) -> str:
    """Which probe a chat completions request is."""
    messages = asked["messages"]
    text = "\n".join(text for _role, text in texts(asked))
    if asked.get("tools"):
        return "tools"
    if any(isinstance(sent["content"], list) for sent in messages):
        return "vision"
    if "JSON object" in text:
        return "json"
    if "Reply with this word only" in text:
        return "streaming"
    if "Please remember" in text:
        return "multi_turn"
    return "system_message" if "End every reply" in text else "chat"


class Fussy(FacedServer):
    """Answers capably, except where `decide` has a step of its own for a probe, given its kind and its request."""

    def __init__(self, decide: Callable[[str, dict[str, Any]], Step | None], *, face: Face = FACES["openai"]) -> None:
        super().__init__(face, answer=capable)
        self._decide = decide

    def received(self, request: Any) -> Step:
        usual = super().received(request)
        if request.method != "POST":
            return usual
        sent = request.json
        return self._decide(kind_of(self.face.request(sent)), {**sent, **sent.get("options", {})}) or usual


def failing(kind: str, step: Step) -> Fussy:
    return Fussy(lambda asked, _request: step if asked == kind else None)


@pytest.mark.parametrize("kind", ["system_message", "multi_turn", "tools", "vision", "json", "streaming"])
@pytest.mark.parametrize(
    ("step", "able"),
    [
        (Step(status=400, body={"error": {"message": "No, thank you."}}), False),
        (Step(body=json.dumps(message("I see.")).encode()), False),
        (Step(body=json.dumps(message(None)).encode()), False),
        (Step(status=503), None),
        (Step(status=429, headers={"Retry-After": "9999"}), None),
        (Step(drop=True), None),
        (Step(hang=True), None),
    ],
    ids=["refused", "ignored", "empty", "down", "limited", "dropped", "hanging"],
)
def test_a_refused_probe_is_a_no_and_a_passing_fault_is_unknown_and_told(kind, step, able):
    with failing(kind, step) as server:
        found = probed(of(server, timeout_s=1), retry=NO_RETRY)
    assert found.capabilities == {**ABLE, kind: able}
    assert found.dialect == Dialect()
    assert [kind in warning for warning in found.warnings] == ([True] if able is None else [])


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (Step(status=401), "auth"),
        (Step(body=b"<html></html>"), "malformed_body"),
        (Step(hang=True), "timeout"),
        (Step(body=json.dumps(message(None)).encode()), "empty_answer"),
        (Step(body=json.dumps(message(None, finish_reason="content_filter")).encode()), "empty_answer"),
    ],
    ids=["key", "page", "hang", "empty", "filtered"],
)
def test_without_chat_there_is_nothing_to_probe(step, code):
    with failing("chat", step) as server, pytest.raises(ProviderError) as caught:
        probed(of(server, timeout_s=0.5), retry=NO_RETRY)
    assert caught.value.code == code


def test_any_answer_at_all_is_chat_and_a_wrong_one_is_told():
    with ScriptedServer(answer=lambda request: message("42")) as server:
        found = probed(endpoint(server.base_url))
    assert found.capabilities["chat"] is True
    assert len(found.warnings) == 1 and "hello" in found.warnings[0]


@pytest.mark.parametrize("text", ["Hello!", "Hi there.", "Good morning to you.", "你好！", "Hey, welcome"])
def test_a_greeting_in_other_words_is_no_wrong_answer(text):
    with ScriptedServer(answer=lambda request: message(text)) as server:
        assert probed(endpoint(server.base_url)).warnings == ()


def test_json_with_words_around_it_is_no_json(server):
    server._answer = lambda request: message(f"Here you are: {capable(request)['choices'][0]['message']['content']}")
    assert probed(endpoint(server.base_url)).capabilities["json"] is False


def test_an_answer_that_comes_whole_is_not_streaming():
    with failing("streaming", Step(body=json.dumps(message("any")).encode())) as server:
        word = None

        def whole(kind: str, request: dict[str, Any]) -> Step | None:
            nonlocal word
            if kind != "streaming":
                return None
            word = CODE_WORD.findall(request["messages"][0]["content"])[-1]
            return Step(body=json.dumps(message(word)).encode())

        server._decide = whole
        found = probed(of(server))
    assert word is not None
    assert found.capabilities == {**ABLE, "streaming": False}


def test_a_word_spelled_out_counts():
    class Spelling:
        async def complete(self, request: Any) -> Answer:
            words = CODE_WORD.findall(" ".join(sent.text for sent in request.messages))
            return Answer(text="-".join(words[-1].lower()) if words else "hello", finish_reason=FinishReason.STOP)

    import asyncio

    found = asyncio.run(probe(Spelling(), "any")).capabilities
    assert found["system_message"] is True and found["multi_turn"] is True
    assert found["tools"] is False and found["vision"] is False and found["streaming"] is False


def test_the_picture_is_a_png_that_differs_by_word():
    one, other = picture_of("BCDFGHJK"), picture_of("BCDFGHJL")
    assert one.startswith(b"\x89PNG") and other.startswith(b"\x89PNG")
    assert one != other
    assert b"BCDFGHJK" not in one


# -- refused parameters -------------------------------------------------------------------------------------------


def refusing(face: Face, *refused: str, takes_system: bool = True) -> Fussy:
    """An endpoint that refuses these parameters, naming the first one it meets, and system text where told."""

    def decide(_kind: str, request: dict[str, Any]) -> Step | None:
        for name in refused:
            wire = "num_predict" if face.kind == "ollama" and name == "max_tokens" else name
            if wire in request:
                words = f"Unsupported parameter: '{name}' is not supported with this model."
                return Step(status=400, body=face.error(words, code="unsupported_parameter", param=name))
        roles = [role for role, _text in texts(face.request(request))]
        if not takes_system and "system" in roles:
            words = "'messages[0].role' does not support 'system' with this model."
            return Step(status=400, body=face.error(words, code="unsupported_value", param="messages[0].role"))
        return None

    return Fussy(decide, face=face)


def extra(face: Face, **parameters: Any) -> dict[str, Any]:
    """An extra body with these parameters, where the kind has them."""
    if face.kind != "ollama":
        return parameters
    names = {"max_tokens": "num_predict"}
    return {"options": {names.get(name, name): value for name, value in parameters.items()}}


def test_a_refused_parameter_is_learned_and_not_sent_again(face):
    """C15."""
    with refusing(face, "temperature") as server:
        settings = of(server, extra_body=extra(face, temperature=0.5, top_p=0.9))
        found = probed(settings)
        assert found.capabilities == ABLE
        assert found.dialect == Dialect(left_out=("temperature",))
        assert found.warnings == ("the endpoint refuses temperature; it is not sent",)
        assert answer_of(settings, ask(dialect=found.dialect)).text
        sent = server.chats[-1].json
        sent = {**sent, **sent.get("options", {})}
        assert sent["top_p"] == 0.9 and "temperature" not in sent


@pytest.mark.parametrize("kind", ["openai", "azure"])
def test_a_length_limit_under_its_other_name_is_learned(kind):
    """C15."""
    with refusing(FACES[kind], "max_tokens") as server:
        settings = of(server, extra_body={"max_tokens": 50})
        found = probed(settings)
        assert found.capabilities == ABLE
        assert found.dialect == Dialect(renamed={"max_tokens": "max_completion_tokens"})
        assert found.warnings == ("the endpoint refuses max_tokens; it is sent as max_completion_tokens",)
        answer_of(settings, ask(dialect=found.dialect))
        assert server.chats[-1].json["max_completion_tokens"] == 50


@pytest.mark.parametrize("kind", ["openai", "azure"])
def test_a_length_limit_that_is_refused_under_both_names_is_not_sent(kind):
    """C15."""
    with refusing(FACES[kind], "max_tokens", "max_completion_tokens") as server:
        found = probed(of(server, extra_body={"max_tokens": 50}))
    assert found.capabilities == ABLE
    assert found.dialect.renamed == {} and "max_tokens" in found.dialect.left_out


def test_two_refused_parameters_take_two_round_trips_as_well(face):
    """C15."""
    refused = ("top_p", "temperature")
    with refusing(face, *refused) as server:
        settings = of(server, extra_body=extra(face, temperature=0.5, top_p=0.9, seed=7))
        found = probed(settings)
        assert found.capabilities == ABLE
        assert found.dialect == Dialect(left_out=refused)
        assert len(server.chats) == 3 * len(CAPABILITIES)
        answer_of(settings, ask(dialect=found.dialect))
        sent = server.chats[-1].json
        assert {**sent, **sent.get("options", {})}["seed"] == 7


def test_more_than_two_refused_parameters_are_left_to_the_run_and_hide_no_ability(face):
    """C15."""
    with refusing(face, "top_p", "temperature", "seed", "verbosity", takes_system=False) as server:
        settings = of(server, extra_body=extra(face, temperature=0.5, top_p=0.9, seed=7, verbosity="low"))
        found = probed(settings)
        assert found.capabilities == ABLE
        assert found.dialect == Dialect(left_out=("top_p", "temperature"))
        assert len(server.chats) == 3 * len(CAPABILITIES)


def test_a_refused_system_role_leaves_the_model_able_when_the_folded_text_is_obeyed(face):
    """C15."""
    with refusing(face, takes_system=False) as server:
        found = probed(of(server))
        assert found.capabilities == ABLE
        assert found.dialect == Dialect(left_out=("system",))
        assert len(found.warnings) == 1 and "system" in found.warnings[0]
        assert len(server.chats) == len(CAPABILITIES) + 1


def test_a_refused_system_role_and_parameter_are_both_learned(face):
    """C15."""
    with refusing(face, "temperature", takes_system=False) as server:
        found = probed(of(server, extra_body=extra(face, temperature=0.5)))
    assert found.capabilities == ABLE
    assert set(found.dialect.left_out) == {"temperature", "system"}


def test_an_endpoint_that_refuses_to_stream_is_asked_for_the_whole(face):
    """C15."""

    def decide(_kind: str, request: dict[str, Any]) -> Step | None:
        refused = face.error("Streaming is not supported: 'stream'.", code="unsupported_parameter", param="stream")
        return Step(status=400, body=refused) if request.get("stream") is True else None

    with Fussy(decide, face=face) as server:
        found = probed(of(server, stream=True))
        assert found.capabilities == {**ABLE, "streaming": False}
        assert found.dialect == Dialect(left_out=("stream",))
        assert found.warnings == ("the endpoint refuses to stream; answers are asked for whole",)
        quiet = probed(of(server))
        assert quiet == Probed({**ABLE, "streaming": False}, Dialect(), ())


def test_json_in_words_counts_where_the_parameter_for_it_is_refused():
    with refusing(FACES["openai"], "response_format") as server:
        found = probed(of(server))
        assert found == Probed(ABLE, Dialect(), ())
        assert len(server.chats) == len(CAPABILITIES) + 1


def test_refused_tools_are_a_no_and_not_asked_again(face):
    with refusing(face, "tools") as server:
        found = probed(of(server))
        assert found == Probed({**ABLE, "tools": False}, Dialect(), ())
        assert len(server.chats) == len(CAPABILITIES)


@pytest.mark.parametrize("kind", ["multi_turn", "tools", "vision", "streaming"])
def test_what_one_probe_alone_is_refused_for_changes_nothing_for_the_others(kind):
    """Its error may name anything: the words are about what it alone sends."""
    words = "'system' and 'temperature' are not supported together with this."
    error = FACES["openai"].error(words, code="unsupported_parameter", param="temperature")
    with failing(kind, Step(status=400, body=error)) as server:
        found = probed(of(server, extra_body={"temperature": 0.5}))
        assert found == Probed({**ABLE, kind: False}, Dialect(), ())
        assert len(server.chats) == len(CAPABILITIES)


def test_a_parameter_that_stays_refused_is_told_as_the_endpoint_tells_it():
    def decide(_kind: str, _request: dict[str, Any]) -> Step:
        words = "Unsupported parameter: 'seed' is not supported."
        return Step(status=400, body=FACES["openai"].error(words, code="unsupported_parameter", param="seed"))

    with Fussy(decide) as server:
        with pytest.raises(ProviderError, match="seed"):
            probed(of(server))
        assert len(server.chats) == 3 * len(CAPABILITIES)


# -- the served model ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "served"),
    [
        ("gpt-x", None),
        ("gpt-x", "gpt-x"),
        ("GPT-X ", "gpt-x"),
        ("maker/gpt-x", "gpt-x"),
        ("gpt-x", "maker/gpt-x"),
        ("llama3", "llama3:latest"),
        ("llama3:latest", "llama3"),
    ],
)
def test_the_same_model_under_another_spelling_is_no_change(configured, served):
    assert served_model_note(configured, served) is None


@pytest.mark.parametrize("served", ["gpt-x-2026-01-01", "gpt-y", "xgpt-x"])
def test_another_model_than_the_configured_one_is_told(served):
    note = served_model_note("gpt-x", served)
    assert note is not None and "gpt-x" in note and served in note


# -- checking a connection ----------------------------------------------------------------------------------------


def checked(settings: Any, name: str = "scripted", **options: Any) -> Any:
    return using(settings, lambda model: check(model, name), **options)


def test_a_good_connection_is_reported_with_its_latency():
    with ScriptedServer(latency_s=0.03) as server:
        report = checked(endpoint(server.base_url))
        assert report.ok and report.error is None
        assert report.latency_ms >= 30
        assert report.model == "scripted"
        assert "max_tokens" not in server.chats[0].json


def test_a_check_does_not_wait_for_retries(server):
    server.always(Step(status=503))
    report = checked(endpoint(server.base_url), retry=RetryPolicy())
    assert not report.ok and report.error.code == "server_error"
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        (Step(status=401, body={"error": {"message": f"bad key {KEY}"}}), "auth", "key"),
        (Step(hang=True), "timeout", "0.3 s"),
        (Step(body=b"<html><title>Home</title></html>"), "malformed_body", "web page"),
        (Step(status=307, headers={"Location": "/x"}), "not_found", "redirect"),
    ],
)
def test_a_check_says_in_words_what_is_wrong(server, step, code, words):
    server.always(step)
    report = checked(endpoint(server.base_url, timeout_s=0.3))
    assert report.error.code == code
    assert words in report.error.message
    assert report.error.hint
    assert KEY not in report.error.message
    assert report.latency_ms is not None


def test_a_check_of_an_address_where_nobody_listens_says_so():
    report = checked(endpoint("http://127.0.0.1:9"))
    assert report.error.code == "connection"
    assert "cannot be reached" in report.error.message


@pytest.mark.parametrize("status", [400, 404])
def test_a_wrong_model_name_is_told_with_what_the_endpoint_offers(server, status):
    server.models = tuple(f"model-{number}" for number in range(12))
    server.always(Step(status=status, body={"error": {"message": "no such model", "code": "model_not_found"}}))
    report = checked(endpoint(server.base_url), name="modle-1")
    assert report.error.code == "not_found"
    assert "'modle-1'" in report.error.message
    assert "model-1, " in report.error.hint and re.search(r"\.\.\.", report.error.hint)


def test_a_right_name_or_an_endpoint_without_a_list_keeps_the_first_error(server):
    server.always(Step(status=404, body={"error": {"message": "gone"}}))
    assert checked(endpoint(server.base_url)).error.message.endswith("gone")
    server.models = ()
    assert checked(endpoint(server.base_url), name="other").error.message.endswith("gone")


def test_an_endpoint_that_lists_nothing_keeps_the_first_error(server):
    server.received = lambda request: Step(status=404, body={"error": {"message": "nothing here"}})
    report = checked(endpoint(server.base_url))
    assert report.error.code == "not_found"
    assert "nothing here" in report.error.message


def test_another_kind_of_model_is_checked_as_well():
    class Other:
        async def complete_once(self, request: Any) -> Answer:
            return Answer(text="Hello.", finish_reason=FinishReason.STOP, served_model="other-1")

        async def models(self) -> list[str]:
            return []

        async def close(self) -> None:
            return None

    import asyncio

    assert asyncio.run(check(Other(), "other")).model == "other-1"
