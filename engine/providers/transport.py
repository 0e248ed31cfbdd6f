"""Calls to one endpoint: whole answers or named errors, bounded in time, size, number and rate.

The connection pool is aiohttp's, below an httpx transport. The transport is called without an httpx client around it:
a client adds cookies, redirects and proxies, all of which we refuse, at a third more CPU a call.
"""

from __future__ import annotations

import asyncio
import functools
import random
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import aiohttp
import httpx
import tenacity
from httpx_aiohttp import AiohttpTransport
from pydantic import Field

from engine.domain.base import Model
from engine.domain.chat import Pace
from engine.errors import ProviderError
from engine.providers import faults
from engine.providers.addresses import GuardedResolver, endpoint_url
from engine.providers.limiter import Limiter

BODY_LIMIT = 8_000_000
"""Bytes of an answer after decoding; more is never read."""

LONGEST_WAIT_S = 120.0
SHORT_WAIT_S = 10.0
"""A Retry-After up to this is waited for even if our own back-off is set to be quicker."""

MALFORMED_RETRIES = 2
"""An unreadable body is more often a wrong address than a passing fault, so it is tried less often."""

_NO_TIMEOUT = {"timeout": {"connect": None, "read": None, "write": None, "pool": None}}

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


class Reply(NamedTuple):
    """A whole HTTP answer, body decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


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
        allowed_hosts: tuple[str, ...] = (),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`base_url` is already checked. `transport` replaces the network, as the demo does."""
        address = f" ({base_url.partition('?')[0]})" if transport is None else ""
        self.where = f"the endpoint {faults.cleaned(name, 80)}{address}"
        self.secrets = secrets or faults.Secrets()
        self.path = httpx.URL(base_url).path
        """That of the base URL; kinds whose paths depend on it read it."""
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._headers = httpx.Headers({**headers, "accept": "application/json", "accept-encoding": "gzip, deflate"})
        self._headers["host"] = httpx.URL(base_url).netloc.decode("ascii")
        self._urls: dict[str, httpx.URL] = {}
        self._limiter = Limiter(max_concurrency)
        self._interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._transport = transport or _network(base_url, allowed_hosts)

    async def call(
        self, method: str, path: str, content: bytes, read: Callable[[bytes], Read], *, retry: RetryPolicy
    ) -> tuple[Read, int]:
        """What `read` makes of a 2xx body, and how many calls it took.

        `read` raises ProviderError for a body it cannot use. Raises the last ProviderError, with `tries` set.
        """
        try:
            return await self._try(method, path, content, read, retry), 1
        except ProviderError as error:
            first: ProviderError | None = error
        tries = 1

        async def again() -> Read:
            nonlocal first, tries
            # The failure above counts as the first attempt of the loop below; a good call never enters the loop.
            if first is not None:
                error, first = first, None
                raise error
            tries += 1
            return await self._try(method, path, content, read, retry)

        try:
            answer: Read = await tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception(lambda error: _worth_retrying(error, retry)),
                stop=lambda state: _used_up(state, retry),
                wait=lambda state: retry.pause_s(_error_of(state), state.attempt_number - 1),
                reraise=True,
            )(again)
        except ProviderError as error:
            self._give_up(error, tries, retry)
            raise
        return answer, tries

    def pace(self) -> Pace:
        """How fast the endpoint lets itself be asked right now. May be read from any thread."""
        return self._limiter.pace()

    async def close(self) -> None:
        await self._transport.aclose()

    async def _try(
        self, method: str, path: str, content: bytes, read: Callable[[bytes], Read], retry: RetryPolicy
    ) -> Read:
        await self._limiter.enter()
        try:
            if self._interval_s:
                await self._spread()
            called_at = time.monotonic()
            reply = await self._exchange(method, path, content)
        finally:
            self._limiter.leave()
        try:
            if not 200 <= reply.status < 300:
                raise faults.from_status(
                    reply.status, reply.headers, reply.body, where=self.where, secrets=self.secrets
                ) from None
            answer = read(reply.body)
        except ProviderError as error:
            if error.status == 429 and error.retryable:
                self._slow_down(error, called_at, retry)
            raise
        self._limiter.succeeded()
        return answer

    def _slow_down(self, error: ProviderError, called_at: float, retry: RetryPolicy) -> None:
        """Fewer calls at once; and none at all for as long as the endpoint asked for, if that can be waited for."""
        self._limiter.too_fast(called_at=called_at)
        if error.retry_after_s is not None and not _asks_too_long(error, retry):
            self._limiter.pause(error.retry_after_s)

    async def _exchange(self, method: str, path: str, content: bytes) -> Reply:
        """One HTTP call. Only a body that arrived whole comes back."""
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = endpoint_url(self._base_url, path)
        request = httpx.Request(method, url, headers=self._headers, content=content, extensions=_NO_TIMEOUT)
        try:
            # The limit is on the whole exchange: limits on single reads never end a body that drips.
            async with asyncio.timeout(self._timeout_s):
                response = await self._transport.handle_async_request(request)
                try:
                    body = await self._body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise faults.timed_out(self._timeout_s, where=self.where) from None
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            raise faults.from_exception(error, where=self.where) from error
        return Reply(response.status_code, response.headers, body)

    async def _body(self, response: httpx.Response) -> bytes:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        body = bytearray()
        if encoding in ("", "identity"):
            async for chunk in response.stream:  # type: ignore[union-attr]
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise faults.too_large(BODY_LIMIT, where=self.where)
            return bytes(body)
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise faults.malformed(f"a body encoded as {faults.cleaned(encoding, 40)!r}", where=self.where)
        # Decoded here rather than by httpx: max_length stops a small body that unpacks to gigabytes.
        unpacker = zlib.decompressobj(wbits=47)
        try:
            async for chunk in response.stream:  # type: ignore[union-attr]
                body += unpacker.decompress(chunk, BODY_LIMIT + 1 - len(body))
                if len(body) > BODY_LIMIT or unpacker.unconsumed_tail:
                    raise faults.too_large(BODY_LIMIT, where=self.where)
        except zlib.error as error:
            raise faults.malformed("a body that cannot be unpacked", where=self.where) from error
        if not unpacker.eof:
            raise faults.malformed("a packed body that stops half way", where=self.where)
        return bytes(body)

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


@functools.cache
def _trusted_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """For http:// addresses, which never turn into TLS ones here: spares reading the certificates."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _network(base_url: str, allowed_hosts: tuple[str, ...]) -> httpx.AsyncBaseTransport:
    context = _trusted_authorities() if base_url.startswith("https://") else _no_tls()

    def session() -> aiohttp.ClientSession:
        # No limit here: the endpoint's slots are the limit, and waiting for one must not count as time-out.
        connector = aiohttp.TCPConnector(limit=0, ssl=context, resolver=GuardedResolver(allowed_hosts))
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent",),
            trust_env=False,
        )

    return AiohttpTransport(verify=context, client=session)
