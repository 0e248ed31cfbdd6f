"""Finding out what a model can do, and checking a connection."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine.domain.chat import Answer, FinishReason
from engine.errors import ProviderError
from engine.providers import NO_RETRY, RetryPolicy, check
from engine.providers.probing import CAPABILITIES, code_word, picture_of, probe
from tests.providers.conftest import KEY, QUICK, endpoint, using
from tests.support.scripted_server import CODE_WORD, ScriptedServer, Step, default_answer, message, texts


def probed(settings: Any, retry: RetryPolicy = QUICK) -> dict[str, bool | None]:
    return using(settings, lambda model: probe(model, settings.model), retry=retry)


def test_a_capable_model_is_found_able_in_one_round_trip():
    with ScriptedServer(capable=True) as server:
        found = probed(endpoint(server.base_url))
        assert found == dict.fromkeys(CAPABILITIES, True)
        assert len(server.chats) == len(CAPABILITIES)


def test_an_endpoint_that_accepts_everything_and_understands_nothing_can_only_chat(server):
    found = probed(endpoint(server.base_url))
    assert found == {"chat": True, "system_message": False, "multi_turn": False, "tools": False, "vision": False}


def test_code_words_are_new_each_time_and_outputs_are_not_limited(server):
    probed(endpoint(server.base_url))
    probed(endpoint(server.base_url))
    said = [text for request in server.chats for _role, text in texts(request.json)]
    words = [word for text in said for word in CODE_WORD.findall(text)]
    assert len(set(words)) == 6  # three probes a time say their word in text
    assert all("max_tokens" not in request.json for request in server.chats)
    assert code_word() != code_word()


def refusing(kind: str, step: Step) -> Any:
    """A server that answers capably except for one kind of probe."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return default_answer(request, capable=True)

    server = ScriptedServer(answer=answer)
    taken = server.received

    def received(request: Any) -> Step:
        usual = taken(request)
        asked = request.json if request.method == "POST" else {}
        messages = asked.get("messages", [])
        kinds = {
            "tools": bool(asked.get("tools")),
            "vision": any(isinstance(sent["content"], list) for sent in messages),
            "system_message": any(sent["role"] == "system" for sent in messages),
            "chat": len(messages) == 1 and not asked.get("tools") and isinstance(messages[0]["content"], str),
        }
        return step if kinds.get(kind) else usual

    server.received = received
    return server


@pytest.mark.parametrize("kind", ["tools", "vision", "system_message"])
@pytest.mark.parametrize(
    ("step", "able"),
    [
        (Step(status=400, body={"error": {"message": "not supported"}}), False),
        (Step(body=message("I see.")), False),
        (Step(body=message(None)), False),
        (Step(status=503), None),
        (Step(status=429, headers={"Retry-After": "9999"}), None),
        (Step(drop=True), None),
        (Step(hang=True), None),
    ],
    ids=["refused", "ignored", "empty", "down", "limited", "dropped", "hanging"],
)
def test_a_refused_probe_is_a_no_and_a_passing_fault_is_unknown(kind, step, able):
    with refusing(kind, step) as server:
        found = probed(endpoint(server.base_url, timeout_s=1), retry=NO_RETRY)
    assert found.pop(kind) is able
    assert set(found.values()) == {True}


@pytest.mark.parametrize(
    ("step", "code"),
    [(Step(status=401), "auth"), (Step(body=b"<html></html>"), "malformed_body"), (Step(hang=True), "timeout")],
)
def test_without_chat_there_is_nothing_to_probe(step, code):
    with refusing("chat", step) as server, pytest.raises(ProviderError) as caught:
        probed(endpoint(server.base_url, timeout_s=0.5), retry=NO_RETRY)
    assert caught.value.code == code


def test_any_answer_at_all_is_chat():
    with ScriptedServer(answer=lambda request: message("42")) as server:
        assert probed(endpoint(server.base_url))["chat"] is True


def test_a_word_spelled_out_counts(server):
    class Spelling:
        async def complete(self, request: Any) -> Answer:
            words = CODE_WORD.findall(" ".join(sent.text for sent in request.messages))
            return Answer(text="-".join(words[-1].lower()) if words else "no", finish_reason=FinishReason.STOP)

        async def models(self) -> list[str]:
            return []

        async def close(self) -> None:
            return None

    import asyncio

    found = asyncio.run(probe(Spelling(), "any"))
    assert found["system_message"] is True and found["multi_turn"] is True
    assert found["tools"] is False and found["vision"] is False


def test_the_picture_is_a_png_that_differs_by_word():
    one, other = picture_of("BCDFGHJK"), picture_of("BCDFGHJL")
    assert one.startswith(b"\x89PNG") and other.startswith(b"\x89PNG")
    assert one != other
    assert b"BCDFGHJK" not in one


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
