"""Answers that come piece by piece: the same as whole ones, or a named failure, never a part of one."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

from engine.domain.chat import Answer, Dialect, Usage
from engine.providers import NO_RETRY, RetryPolicy
from engine.providers.sse import Event, EventReader
from tests.providers.conftest import answer_of, ask, endpoint, error_of, using
from tests.support.completions import chunk, event, message, streamed
from tests.support.scripted_server import ScriptedServer, Step

ONCE_MORE = RetryPolicy(count=1, delay_s=0.01, max_delay_s=0.02)
WEATHER = {"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":  "深圳"'}}
CLOCK = {"id": "call_b", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
COMPLETIONS = {
    "plain": message("Light, bent by rain."),
    "Chinese and emoji": message("彩虹是光在雨中的折射🌈。\n\n第二段。"),
    "separators of Unicode": message("one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven"),
    "line ends": message("one\r\ntwo\rthree\n\nfour: data: [DONE]"),
    "half a surrogate pair": message("a \ud83d b"),
    "reasoning_content": message("Yes.", reasoning_content="Let me see."),
    "reasoning": message("Yes.", reasoning="Let me see."),
    "a think block": message("<think>Let me see.</think>\n\nYes."),
    "a refusal": message(None, refusal="I must decline."),
    "a filtered answer": message("", finish_reason="content_filter"),
    "cut at its limit": message("And so", finish_reason="length"),
    "an unknown end": message("Yes.", finish_reason="tired"),
    "tool calls": message(None, tool_calls=[WEATHER, CLOCK], finish_reason="tool_calls"),
    "text and a tool call": message("I will look.", tool_calls=[CLOCK], finish_reason="tool_calls"),
    "unknown usage": message("Yes.", usage=None),
    "odd usage": message("Yes.", usage={"prompt_tokens": "12", "completion_tokens": -1}),
    "text in parts": message([{"type": "text", "text": "One, "}, {"type": "text", "text": "two."}]),
}


def streaming(server: ScriptedServer, **changes: Any) -> Any:
    return endpoint(server.base_url, stream=True, **changes)


def alike(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same but for the way they came."""
    return one.model_copy(update={"streamed": other.streamed, "took_s": other.took_s}) == other


def pieces(*events: bytes, **changes: Any) -> Step:
    return Step(pieces=list(events), **changes)


# -- the same answer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPLETIONS)
def test_c11_a_streamed_answer_is_the_one_that_would_have_come_whole(server, name):
    """C11."""
    server.always(Step(body=COMPLETIONS[name]))
    whole = answer_of(endpoint(server.base_url))
    answer = answer_of(streaming(server))
    assert answer.streamed and not whole.streamed
    assert alike(answer, whole)
    asked = server.chats[1].json
    assert (asked["stream"], asked["stream_options"]) == (True, {"include_usage": True})
    assert "stream" not in server.chats[0].json


def rewritten(wire: bytes, how: str) -> bytes:
    """The same stream as other servers write it."""
    if how == "comments":
        return b": connected\n\n" + wire.replace(b"data: ", b": still here\ndata: ")
    if how == "keep-alives":
        return b"\n\n\n" + wire.replace(b"\n\n", b"\n\n\n:\n\n\r\n")
    if how == "retry, id and event lines":
        return b"retry: 3000\n\n" + wire.replace(
            b"data: ", b"id: 7\nevent: message\nretry: 10\nunknown: x\nword\ndata: "
        )
    if how == "CRLF":
        return wire.replace(b"\n", b"\r\n")
    if how == "CR":
        return wire.replace(b"\n", b"\r")
    if how == "no blank after the colon":
        return wire.replace(b"data: ", b"data:")
    if how == "a byte order mark":
        return b"\xef\xbb\xbf" + wire
    if how == "data over several lines":
        return wire.replace(b', "', b',\ndata: "')
    if how == "CRLF and data over several lines":
        return wire.replace(b', "', b',\ndata: "').replace(b"\n", b"\r\n")
    if how == "no blank line at the end":
        return wire.removesuffix(b"\n\n")
    if how == "words after the end":
        return wire + b"data: {}\n\ndata: nonsense\n\n"
    return wire


WAYS = (
    "comments",
    "keep-alives",
    "retry, id and event lines",
    "CRLF",
    "CR",
    "no blank after the colon",
    "a byte order mark",
    "data over several lines",
    "CRLF and data over several lines",
    "no blank line at the end",
    "words after the end",
)


@pytest.mark.parametrize("how", WAYS)
def test_c11_every_way_to_write_a_stream_reads_the_same(server, how):
    """C11."""
    completion = message("彩虹🌈 is light.", reasoning_content="想", tool_calls=[WEATHER])
    wire = rewritten(b"".join(streamed(completion)), how)
    server.script(Step(body=completion), pieces(*(wire[start : start + 7] for start in range(0, len(wire), 7))))
    whole = answer_of(endpoint(server.base_url))
    assert alike(answer_of(streaming(server)), whole)
    assert len(server.chats) == 2


@pytest.mark.parametrize("how", ("as it is", *WAYS))
@pytest.mark.parametrize("size", [1, 2, 3, 5, 16, 1000])
def test_c11_where_a_stream_is_cut_into_chunks_does_not_matter(how, size):
    """C11: a chunk may end within a character, a line end or a field's name."""
    wire = rewritten(b"".join(streamed(message("彩虹🌈\u2028 is light."))), how)
    reader = EventReader()
    events = [found for start in range(0, len(wire), size) for found in reader.feed(wire[start : start + size])]
    last = reader.rest()
    assert [*events, *([last] if last else [])] == EventReader().feed(wire + b"\n\n")
    assert any("🌈".encode() in json.dumps(json.loads(each.data), ensure_ascii=False).encode() for each in events[:5])


def test_an_event_keeps_its_name_and_drops_nothing_of_its_data():
    found = EventReader().feed(b"event: error\ndata:  two blanks\ndata\ndata: x:y\n\nevent: empty\n\ndata: z\n\n")
    assert found == [Event("error", b" two blanks\n\nx:y"), Event("", b"z")]


def test_a_stream_packed_with_gzip_is_read(server):
    wire = gzip.compress(b"".join(streamed(message("Unpacked."))))
    server.script(pieces(wire[:20], wire[20:], headers={"Content-Encoding": "gzip"}))
    assert answer_of(streaming(server)).text == "Unpacked."


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream", ""])
def test_a_stream_under_another_name_is_read_as_one(server, kind):
    server.script(Step(body=b"".join(streamed(message("All the same."))), headers={"Content-Type": kind}))
    assert answer_of(streaming(server)).text == "All the same."


def test_a_whole_answer_to_the_question_for_a_stream_is_read_too(server):
    server.script(Step(body=message("In one piece."), whole=True))
    answer = answer_of(streaming(server))
    assert (answer.text, answer.usage) == ("In one piece.", Usage(prompt_tokens=10, completion_tokens=5))


def test_a_request_may_ask_for_a_stream_or_against_it(server):
    answer_of(endpoint(server.base_url), ask(stream=True))
    answer_of(streaming(server), ask(stream=False))
    assert ["stream" in request.json for request in server.chats] == [True, False]


def test_after_the_end_of_a_stream_its_connection_is_used_again(server):
    async def ten(model: Any) -> None:
        for number in range(10):
            await model.complete(ask(f"question {number}"))

    # The end of the body comes a moment after the end of the answer.
    server.script(*(Step(pieces=[b"".join(streamed(YES))], apart_s=0.01) for _ in range(10)))
    using(streaming(server), ten)
    assert len({request.peer for request in server.chats}) == 1


def test_an_end_without_the_end_of_the_body_is_an_end(server):
    server.script(pieces(*streamed(message("That is all.")), left_open=True), Step())
    assert answer_of(streaming(server, timeout_s=5)).text == "That is all."


# -- oddities of gateways -----------------------------------------------------------------------------------------


def calls_of(server: ScriptedServer, *deltas: dict[str, Any]) -> list[tuple[str, str, str]]:
    completion = message(None)
    events = [event(chunk(completion, {"tool_calls": [delta]})) for delta in deltas]
    server.script(pieces(*events, event(chunk(completion, {}, finish="tool_calls")), event(b"[DONE]")))
    return [(call.id, call.name, call.arguments) for call in answer_of(streaming(server)).tool_calls]


def test_tool_calls_are_put_together_however_they_are_numbered(server):
    one = {"id": "a", "function": {"name": "look", "arguments": '{"x":'}}
    two = {"id": "b", "function": {"name": "find", "arguments": "{}"}}
    rest = {"function": {"arguments": "1}"}}
    expected = [("a", "look", '{"x":1}'), ("b", "find", "{}")]
    assert calls_of(server, {"index": 0, **one}, {"index": 0, **rest}, {"index": 1, **two}) == expected
    assert calls_of(server, {"index": 0, **one}, {"index": 1, **two}, {"index": 0, **rest}) == expected
    assert calls_of(server, one, rest, two) == expected
    assert calls_of(server, {"index": 0, **one}, {"index": 0, **rest}, {"index": 0, **two}) == expected
    assert calls_of(server, {"index": 3, "id": "a", "function": {"name": "look", "arguments": {"x": 1}}}) == [
        ("a", "look", '{"x": 1}')
    ]
    again = {"index": 0, "id": "a", "function": {"name": "look", "arguments": "1}"}}
    assert calls_of(server, {"index": 0, **one}, again) == expected[:1]


def test_the_older_function_call_is_put_together(server):
    completion = message(None)
    deltas = [{"function_call": {"name": "look", "arguments": "{"}}, {"function_call": {"arguments": "}"}}]
    server.script(pieces(*(event(chunk(completion, delta)) for delta in deltas), event(b"[DONE]")))
    assert [(call.name, call.arguments) for call in answer_of(streaming(server)).tool_calls] == [("look", "{}")]


def test_thoughts_in_typed_parts_are_joined_without_seams(server):
    def thinking(text: str) -> bytes:
        part = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return event(chunk(message(None), {"content": [part]}))

    server.script(
        pieces(
            thinking("Let me "), thinking("see."), event(chunk(message(None), {"content": "Yes."})), event(b"[DONE]")
        )
    )
    answer = answer_of(streaming(server))
    assert (answer.text, answer.reasoning) == ("Yes.", "Let me see.")


def test_other_choices_empty_choices_and_usage_in_odd_places_do_no_harm(server):
    completion = message(None, model="served")
    other = chunk(completion, {"content": "another answer"})
    other["choices"][0]["index"] = 1
    last = chunk(completion, {"content": "."}, finish="stop")
    last["choices"][0]["usage"] = {"prompt_tokens": 3, "completion_tokens": 2}
    odd = [
        {"choices": [], "prompt_filter_results": []},
        {"id": "only", "choices": None},
        chunk(completion, {"content": "Yes"}),
        other,
        chunk(completion, {"role": "assistant", "content": None}),
        {"choices": [{"index": 0, "finish_reason": None}]},
        last,
    ]
    server.script(pieces(*map(event, odd), b"data:\n\n", event(b"[DONE]")))
    answer = answer_of(streaming(server))
    assert (answer.text, answer.usage) == ("Yes.", Usage(prompt_tokens=3, completion_tokens=2))
    assert answer.served_model == "served"


# -- not the whole answer -----------------------------------------------------------------------------------------

YES = message("Yes, that is a whole answer.")
WIRE = streamed(YES)


@pytest.mark.parametrize(
    "events",
    [WIRE[:-1], WIRE[:-2], WIRE[:-3], WIRE[:4], WIRE[:1], [], [*WIRE[:4], WIRE[4][:30]], [*WIRE[:4], b"data: [DO"]],
    ids=["no end mark", "no usage", "no finish reason", "half", "role only", "nothing", "cut in an event", "cut mark"],
)
def test_c11_a_stream_without_its_end_is_incomplete(server, events):
    """C11, C9: missing end = incomplete, whatever came before."""
    server.always(pieces(*events))
    error = error_of(streaming(server), retry=ONCE_MORE)
    assert (error.code, error.retryable, error.tries) == ("connection", True, 2)
    assert "broke off" in error.message


def test_c9_a_stream_whose_line_drops_is_asked_for_again(server):
    """C9."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    some = b"".join(WIRE[:4])
    server.script(
        Step(raw=head + b"%x\r\n%s\r\n" % (len(some), some)),
        Step(raw=head + b"%x\r\n%s" % (len(some) + 9, some)),
        Step(body=YES),
    )
    answer = answer_of(streaming(server))
    assert (answer.text, answer.tries) == ("Yes, that is a whole answer.", 3)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (
            {"error": {"message": "The upstream is gone.", "code": "upstream"}},
            "malformed_body",
            "The upstream is gone.",
        ),
        ({"error": {"message": "Slow down.", "code": 429}}, "rate_limited", "Slow down."),
        ({"error": {"message": "Slow down.", "type": "rate_limit_error"}}, "rate_limited", "Slow down."),
        ({"error": {"message": "Broken.", "type": "server_error"}}, "server_error", "Broken."),
        ({"error": {"message": "Busy.", "type": "overloaded_error"}}, "server_error", "Busy."),
        ({"error": {"message": "Out of memory.", "code": "502"}}, "server_error", "Out of memory."),
        ({"error": "overloaded"}, "malformed_body", "overloaded"),
        (b'event: error\ndata: {"message": "Gone."}\n\n', "malformed_body", "Gone."),
        (b"event: error\ndata: plain words\n\n", "malformed_body", "plain words"),
    ],
)
def test_c11_an_error_in_the_middle_of_a_stream_is_a_named_failure(server, said, code, words):
    """C11."""
    server.always(pieces(*WIRE[:4], said if isinstance(said, bytes) else event(said), *WIRE[4:]))
    error = error_of(streaming(server), retry=NO_RETRY)
    assert error.code == code
    assert words in error.message


def test_a_filter_that_stops_a_stream_is_the_providers_refusal(server):
    filtered = {"error": {"message": "Filtered.", "code": "content_filter"}}
    server.script(pieces(*WIRE[:4], event(filtered)))
    answer = answer_of(streaming(server))
    assert (answer.text, answer.finish_reason, answer.refusal_type) == ("", "content_filter", "provider_filter")


ODD = {
    "not JSON": b"data: hello\n\n",
    "broken JSON": b'data: {"choices": [{"delta"\n\n',
    "invalid UTF-8": b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n',
    "a list": event([]),
    "a number": event(7),
    "null": event(None),
    "choices in words": event({"choices": "none"}),
    "a choice in words": event({"choices": ["x"]}),
    "a delta in words": event({"choices": [{"delta": "x"}]}),
    "content as a number": event({"choices": [{"delta": {"content": 7}}]}),
    "tool calls as an object": event({"choices": [{"delta": {"tool_calls": {"name": "x"}}}]}),
    "a null tool call": event({"choices": [{"delta": {"tool_calls": [None]}}]}),
    "a tool call without a function": event({"choices": [{"delta": {"tool_calls": [{"id": "x"}]}}]}),
    "a tool call without a name": event({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {}}]}}]}),
    "no choices at all": b": nothing\n\n",
    "nesting without end": b'data: {"choices":' + b"[" * 100_000 + b"\n\n",
}


@pytest.mark.parametrize("shape", ODD)
def test_c10_an_odd_piece_is_malformed(server, shape):
    """C10, streamed."""
    server.always(pieces(ODD[shape], event(b"[DONE]")))
    assert error_of(streaming(server), retry=NO_RETRY).code == "malformed_body"


@pytest.mark.parametrize(
    "delta",
    [
        {},
        {"content": ""},
        {"content": " \n"},
        {"reasoning_content": "Hmm."},
        {"content": "<think>Hmm."},
        {"refusal": ""},
    ],
)
def test_c10_a_stream_without_text_is_an_empty_answer(server, delta):
    """C10, C17, streamed."""
    server.always(pieces(event(chunk(YES, delta)), event(chunk(YES, {}, finish="stop")), event(b"[DONE]")))
    error = error_of(streaming(server))
    assert (error.code, error.tries) == ("empty_answer", 1)


# -- time and size ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "apart_s"),
    [
        (WIRE[:2], 0.0),
        ([bytes([byte]) for byte in b"".join(WIRE)], 0.05),
        (itertools.repeat(b": keep-alive\n\n"), 0.01),
        (itertools.repeat(event(chunk(YES, {"content": "again "}))), 0.01),
    ],
    ids=["hangs in the middle", "one byte at a time", "keep-alives for ever", "an answer without end"],
)
def test_c7_the_time_out_is_on_the_whole_stream(server, events, apart_s):
    """C7, streamed."""
    server.always(Step(pieces=events, apart_s=apart_s, left_open=True))
    error = error_of(streaming(server, timeout_s=0.4), retry=NO_RETRY)
    assert (error.code, error.retryable) == ("timeout", True)


ENDLESS: dict[str, Iterable[bytes]] = {
    "text": itertools.repeat(event(chunk(YES, {"content": "x" * 20_000}))),
    "arguments": itertools.repeat(
        event(chunk(YES, {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "x" * 20_000}}]}))
    ),
    "one line": itertools.repeat(b"x" * 60_000),
    "one event": itertools.chain([b"data: {"], itertools.repeat(b"\ndata: " + b" " * 60_000)),
    "comments": itertools.repeat(b": " + b"x" * 60_000 + b"\n"),
    "empty pieces": itertools.repeat(event(chunk(YES, {"odd": "x" * 60_000}))),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_c8_a_stream_without_end_is_cut_off_at_the_cap(server, growth, kind):
    """C8, streamed."""
    server.always(Step(pieces=ENDLESS[kind]))
    error = error_of(streaming(server, timeout_s=60))
    assert (error.code, error.tries) == ("too_large", 1)
    assert f"more than {32 if kind in ('comments', 'empty pieces') else 8} MB" in error.message
    assert growth() < 50


def test_c8_a_packed_stream_that_unpacks_to_gigabytes_is_cut_off(server, growth):
    """C8, streamed."""
    packer = zlib.compressobj(wbits=31)
    packed = b"".join([packer.compress(b"data: "), *(packer.compress(bytes(1_000_000)) for _ in range(200))])
    server.always(Step(pieces=[packed], headers={"Content-Encoding": "gzip"}))
    assert error_of(streaming(server)).code == "too_large"
    assert growth() < 50


# -- what an endpoint does not take -------------------------------------------------------------------------------

NO_COUNT = {"error": {"message": "Unrecognized request argument supplied: stream_options", "param": None}}


def test_an_endpoint_that_takes_no_stream_options_is_asked_without_them(server):
    async def twice(model: Any) -> tuple[Any, Any]:
        return await model.complete(ask("one")), await model.complete(ask("two"))

    server.script(Step(status=400, body=NO_COUNT))
    first, second = using(streaming(server), twice)
    assert (first.tries, second.tries) == (2, 1)
    assert first.text and first.usage is None
    assert ["stream_options" in request.json for request in server.chats] == [True, False, False]


def test_many_calls_at_once_learn_it_together(server):
    async def many(model: Any) -> list[Any]:
        return await asyncio.gather(*(model.complete(ask(f"question {number}")) for number in range(6)))

    server.received = refusing(server, "stream_options")  # type: ignore[method-assign]
    assert all(answer.text for answer in using(streaming(server, max_concurrency=6), many))


def refusing(server: ScriptedServer, name: str) -> Any:
    usual = server.received

    def received(request: Any) -> Step:
        step = usual(request)
        error = {"error": {"message": f"Unrecognized request argument supplied: {name}"}}
        return Step(status=400, body=error) if name in request.json else step

    return received


def test_a_dialect_without_streams_asks_for_none(server):
    answer_of(streaming(server), ask(dialect=Dialect(left_out=("stream",))))
    answer_of(streaming(server), ask(dialect=Dialect(left_out=("stream_options",))))
    one, two = (request.json for request in server.chats)
    assert "stream" not in one and "stream_options" not in one
    assert two["stream"] is True and "stream_options" not in two
