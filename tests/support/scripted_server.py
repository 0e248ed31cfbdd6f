"""A chat completions server on this machine that does as it is told.

In a test::

    with ScriptedServer() as server:
        server.script(Step(status=429, headers={"Retry-After": "2"}), Step())
        ... server.base_url ... server.requests

Each chat request takes the next step of the script; when the script is empty, a deterministic answer to the text is
given. As a process of its own, for kill tests and measurements, it prints its port as its first line::

    python -m tests.support.scripted_server --port 0 --latency-ms 50 --capable

One asyncio protocol, written by hand: it costs a small fraction of what any client of it costs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import ssl
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from tests.support.completions import message, streamed
from tests.support.scripted_answers import CODE_WORD, FENCED, HELPFUL, REFUSAL, default_answer, texts

__all__ = [
    "CODE_WORD",
    "FAULTS",
    "FENCED",
    "HELPFUL",
    "REFUSAL",
    "Received",
    "ScriptedServer",
    "Step",
    "default_answer",
    "message",
    "texts",
]

FAULTS = ("429", "500", "hang", "truncate", "drop", "html")


@dataclass(frozen=True)
class Step:
    """What happens to one chat request. Without `body` the deterministic answer is sent."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """bytes and str as they are, anything else as JSON."""
    delay_s: float = 0
    hang: bool = False
    """Nothing is ever sent."""
    hang_after_headers: bool = False
    drip_s: float = 0
    """One byte at a time, so far apart."""
    drop: bool = False
    """The connection is closed without a byte."""
    send_bytes: int | None = None
    """So much of the body is sent although its whole length was announced; then the connection is closed."""
    raw: bytes | None = None
    """Sent instead of any HTTP answer; then the connection is closed."""
    pieces: Iterable[bytes] | None = None
    """The body in chunks, one after the other, as fast as they are taken."""
    apart_s: float = 0
    """Between two pieces."""
    left_open: bool = False
    """The pieces are all sent, but the end of the body is not."""
    whole: bool = False
    """The completion is sent whole even where the request asks for a stream."""
    spoiled: bool = False
    """Not counted as answered, although the status is 200."""


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes
    at_s: float
    """Monotonic seconds."""
    peer: int = 0
    """The port it came from: the same for requests over one connection."""

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class ScriptedServer:
    """The server and what it has seen. Use it as a context manager; it runs in a thread of its own."""

    def __init__(
        self,
        *,
        latency_s: float = 0,
        capable: bool = False,
        judging: bool = False,
        models: Sequence[str] = ("scripted",),
        answer: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        tls: ssl.SSLContext | None = None,
        fault_rate: float = 0,
        faults: Sequence[str] = FAULTS,
        retry_after: str = "0",
        most_at_once: int | None = None,
    ) -> None:
        """`answer` replaces the deterministic answer. A share `fault_rate` of the calls meets one of `faults`, drawn
        anew for each repetition of the same request, so that every fault passes. Calls beyond `most_at_once` in flight
        are answered with 429 and no Retry-After."""
        self.latency_s = latency_s
        self.models = tuple(models)
        self.requests: list[Received] = []
        """Everything that came in, in order."""
        self.asked: Counter[str] = Counter()
        """How often each chat request came in, by a digest of its body."""
        self.answered: Counter[str] = Counter()
        """How often each was answered whole with 200."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self._answer = answer or functools.partial(default_answer, capable=capable, judging=judging)
        self._steps: deque[Step] = deque()
        self._always: Step | None = None
        self._tls = tls
        self._fault_rate = fault_rate
        self._faults = tuple(faults)
        self._retry_after = retry_after
        self._most_at_once = most_at_once
        self._keeps_log = True
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Received]:
        """The chat requests among `requests`."""
        return [request for request in self.requests if request.path.partition("?")[0].endswith("/chat/completions")]

    def script(self, *steps: Step) -> None:
        """What happens to the next chat requests, one step each."""
        self._steps.extend(steps)

    def always(self, step: Step | None) -> None:
        """What happens to every chat request beyond the script; None returns to answering."""
        self._always = step

    def __enter__(self) -> ScriptedServer:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(started.set)), name="scripted-server")
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_exc: object) -> None:
        assert self._loop is not None and self._stop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def serve(self, started: Callable[[], None], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Serve until stopped or cancelled; `started` is called when the port is known."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        open_connections: set[_Connection] = set()
        listener = await self._loop.create_server(
            lambda: _Connection(self, open_connections), host, port, ssl=self._tls, backlog=4096
        )
        self.port = listener.sockets[0].getsockname()[1]
        started()
        try:
            await self._stop.wait()
        finally:
            listener.close()
            for connection in list(open_connections):
                connection.abort()
            await asyncio.sleep(0)  # lets the transports run their connection_lost

    # -- what to do with a request; called by the connections ------------------------------------------------------

    def received(self, request: Received) -> Step:
        if self._keeps_log:
            self.requests.append(request)
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            return Step(body={"object": "list", "data": [{"id": name} for name in self.models]})
        if path == "/stats":
            return Step(body=self.stats())
        if request.method != "POST" or not path.endswith("/chat/completions"):
            return Step(status=404, body={"error": {"message": f"no route {path}", "code": "unknown_url"}})
        digest = _digest(request.content)
        self.asked[digest] += 1
        if self._most_at_once is not None and self.in_flight > self._most_at_once:
            return Step(status=429, body={"error": {"message": "Too many at once.", "code": "rate_limit_exceeded"}})
        if self._steps:
            return self._steps.popleft()
        if self._always is not None:
            return self._always
        return self._fault(request.content, self.asked[digest]) or Step(delay_s=self.latency_s)

    def body_of(self, step: Step, request: Received) -> bytes:
        if isinstance(step.body, bytes):
            return step.body
        if isinstance(step.body, str):
            return step.body.encode()
        content = step.body if step.body is not None else self._answer(json.loads(request.content))
        return json.dumps(content).encode()

    def stream_of(self, step: Step, request: Received) -> bytes | None:
        """The events of the answer, where the request asks for a stream and the step answers it; else None."""
        if b'"stream": true' not in request.content or step.whole or step.status != 200:
            return None
        asked = json.loads(request.content)
        content = step.body if step.body is not None else self._answer(asked)
        if not isinstance(content, dict) or not content.get("choices"):
            return None
        usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        try:
            return b"".join(streamed(content, usage=usage))
        except (KeyError, TypeError, AttributeError):  # no completion, so there is nothing to stream
            return None

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.asked.total(),
            "answered": self.answered.total(),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "asked": dict(self.asked),
            "answered_by_digest": dict(self.answered),
            "cpu_s": time.process_time(),
        }

    def _fault(self, content: bytes, repetition: int) -> Step | None:
        if not self._fault_rate:
            return None
        drawn = int.from_bytes(blake2b(content, digest_size=8, salt=repetition.to_bytes(8, "big")).digest(), "big")
        if drawn % 1_000_000 >= self._fault_rate * 1_000_000:
            return None
        kind = self._faults[drawn // 1_000_000 % len(self._faults)]
        if kind == "429":
            error = {"error": {"message": "Too many requests.", "code": "rate_limit_exceeded"}}
            return Step(status=429, headers={"Retry-After": self._retry_after}, body=error)
        if kind == "500":
            return Step(status=500, body={"error": {"message": "Something broke."}})
        if kind == "hang":
            return Step(hang=True)
        if kind == "truncate":
            whole = json.dumps(self._answer(json.loads(content))).encode()
            return Step(body=whole[: len(whole) // 2], spoiled=True)
        if kind == "html":
            return Step(headers={"Content-Type": "text/html"}, body="<html><title>Gateway</title></html>", spoiled=True)
        return Step(send_bytes=20)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request at a time."""

    def __init__(self, server: ScriptedServer, open_connections: set[_Connection]) -> None:
        self._server = server
        self._open = open_connections
        self._buffer = b""
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._peer = transport.get_extra_info("peername")[1]
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        for task in self._tasks:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._busy:
            self._busy = False
            self._server.in_flight -= 1

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if data[:1] == b"\x16" and not self._buffer and not self._busy:  # a TLS hello at a plain port
            self._transport.write(b"HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n")
            self._transport.close()
            return
        self._buffer += data
        if not self._busy:
            self._next()

    def _next(self) -> None:
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _colon, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        content, self._buffer = rest[:length], rest[length:]
        method, path, _version = first.split(" ", 2)
        request = Received(method, path, headers, content, time.monotonic(), self._peer)
        self._busy = True
        self._server.in_flight += 1
        self._server.most_in_flight = max(self._server.most_in_flight, self._server.in_flight)
        step = self._server.received(request)
        if step.delay_s:
            self._timer = self._loop.call_later(step.delay_s, self._do, step, request)
        else:
            self._do(step, request)

    def _do(self, step: Step, request: Received) -> None:
        self._timer = None
        if self._transport.is_closing() or step.hang:
            return
        if step.drop:
            self._transport.abort()
            return
        if step.raw is not None:
            self._transport.write(step.raw)
            self._transport.close()
            return
        if step.pieces is not None:
            self._run(self._send(step, request))
            return
        events = self._server.stream_of(step, request)
        body = events if events is not None else self._server.body_of(step, request)
        kind = "application/json" if events is None else "text/event-stream"
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **step.headers}
        head = f"HTTP/1.1 {step.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        start = head.encode("latin-1") + b"\r\n"
        if step.hang_after_headers:
            self._transport.write(start)
            return
        if step.send_bytes is not None:
            self._transport.write(start + body[: step.send_bytes])
            self._transport.close()
            return
        if step.drip_s:
            self._run(self._drip(start, body, step.drip_s))
            return
        self._transport.write(start + body)
        self._done(step, request)

    def _run(self, sending: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(sending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, step: Step, request: Received) -> None:
        headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **step.headers}
        head = f"HTTP/1.1 {step.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._transport.write(head.encode("latin-1") + b"\r\n")
        for piece in step.pieces or ():
            self._transport.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await asyncio.sleep(step.apart_s)
            await self._writable.wait()
        if not step.left_open:
            self._transport.write(b"0\r\n\r\n")
            self._done(step, request)

    async def _drip(self, start: bytes, body: bytes, apart_s: float) -> None:
        self._transport.write(start)
        for index in range(len(body)):
            self._transport.write(body[index : index + 1])
            await asyncio.sleep(apart_s)

    def _done(self, step: Step, request: Received) -> None:
        if step.status == 200 and not step.spoiled and request.method == "POST":
            self._server.answered[_digest(request.content)] += 1
        self._server.in_flight -= 1
        self._busy = False
        if self._buffer:
            self._next()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed; the first line printed is the port."""
    parser = argparse.ArgumentParser(description="A deterministic chat completions server.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--capable", action="store_true", help="give back the code words of capability probes")
    parser.add_argument("--judging", action="store_true", help="answer judge prompts with a verdict")
    parser.add_argument("--models", default="scripted", help="comma separated")
    parser.add_argument("--fault-rate", type=float, default=0, help="share of the calls that meet a passing fault")
    parser.add_argument("--faults", default=",".join(FAULTS), help="comma separated, of " + ",".join(FAULTS))
    parser.add_argument("--retry-after", default="0", help="the Retry-After of a 429 among the faults")
    options = parser.parse_args(arguments)
    server = ScriptedServer(
        latency_s=options.latency_ms / 1000,
        capable=options.capable,
        judging=options.judging,
        models=options.models.split(","),
        fault_rate=options.fault_rate,
        faults=options.faults.split(","),
        retry_after=options.retry_after,
    )
    server._keeps_log = False
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: print(server.port, flush=True), port=options.port))


if __name__ == "__main__":
    main(sys.argv[1:])
