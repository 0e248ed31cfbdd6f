"""What may go wrong with every kind of endpoint, whole or streamed: each its own name, and never half an answer."""

from __future__ import annotations

import asyncio

import pytest

from engine.domain.chat import RefusalType
from engine.providers import NO_RETRY, RetryPolicy, check
from tests.providers.conftest import KEY, answer_of, ask, error_of, using
from tests.support.scripted_server import Step, message

ONCE_MORE = RetryPolicy(count=1, delay_s=0.01, max_delay_s=0.02)


@pytest.fixture
def good(face, streamed):
    """A good answer as bytes and headers."""
    return face.step(message("Light, bent by rain and by nothing else."), streamed=streamed)


@pytest.fixture
def body(face, streamed):
    """The same as bytes."""
    completion = message("Light, bent by rain and by nothing else.")
    if streamed:
        return b"".join(face.pieces(completion))
    import json

    return json.dumps(face.whole(completion)).encode()


def test_c1_a_retry_after_is_waited_for(settings, server):
    """C1."""
    server.script(Step(status=429, headers={"Retry-After": "1"}, body=server.face.error("Slow down.")), Step())
    assert answer_of(settings()).tries == 2
    first, second = (request.at_s for request in server.chats)
    assert second - first >= 1


def test_c3_a_long_retry_after_fails_the_item_at_once(settings, server):
    """C3."""
    server.always(Step(status=429, headers={"Retry-After": "86400"}, body=server.face.error("Slow down.")))
    error = error_of(settings())
    assert (error.code, error.tries) == ("rate_limited", 1)
    assert "rate-limited until" in error.message


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 429, 408])
def test_c5_a_passing_fault_is_overcome(settings, server, good, status):
    """C5."""
    server.script(Step(status=status, body=server.face.error("Overloaded.", code="overloaded_error")), good)
    answer = answer_of(settings())
    assert (answer.text, answer.tries) == ("Light, bent by rain and by nothing else.", 2)


def test_c5_an_overload_that_stays_is_the_servers_fault(settings, server):
    """C5."""
    server.always(Step(status=529, body=server.face.error("Overloaded.", code="overloaded_error")))
    error = error_of(settings(), retry=ONCE_MORE)
    assert (error.code, error.tries) == ("server_error", 2)


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "bad_request"), (401, "auth"), (403, "auth"), (404, "not_found"), (422, "bad_request")],
)
def test_c6_a_refused_request_is_not_made_again(settings, server, status, code):
    """C6."""
    server.always(Step(status=status, body=server.face.error("No, because of X.")))
    error = error_of(settings())
    assert (error.code, error.status, error.retryable, error.tries) == (code, status, False, 1)
    assert "No, because of X." in error.message
    assert len(server.chats) == 1


@pytest.mark.parametrize("step", [Step(hang=True), Step(hang_after_headers=True), Step(drip_s=0.05)])
def test_c7_a_hang_ends_with_the_limit_on_the_whole_call(settings, server, step):
    """C7."""
    server.always(step)
    error = error_of(settings(timeout_s=0.3), retry=NO_RETRY)
    assert (error.code, error.retryable) == ("timeout", True)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_c9_an_answer_that_breaks_off_is_never_kept(settings, server, good, body, share):
    """C9."""
    cut = body[: int(len(body) * share)]
    server.always(Step(body=cut, headers=good.headers))
    error = error_of(settings(), retry=ONCE_MORE)
    assert error.code in ("malformed_body", "connection")
    assert error.retryable
    assert len(server.chats) == 2


def test_c9_a_wrong_content_length_is_never_kept(settings, server, good, body):
    """C9."""
    server.script(Step(body=body, headers=good.headers, send_bytes=len(body) - 5), good)
    answer = answer_of(settings())
    assert (answer.text, answer.tries) == ("Light, bent by rain and by nothing else.", 2)


def test_c9_a_dropped_connection_is_tried_again(settings, server, good):
    """C9."""
    server.script(Step(drop=True), good)
    assert answer_of(settings()).tries == 2


def test_c10_a_web_page_is_named_as_one(settings, server):
    """C10."""
    page = "<html><head><title>Sign in</title></head></html>"
    server.always(Step(headers={"Content-Type": "text/html"}, body=page))
    error = error_of(settings(), retry=ONCE_MORE)
    assert error.code == "malformed_body"
    assert 'web page titled "Sign in"' in error.message


SHAPES = [
    b"",
    b"   ",
    b"{}",
    b"[]",
    b"null",
    b"42",
    b'"text"',
    b"{",
    b"hello",
    b"\xff\xfe",
    b'{"choices": []}',
    b'{"choices": null}',
    b'{"choices": [null]}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": [{"message": {"content": 7}}]}',
    b'{"choices": [{"message": {"content": "", "tool_calls": 5}}]}',
    b'{"choices": [{"message": {"content": "", "tool_calls": [{"function": {}}]}}]}',
    b'{"content": null}',
    b'{"content": 7}',
    b'{"content": []}',
    b'{"content": [null, 7, {}]}',
    b'{"content": [{"type": "text", "text": null}]}',
    b'{"content": [{"type": "tool_use", "id": "x"}]}',
    b'{"message": null}',
    b'{"message": "text"}',
    b'{"message": {}}',
    b'{"message": {"content": 7}}',
    b'{"message": {"content": "", "tool_calls": 5}}',
    b'{"message": {"content": "", "tool_calls": [null]}}',
    b'{"message": {"content": "So"}, "done": false}',
    b'{"error": "Something broke."}',
    b'{"error": {"message": "Something broke.", "type": "api_error"}}',
    b'{"type": "error", "error": null}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[:40].decode("latin-1"))
def test_c10_every_odd_shape_is_a_named_failure(settings, server, shape):
    """C10."""
    server.always(Step(body=shape))
    error = error_of(settings(), retry=NO_RETRY)
    assert error.code in ("malformed_body", "empty_answer", "connection", "server_error")


def test_c10_an_odd_shape_among_streamed_pieces_is_a_named_failure(settings, server, face, streamed):
    """C10."""
    if not streamed:
        pytest.skip("nothing comes in pieces")
    pieces = face.pieces(message("Light, bent by rain."))
    for odd in (b"data: [1]\n\n", b"data: {\n\n", b"[1]\n", b"{\n", b'data: {"choices": 5}\n\n', b'{"message": 5}\n'):
        is_line = not odd.startswith(b"data:")
        if is_line is not (face.kind == "ollama"):
            continue
        if face.kind == "anthropic" and b"choices" in odd:
            continue  # an event it does not know, which it is told to overlook
        server.script(Step(body=b"".join([*pieces[:2], odd, *pieces[2:]]), headers=face.stream_headers))
        assert error_of(settings(), retry=NO_RETRY).code == "malformed_body"


def test_c11_an_error_in_the_midst_of_a_stream_is_no_answer(settings, server, face, streamed):
    """C11."""
    if not streamed:
        pytest.skip("nothing comes in pieces")
    pieces = face.pieces(message("Light, bent by rain."))
    broken = b"".join([*pieces[:-2], face.error_piece(f"The model crashed, Bearer {KEY}.")])
    server.always(Step(body=broken, headers=face.stream_headers))
    error = error_of(settings(), retry=ONCE_MORE)
    assert "The model crashed" in error.message
    assert error.tries == 2


def test_c11_a_stream_without_its_end_is_incomplete(settings, server, face, streamed):
    """C11."""
    if not streamed:
        pytest.skip("nothing comes in pieces")
    pieces = face.pieces(message("Light, bent by rain."))
    server.always(Step(body=b"".join(pieces[:-1]), headers=face.stream_headers))
    error = error_of(settings(), retry=NO_RETRY)
    assert (error.code, error.retryable) == ("connection", True)


def test_c11_lines_of_ollama_that_never_say_done_are_incomplete(settings, server, face, streamed):
    """C11."""
    if face.kind != "ollama" or not streamed:
        pytest.skip("has no such lines")
    lines = b"".join(face.pieces(message("Light, bent by rain."))).replace(b'"done": true, ', b"")
    server.always(Step(body=lines, headers=face.stream_headers))
    assert error_of(settings(), retry=NO_RETRY).code == "connection"


def test_c11_an_answer_that_comes_whole_although_a_stream_was_asked_for_is_read(settings, server, face):
    """C11."""
    server.script(face.step(message("All at once."), streamed=False))
    answer = answer_of(settings())
    assert (answer.text, answer.streamed) == ("All at once.", False)


def test_c12_error_bodies_of_any_shape_are_shown_short_and_clean(settings, server):
    """C12."""
    for body in (
        b"plain words",
        b"[1, 2]",
        b"7",
        b"",
        b"\xff\xfe\x00",
        b"<html>",
        b'{"error": "' + b"x" * 9000 + b'"}',
    ):
        server.script(Step(status=400, body=body))
        error = error_of(settings())
        assert (error.code, error.status) == ("bad_request", 400)


def test_a_key_that_is_echoed_is_masked(settings, server, face):
    """I3."""
    for status in (400, 401, 429, 500):
        server.script(Step(status=status, body=face.error(f"bad key {KEY} in {face.key_header}: {KEY}")))
        error = error_of(settings(), retry=NO_RETRY)
        assert "[masked]" in error.message


def test_a_request_that_the_filter_blocks_is_an_answer_of_the_filter(settings, server, face):
    if face.kind not in ("openai", "azure"):
        pytest.skip("says so in the answer")
    server.always(Step(status=400, body=face.error("Blocked.", code="content_filter")))
    assert answer_of(settings()).refusal_type is RefusalType.PROVIDER_FILTER


@pytest.mark.parametrize("status", [400, 422])
def test_c15_the_refused_parameter_is_named(settings, server, face, status):
    """C15."""
    server.always(
        Step(
            status=status,
            body=face.error("`temperature` is not supported by this model.", param="temperature"),
        )
    )
    assert error_of(settings(), ask(temperature=0.0)).refused == "temperature"


def test_a_check_asks_once_whatever_the_kind(settings, server):
    server.script(Step(status=503), Step())
    report = using(settings(), lambda model: check(model, "scripted"), retry=RetryPolicy())
    assert not report.ok and report.error.code == "server_error"
    assert len(server.chats) == 1
    assert using(settings(), lambda model: check(model, "scripted")).ok


def test_the_pace_shows_the_limit_of_the_endpoint(settings):
    async def pace(model):
        return model.pace()

    shown = using(settings(max_concurrency=7), pace)
    assert (shown.limit, shown.in_flight, shown.paused_until) == (7, 0, None)


def test_no_more_calls_are_in_flight_than_configured(settings, server):
    """J4."""
    server.latency_s = 0.02

    async def many(model):
        return await asyncio.gather(*(model.complete(ask(f"Question {number}")) for number in range(12)))

    answers = using(settings(max_concurrency=3), many)
    assert len(answers) == 12
    assert server.most_in_flight <= 3
