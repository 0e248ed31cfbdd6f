"""Calls to one endpoint: whole answers or named errors, bounded in time, size, number and rate.

The connection pool is aiohttp's, below an httpx transport. The transport is called without an httpx client around it:
a client adds cookies, redirects and proxies, all of which we refuse, at a third more CPU a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar, cast

import aiohttp
import httpx
import tenacity
from pydantic import Field

from engine.domain.base import Model
from engine.domain.chat import Pace
from engine.errors import ProviderError
from engine.providers import faults
from engine.providers.addresses import endpoint_url
from engine.providers.faults import BODY_LIMIT
from engine.providers.limiter import Limiter
from engine.providers.network import DIRECT, Line, connected
from engine.providers.sse import EventReader, Gathering, looks_like_events

STREAM_LIMIT = 32_000_000
"""Bytes of a whole stream of events, whose wrapping is many times the answer; the answer in it keeps to BODY_LIMIT."""

_PIECE = 1_000_000
_DRAINED = 65_536
_DRAIN_S = 0.25

LONGEST_WAIT_S = 120.0
SHORT_WAIT_S = 10.0
"""A Retry-After up to this is waited for even if our own back-off is set to be quicker."""

MALFORMED_RETRIES = 2
"""An unreadable body is more often a wrong address than a passing fault, so it is tried less often."""

Read = TypeVar("Read")


class RetryPolicy(Model):
    """How often a failed call is made again, and how long apart: from `delay_s`, doubling, up to `max_delay_s`."""

    count: int = Field(default=5, ge=0)
    delay_s: float = Field(default=5, ge=0)
    max_delay_s: float = Field(default=60, ge=0)

    def patience_s(self) -> float:
        """The longest Retry-After that is slept on; anything longer fails the item at once."""
        return min(max(self.max_delay_s, SHORT_WAIT_S), LONGEST_WAIT_S)

    def pause_s(self, error: ProviderError, retry: int) -> float:
        """How long to wait before the retry numbered from 0: what the provider asked for, else back-off with jitter."""
        if error.retry_after_s is not None:
            return error.retry_after_s + random.uniform(0, min(1.0, error.retry_after_s / 4))  # noqa: S311
        low = min(self.delay_s, self.max_delay_s)
        high = min(self.delay_s * 2.0 ** min(retry + 1, 60), self.max_delay_s)
        return random.uniform(low, high)  # noqa: S311


NO_RETRY = RetryPolicy(count=0)


def _whole(*_: object) -> None:
    """No gathering: the answer is to come in one piece."""


class Called(NamedTuple, Generic[Read]):
    """What came of a call."""

    answer: Read
    tries: int
    """How many calls it took."""
    took_s: float
    """How long the one that was answered took: no earlier one, no pause and no queue."""


class _Call(NamedTuple, Generic[Read]):
    """What is asked, and how the answer is read."""

    method: str
    path: str
    content: bytes
    read: Callable[[bytes], Read]
    gathering: Callable[[], Gathering[Read] | None]
    retry: RetryPolicy


class Endpoint:
    """One base URL with its headers, limits and connections. Belongs to the event loop that first uses it."""

    def __init__(
        self,
        base_url: str,
        *,
        name: str,
        headers: Mapping[str, str],
        timeout_s: float,
        max_concurrency: int,
        requests_per_minute: int | None = None,
        secrets: faults.Secrets | None = None,
        sent: tuple[str, ...] = (),
        allowed_hosts: tuple[str, ...] = (),
        connect_timeout_s: float | None = None,
        line: Line = DIRECT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`base_url` is already checked. `transport` replaces the network, as the demo does.

        `sent` are names of what the settings add to every request, which an error may name.

        Raises:
            InputError: what `line` names cannot be used.
        """
        address = f" ({base_url.partition('?')[0]})" if transport is None else ""
        self.where = f"the endpoint {faults.cleaned(name, 80)}{address}"
        self.secrets = secrets or faults.Secrets()
        self._sent = sent
        self.path = httpx.URL(base_url).path
        """That of the base URL; kinds whose paths depend on it read it."""
        self._base_url = base_url
        self._timeout_s = timeout_s
        # Of the limits aiohttp knows, `pool` is the one on connecting as a whole: name, socket, proxy and TLS.
        limits = {"connect": None, "read": None, "write": None, "pool": connect_timeout_s}
        self._extensions = {"timeout": limits}
        self._headers = httpx.Headers({**headers, "accept": "application/json", "accept-encoding": "gzip, deflate"})
        self._headers["host"] = httpx.URL(base_url).netloc.decode("ascii")
        self._urls: dict[str, httpx.URL] = {}
        self._limiter = Limiter(max_concurrency)
        self._interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._transport = transport or connected(base_url, line, allowed_hosts)

    async def call(
        self,
        method: str,
        path: str,
        content: bytes,
        read: Callable[[bytes], Read],
        *,
        retry: RetryPolicy,
        gathering: Callable[[], Gathering[Read] | None] = _whole,
    ) -> Called[Read]:
        """What `read` makes of a 2xx body.

        Args:
            method: Of HTTP.
            path: Below the base URL.
            content: The body to send.
            read: Raises ProviderError for a body it cannot use.
            retry: When a failed call is made again.
            gathering: Makes what puts a streamed answer together, anew for every try; None where the answer is to
                come whole. An endpoint that was asked for a stream may still send one whole body, which is then read.

        Raises:
            ProviderError: the last one, with `tries` and `took_s` set.
        """
        call = _Call(method, path, content, read, gathering, retry)
        try:
            return await self._try(call)
        except ProviderError as error:
            first: ProviderError | None = error
        tries = 1

        async def again() -> Called[Read]:
            nonlocal first, tries
            # The failure above counts as the first attempt of the loop below; a good call never enters the loop.
            if first is not None:
                error, first = first, None
                raise error
            tries += 1
            return await self._try(call)

        try:
            called: Called[Read] = await tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception(lambda error: _worth_retrying(error, retry)),
                stop=lambda state: _used_up(state, retry),
                wait=lambda state: retry.pause_s(_error_of(state), state.attempt_number - 1),
                reraise=True,
            )(again)
        except ProviderError as error:
            self._give_up(error, tries, retry)
            raise
        return called._replace(tries=tries)

    def pace(self) -> Pace:
        """How fast the endpoint lets itself be asked right now. May be read from any thread."""
        return self._limiter.pace()

    async def close(self) -> None:
        await self._transport.aclose()

    async def _try(self, call: _Call[Read]) -> Called[Read]:
        await self._limiter.enter()
        try:
            if self._interval_s:
                await self._spread()
            called_at = time.monotonic()
            answer = await self._exchange(call)
            took_s = time.monotonic() - called_at
        except ProviderError as error:
            error.took_s = time.monotonic() - called_at
            if error.status == 429 and error.retryable:
                self._slow_down(error, called_at, call.retry)
            raise
        finally:
            self._limiter.leave()
        self._limiter.succeeded()
        return Called(answer, 1, took_s)

    def _slow_down(self, error: ProviderError, called_at: float, retry: RetryPolicy) -> None:
        """Fewer calls at once; and none at all for as long as the endpoint asked for, if that can be waited for."""
        self._limiter.too_fast(called_at=called_at)
        if error.retry_after_s is not None and not _asks_too_long(error, retry):
            self._limiter.pause(error.retry_after_s)

    async def _exchange(self, call: _Call[Read]) -> Read:
        """One HTTP call. Only an answer that arrived whole comes back."""
        url = self._urls.get(call.path)
        if url is None:
            url = self._urls[call.path] = endpoint_url(self._base_url, call.path)
        request = httpx.Request(
            call.method, url, headers=self._headers, content=call.content, extensions=self._extensions
        )
        gathering = call.gathering()
        body: bytes | None = None
        try:
            # The limit is on the whole exchange: limits on single reads never end a body that drips.
            async with asyncio.timeout(self._timeout_s):
                response = await self._transport.handle_async_request(request)
                try:
                    good = 200 <= response.status_code < 300
                    if gathering is not None and good and _is_stream(response):
                        await self._gather(response, gathering)
                    else:
                        body = await self._body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise faults.timed_out(self._timeout_s, where=self.where) from None
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            if isinstance(error.__cause__, aiohttp.ConnectionTimeoutError):
                raise faults.not_reached(where=self.where) from error
            raise faults.from_exception(error, where=self.where) from error
        if not good:
            raise faults.from_status(
                response.status_code,
                response.headers,
                body or b"",
                where=self.where,
                secrets=self.secrets,
                sent=self._sent,
            )
        if gathering is None:
            return call.read(body or b"")
        if body is None:
            return gathering.whole()
        if looks_like_events(body):  # a stream that its headers call something else
            self._finish(EventReader(), body, gathering)
            return gathering.whole()
        return call.read(body)

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for piece in self._pieces(response):
            body += piece
            if len(body) > BODY_LIMIT:
                raise faults.too_large(BODY_LIMIT, where=self.where)
        return bytes(body)

    async def _gather(self, response: httpx.Response, gathering: Gathering[Any]) -> None:
        """Feed the events of a stream until it says that it has ended, or ends."""
        reader = EventReader()
        size = 0
        async with contextlib.aclosing(self._pieces(response)) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > STREAM_LIMIT:
                    raise faults.too_large(STREAM_LIMIT, where=self.where)
                for event in reader.feed(piece):
                    if gathering.feed(event):
                        await _drain(pieces)
                        return
                if reader.held > BODY_LIMIT:
                    raise faults.too_large(BODY_LIMIT, where=self.where)
        self._finish(reader, b"", gathering)

    def _finish(self, reader: EventReader, piece: bytes, gathering: Gathering[Any]) -> None:
        """Feed what is left of a stream that has ended."""
        for event in reader.feed(piece):
            if gathering.feed(event):
                return
        last = reader.rest()
        if last is None:
            return
        try:
            gathering.feed(last)
        except ProviderError as error:
            if error.code != "malformed_body":
                raise
            raise faults.broke_off(where=self.where) from error  # it lacks its end, so it was cut

    async def _pieces(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """The body as it comes in, decoded, in pieces of bounded size."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        async with contextlib.aclosing(_chunks(response)) as chunks:
            if encoding in ("", "identity"):
                async for chunk in chunks:
                    yield chunk
                return
            if encoding not in ("gzip", "x-gzip", "deflate"):
                raise faults.malformed(f"a body encoded as {faults.cleaned(encoding, 40)!r}", where=self.where)
            # Decoded here rather than by httpx: a limit on each piece stops a small body that unpacks to gigabytes.
            unpacker = zlib.decompressobj(wbits=47)
            try:
                async for packed in chunks:
                    while True:
                        piece = unpacker.decompress(packed, _PIECE)
                        packed = unpacker.unconsumed_tail
                        if piece:
                            yield piece
                        if not packed and len(piece) < _PIECE:
                            break
            except zlib.error as error:
                raise faults.malformed("a body that cannot be unpacked", where=self.where) from error
            if not unpacker.eof:
                raise faults.malformed("a packed body that stops half way", where=self.where)

    async def _spread(self) -> None:
        """Keep calls at least one interval apart, across every caller of this endpoint."""
        now = time.monotonic()
        start = max(now, self._next_start)
        self._next_start = start + self._interval_s
        while (wait_s := max(start - time.monotonic(), self._limiter.pause_left_s())) > 0:
            await asyncio.sleep(wait_s)

    def _give_up(self, error: ProviderError, tries: int, retry: RetryPolicy) -> None:
        """Add to the last error what only the whole series of calls can tell."""
        error.tries = tries
        if error.retryable and error.retry_after_s is not None and _asks_too_long(error, retry):
            error.code = "rate_limited"
            error.message = faults.cleaned(f"{error.message}; rate-limited until {faults.until(error.retry_after_s)}")
            error.args = (error.message,)


def _worth_retrying(error: BaseException, retry: RetryPolicy) -> bool:
    return isinstance(error, ProviderError) and error.retryable and not _asks_too_long(error, retry)


def _asks_too_long(error: ProviderError, retry: RetryPolicy) -> bool:
    return error.retry_after_s is not None and error.retry_after_s > retry.patience_s()


def _error_of(state: tenacity.RetryCallState) -> ProviderError:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, ProviderError)  # nothing else is retried
    return error


def _used_up(state: tenacity.RetryCallState, retry: RetryPolicy) -> bool:
    allowed = min(retry.count, MALFORMED_RETRIES) if _error_of(state).code == "malformed_body" else retry.count
    return state.attempt_number > allowed


def _chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body as it is on the wire; to be closed by whoever stops early."""
    return cast("AsyncGenerator[bytes, None]", aiter(cast(httpx.AsyncByteStream, response.stream)))


def _is_stream(response: httpx.Response) -> bool:
    return bool(response.headers.get("content-type", "").lstrip().lower().startswith("text/event-stream"))


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read on to the end of the body, which usually is there already: only then is the connection used again."""
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S):
            async for piece in pieces:
                size += len(piece)
                if size > _DRAINED:
                    return
