"""Everything that can go wrong between us and an endpoint, each with its own name."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import socket
import time
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from engine.providers import NO_RETRY, RetryPolicy
from engine.providers.faults import Secrets, cleaned, retry_after_s, until
from tests.providers.conftest import KEY, answer_of, ask, endpoint, error_of, using
from tests.support.scripted_server import ScriptedServer, Step, message

ONCE_MORE = RetryPolicy(count=1, delay_s=0.01, max_delay_s=0.02)


# -- statuses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "bad_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "not_found"),
        (405, "bad_request"),
        (413, "bad_request"),
        (422, "bad_request"),
        (501, "server_error"),
    ],
)
def test_c6_a_refused_request_is_not_made_again(server, status, code):
    """C6."""
    server.always(Step(status=status, body={"error": {"message": "No."}}))
    error = error_of(endpoint(server.base_url))
    assert (error.code, error.status, error.retryable, error.tries) == (code, status, False, 1)
    assert len(server.chats) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 429, 408])
def test_c5_a_passing_fault_is_overcome_and_the_calls_are_counted(server, status):
    """C5."""
    server.script(Step(status=status), Step(body=message("Back again.")))
    answer = answer_of(endpoint(server.base_url))
    assert answer.text == "Back again."
    assert answer.tries == 2


@pytest.mark.parametrize(
    ("status", "code"), [(500, "server_error"), (503, "server_error"), (429, "rate_limited"), (408, "timeout")]
)
def test_a_fault_that_stays_ends_after_the_configured_retries(server, status, code):
    server.always(Step(status=status))
    error = error_of(endpoint(server.base_url))
    assert (error.code, error.retryable, error.tries) == (code, True, 4)
    assert len(server.chats) == 4


def test_a_used_up_quota_is_not_waited_for(server):
    server.always(Step(status=429, body={"error": {"message": "Quota exceeded.", "code": "insufficient_quota"}}))
    error = error_of(endpoint(server.base_url))
    assert (error.code, error.retryable) == ("rate_limited", False)
    assert "quota" in error.hint
    assert len(server.chats) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_never_followed(server, status):
    with ScriptedServer() as elsewhere:
        server.always(Step(status=status, headers={"Location": f"{elsewhere.base_url}/chat/completions"}))
        error = error_of(endpoint(server.base_url))
        assert error.code == "not_found"
        assert "redirect" in error.message
        assert elsewhere.requests == []


# -- Retry-After --------------------------------------------------------------------------------------------------


def test_c1_retry_after_in_seconds_is_waited_for(server):
    """C1."""
    server.script(Step(status=429, headers={"Retry-After": "1"}), Step())
    assert answer_of(endpoint(server.base_url)).tries == 2
    first, second = (request.at_s for request in server.chats)
    assert second - first >= 1


def test_c2_retry_after_as_a_date_is_waited_for(server):
    """C2."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    server.script(Step(status=503, headers={"Retry-After": soon}), Step())
    assert answer_of(endpoint(server.base_url)).tries == 2
    first, second = (request.at_s for request in server.chats)
    assert second - first >= 0.9


PAST = "Mon, 01 Jan 2001 00:00:00 GMT"


@pytest.mark.parametrize("value", [PAST, "0", "-1", "soon", "NaN", "", "-inf", "Mon, 99 Foo 2001", "1,5", "١"])
def test_c2_a_retry_after_that_says_nothing_leaves_our_own_back_off(server, value):
    """C2."""
    header = value.encode().decode("latin-1")
    server.script(Step(status=429, headers={"Retry-After": header}), Step())
    assert answer_of(endpoint(server.base_url)).tries == 2


@pytest.mark.parametrize("value", ["86400", "1000000000", "1e9", "inf", "1e308", "Fri, 31 Dec 9999 23:59:59 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_c3_a_long_retry_after_fails_the_item_at_once_and_says_until_when(server, status, value):
    """C3."""
    server.always(Step(status=status, headers={"Retry-After": value}))
    error = error_of(endpoint(server.base_url))
    assert error.code == "rate_limited"
    assert error.tries == 1
    assert "rate-limited until" in error.message
    assert error.retry_after_s is not None and error.retry_after_s >= 86400


def test_a_naive_date_is_read_as_utc():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after_s({"retry-after": "Thu, 01 Jan 2026 00:00:30 -0000"}, now=now) == 30


def test_the_moment_until_when_is_told_in_utc():
    day = datetime.now(UTC) + timedelta(days=1)
    assert until(86400).startswith(f"{day:%Y-%m-%dT}") and until(86400).endswith("Z")
    assert until(1e300) == "further notice"


def test_c2_back_off_grows_with_jitter_between_its_bounds(server):
    """C2."""
    server.always(Step(status=500))
    error = error_of(endpoint(server.base_url))
    policy = RetryPolicy(count=9, delay_s=0.5, max_delay_s=8)
    pauses = [policy.pause_s(error, retry) for retry in range(8) for _ in range(50)]
    assert all(0.5 <= pause <= 8 for pause in pauses)
    assert len(set(pauses)) > 300
    assert max(pauses[:50]) <= 1.0
    assert max(pauses) > 4


# -- time ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [Step(hang=True), Step(hang_after_headers=True), Step(body=message("Slow."), drip_s=0.05)],
    ids=["before headers", "after headers", "one byte at a time"],
)
def test_c7_the_time_out_is_on_the_whole_answer(server, step):
    """C7."""
    server.always(step)
    start = time.monotonic()
    error = error_of(endpoint(server.base_url, timeout_s=0.4), retry=NO_RETRY)
    assert (error.code, error.retryable) == ("timeout", True)
    assert "0.4 s" in error.message
    assert time.monotonic() - start >= 0.4


def test_a_hang_is_overcome_by_asking_again(server):
    server.script(Step(hang=True), Step())
    assert answer_of(endpoint(server.base_url, timeout_s=0.3)).tries == 2


def test_a_cancelled_call_lets_go_of_the_connection(server):
    async def cancelled(model: Any) -> str:
        task = asyncio.create_task(model.complete(ask()))
        while not server.chats:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return str((await model.complete(ask())).text)

    server.script(Step(hang=True))
    assert using(endpoint(server.base_url, max_concurrency=1), cancelled)


# -- size ---------------------------------------------------------------------------------------------------------


def packed(megabytes: int, *, encoding: str) -> bytes:
    """So many MB of zeros, packed; never held unpacked."""
    packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return b"".join([*(packer.compress(bytes(1_000_000)) for _ in range(megabytes)), packer.flush()])


@pytest.mark.parametrize("stream", [False, True])
def test_c8_a_huge_body_is_cut_off_at_the_cap(server, growth, stream):
    """C8: 64 MB, sent while it is read."""
    body = itertools.chain([b'{"choices": "'], itertools.repeat(b"x" * 64_000, 1000), [b'"}'])
    server.always(Step(pieces=body, headers={"Content-Type": "application/json"}))
    error = error_of(endpoint(server.base_url, stream=stream, timeout_s=60))
    assert (error.code, error.tries) == ("too_large", 1)
    assert "8 MB" in error.message
    assert growth() < 50


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_c8_a_small_body_that_unpacks_to_gigabytes_is_cut_off(server, growth, encoding):
    """C8: a tenth of 1 GB, packed to 100 kB."""
    server.always(Step(body=packed(100, encoding=encoding), headers={"Content-Encoding": encoding}))
    assert error_of(endpoint(server.base_url)).code == "too_large"
    assert growth() < 50


def test_a_packed_answer_is_read(server):
    packed = gzip.compress(json.dumps(message("Unpacked.")).encode())
    server.script(Step(body=packed, headers={"Content-Encoding": "gzip"}))
    assert answer_of(endpoint(server.base_url)).text == "Unpacked."


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not packed at all", "gzip"),
        (gzip.compress(json.dumps(message("Half.")).encode(), mtime=0)[:40], "gzip"),
        (b"whatever", "br"),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_malformed(server, body, encoding):
    server.always(Step(body=body, headers={"Content-Encoding": encoding}))
    assert error_of(endpoint(server.base_url)).code == "malformed_body"


# -- broken lines -------------------------------------------------------------------------------------------------

WHOLE = json.dumps(message("A whole answer that must never be scored in part.")).encode()


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (Step(body=WHOLE[: len(WHOLE) // 2]), "malformed_body"),
        (Step(body=WHOLE, send_bytes=60), "connection"),
        (Step(body=WHOLE, send_bytes=len(WHOLE) - 1), "connection"),
        (Step(body=WHOLE, send_bytes=0), "connection"),
        (Step(drop=True), "connection"),
        (Step(raw=b""), "connection"),
        (Step(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), "malformed_body"),
        (Step(raw=b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"choices": [\r\n'), "connection"),
        (Step(raw=b"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n{}"), "malformed_body"),
    ],
)
def test_c9_a_part_of_an_answer_is_never_an_answer(server, step, code):
    """C9."""
    server.always(step)
    error = error_of(endpoint(server.base_url), retry=ONCE_MORE)
    assert (error.code, error.retryable, error.tries) == (code, True, 2)


def test_c9_a_broken_line_is_overcome_by_asking_again(server):
    """C9."""
    server.script(Step(body=WHOLE, send_bytes=60), Step(body=WHOLE[:50]), Step(body=WHOLE))
    answer = answer_of(endpoint(server.base_url))
    assert answer.tries == 3
    assert answer.text.endswith("in part.")


def test_a_closed_port_is_named():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        error = error_of(endpoint(f"http://127.0.0.1:{held.getsockname()[1]}"), retry=NO_RETRY)
    assert (error.code, error.retryable) == ("connection", True)
    assert "cannot be reached" in error.message


def test_a_providers_own_name_is_shown_clean():
    error = error_of(endpoint("http://127.0.0.1:9", name="two\nlines\x1b[31m"), retry=NO_RETRY)
    assert "two lines [31m" in error.message


def test_an_unknown_host_name_is_named(monkeypatch):
    def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = error_of(endpoint("http://no-such-host.example"), retry=NO_RETRY)
    assert error.code == "connection"
    assert "cannot be resolved" in error.message


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "this machine"),
        ("10.1.2.3", "private"),
        ("169.254.169.254", "metadata"),
        ("0.0.0.0", "no provider"),
    ],
)
def test_f2_a_name_that_leads_inside_is_refused_when_connecting(monkeypatch, address, words):
    """F2."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    error = error_of(endpoint("http://rebound.example"))
    assert (error.code, error.retryable, error.tries) == ("connection", False, 1)
    assert words in error.message


def test_a_name_without_any_address_is_named(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: [])
    assert error_of(endpoint("http://nowhere.example")).message.endswith("nowhere.example has no address")


def test_f2_a_listed_name_may_lead_inside(monkeypatch, server):
    """F2."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    assert answer_of(endpoint(f"http://gateway.example:{server.port}"), allowed_hosts=("gateway.example",)).text


# -- TLS ----------------------------------------------------------------------------------------------------------


def test_https_to_a_plain_port_is_named(server):
    error = error_of(endpoint(server.base_url.replace("http://", "https://")))
    assert (error.code, error.retryable) == ("tls", False)
    assert "http://" in error.hint


# -- odd answers --------------------------------------------------------------------------------------------------


def choice(**parts: Any) -> dict[str, Any]:
    return {"choices": [parts]}


MALFORMED = {
    "nothing": b"",
    "blanks": b"  \n ",
    "a web page": b"<!DOCTYPE html><html><title>Welcome to nginx!</title></html>",
    "plain words": b"Service starting",
    "invalid UTF-8": b'{"choices": "\xff\xfe"}',
    "null": b"null",
    "a number": b"17",
    "a string": b'"hello"',
    "a list": b"[]",
    "an empty object": b"{}",
    "an event stream": b'data: {"choices": []}\n\ndata: [DONE]\n\n',
    "no choices": {"id": "x", "object": "chat.completion"},
    "null choices": {"choices": None},
    "empty choices": {"choices": []},
    "choices as an object": {"choices": {"0": {}}},
    "choices as words": {"choices": "none"},
    "a null choice": {"choices": [None]},
    "a choice without a message": choice(index=0),
    "a null message": choice(message=None),
    "a message in words": choice(message="hello"),
    "a streamed delta": choice(delta={"content": "hello"}),
    "content as a number": choice(message={"content": 42}),
    "content as an object": choice(message={"content": {"text": "hello"}}),
    "tool calls as an object": choice(message={"content": None, "tool_calls": {"name": "x"}}),
    "a null tool call": choice(message={"content": None, "tool_calls": [None]}),
    "a tool call without a function": choice(message={"content": None, "tool_calls": [{"id": "1"}]}),
    "a tool call without a name": choice(message={"content": None, "tool_calls": [{"function": {"arguments": "{}"}}]}),
    "an error in words": {"error": "overloaded"},
    "an error object": {"error": {"message": "The upstream is gone.", "code": "upstream"}},
    "nesting without end": b'{"choices":' + b"[" * 100_000,
    "a number without end": b'{"choices": ' + b"9" * 10_000 + b"}",
    "two objects": json.dumps(message("One.")).encode() * 2,
}
EMPTY = {
    "null content": choice(message={"content": None}, finish_reason="stop"),
    "no content": choice(message={"role": "assistant"}),
    "empty text": choice(message={"content": ""}),
    "blanks": choice(message={"content": " \n\t "}),
    "an empty list of parts": choice(message={"content": []}),
    "parts of unknown kinds": choice(message={"content": [{"type": "hologram", "text": "boo"}, {"type": "text"}]}),
    "reasoning only": choice(message={"content": None, "reasoning_content": "Hmm."}),
    "a think block only": choice(message={"content": "<think>Hmm.</think>"}),
    "a think block that never ends": choice(message={"content": "<think>Hmm. And then"}, finish_reason="length"),
    "length and no text": choice(message={"content": ""}, finish_reason="length"),
    "no tool calls": choice(message={"content": None, "tool_calls": []}, finish_reason="tool_calls"),
    "an empty refusal": choice(message={"content": None, "refusal": ""}),
}


@pytest.mark.parametrize("shape", MALFORMED)
def test_c10_a_200_that_holds_no_answer_is_malformed(server, shape):
    """C10."""
    server.always(Step(body=MALFORMED[shape]))
    error = error_of(endpoint(server.base_url), retry=NO_RETRY)
    assert error.code == "malformed_body"


@pytest.mark.parametrize("shape", EMPTY)
def test_c10_an_answer_without_text_is_its_own_failure(server, shape):
    """C10."""
    server.always(Step(body=EMPTY[shape]))
    error = error_of(endpoint(server.base_url))
    assert (error.code, error.retryable, error.tries) == ("empty_answer", False, 1)


def test_an_unreadable_body_is_asked_for_only_twice_more(server):
    server.always(Step(body=b"{}"))
    assert error_of(endpoint(server.base_url), retry=RetryPolicy(count=9, delay_s=0.01, max_delay_s=0.01)).tries == 3


@pytest.mark.parametrize(
    ("inner", "code"), [(429, "rate_limited"), ("502", "server_error"), (401, "auth"), (400, "bad_request")]
)
def test_a_status_inside_a_200_counts_as_that_status(server, inner, code):
    server.always(Step(body={"error": {"code": inner, "message": "Upstream says no."}}))
    error = error_of(endpoint(server.base_url), retry=NO_RETRY)
    assert error.code == code
    assert "Upstream says no." in error.message


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"data": null}', b"<html></html>", b'{"data": "x"}'])
def test_a_model_list_that_cannot_be_read_is_malformed(server, body):
    server.received = lambda request: Step(body=body)  # the list of models is not scripted otherwise
    error = using(endpoint(server.base_url), model_error)
    assert error.code == "malformed_body"


async def model_error(model: Any) -> Any:
    from engine.errors import ProviderError

    with pytest.raises(ProviderError) as caught:
        await model.models()
    return caught.value


# -- words of the provider ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "Too long.", "code": "context_length_exceeded"}}, "context_length_exceeded: Too long."),
        ({"error": {"message": "Too long.", "type": "invalid_request_error"}}, "invalid_request_error: Too long."),
        ({"error": {"code": "only_a_word"}}, "only_a_word"),
        ({"error": "Plain words."}, "Plain words."),
        ({"message": "Top level.", "code": "top"}, "top: Top level."),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ([{"error": {"message": "In a list."}}], "In a list."),
        ("Just text.", "Just text."),
        (b'"A JSON string."', "A JSON string."),
        (b"17", "17"),
        (b"<html><head><title>413 Too Big</title></head></html>", 'a web page titled "413 Too Big"'),
        (b"\xff\xfe broken", "broken"),
        (b"red \x1b[31m alert\r\nX-Evil: 1\x00", "red [31m alert X-Evil: 1"),
        (b"", "(400)"),
        (b"[]", "(400)"),
    ],
)
def test_c12_an_error_of_any_shape_becomes_one_clean_line(server, body, words):
    """C12."""
    server.always(Step(status=400, body=body))
    error = error_of(endpoint(server.base_url))
    assert error.code == "bad_request"
    assert error.status == 400
    assert words in error.message


def test_c12_a_long_error_is_cut_to_500_characters(server):
    """C12."""
    server.always(Step(status=400, body={"error": {"message": "long " * 1000, "code": "wordy"}}))
    assert error_of(endpoint(server.base_url)).message.endswith("…")


@pytest.mark.parametrize(
    "echo",
    [
        f"Incorrect API key provided: {KEY}.",
        f"got headers: {{'Authorization': 'Bearer {KEY}'}}",
        f"Authorization: Bearer {KEY}",
        f'{{"x-api-key":"{KEY}"}}',
        "Incorrect API key provided: sk-can********b356.",
        "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abcdef is not valid",
    ],
)
@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_i3_a_key_echoed_by_the_provider_is_masked(server, status, echo):
    """I3."""
    server.always(Step(status=status, body={"error": {"message": echo, "code": echo}}))
    error = error_of(endpoint(server.base_url), retry=NO_RETRY)
    assert "[masked]" in error.message
    assert "b356" not in error.message and "eyJ" not in error.message


def test_secret_extra_headers_are_masked_as_well(server):
    server.always(Step(status=400, body={"error": {"message": "unknown tenant purple-canary"}}))
    settings = endpoint(server.base_url, extra_headers={"X-Tenant": "purple-canary"})
    assert "purple" not in error_of(settings).message


def test_ordinary_words_are_not_masked():
    text = "the api key is missing; basic checks failed for gpt-4o-mini"
    assert "gpt-4o-mini" in Secrets("").masked(text)


def test_cleaning_keeps_chinese_and_drops_what_cannot_be_seen():
    assert cleaned("模型\u200b不\u202e存在\n\n重试") == "模型 不 存在 重试"


def test_20_percent_passing_faults_are_overcome():
    """A tenth of C20 (1,000 items): every request that meets a fault meets none for ever."""

    async def many(model: Any) -> list[str]:
        answers = await asyncio.gather(
            *(model.complete(ask(f"question {number}")) for number in range(100)), return_exceptions=True
        )
        return [answer.text for answer in answers if not isinstance(answer, BaseException)]

    with ScriptedServer(fault_rate=0.2) as faulty:
        settings = endpoint(faulty.base_url, max_concurrency=8, timeout_s=0.5)
        answers = using(settings, many, retry=RetryPolicy(count=5, delay_s=0.01, max_delay_s=0.05))
        assert len(answers) >= 99
        assert faulty.answered.total() >= 99
        assert len(faulty.chats) > 105
