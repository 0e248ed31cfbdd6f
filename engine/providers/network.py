"""The line to an endpoint: whom to trust, whether to go through a proxy, and which addresses may be reached."""

from __future__ import annotations

import base64
import functools
import re
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from httpx_aiohttp import AiohttpTransport

from engine.errors import InputError
from engine.providers.addresses import AddressRefused, GuardedResolver, is_ours

CA_FILE_LIMIT = 2_000_000
"""Bytes; all public authorities together take a tenth of it."""

_HOST = re.compile(r"[A-Za-z0-9_.:-]+")

RECHECK_S = 30.0
"""How long a name's addresses are believed when the proxy, and not we, connects to them."""


class Line(NamedTuple):
    """How an endpoint is reached."""

    ca_file: str | None = None
    """A PEM file with the only authorities whose certificates are accepted; None takes the usual public ones."""
    verify_tls: bool = True
    """Off accepts any certificate."""
    use_proxy: bool = False
    """Through the proxy of the environment; hosts that are ours are reached directly all the same."""


DIRECT = Line()


def connected(base_url: str, line: Line, allowed_hosts: tuple[str, ...]) -> httpx.AsyncBaseTransport:
    """The transport for a checked base URL; connects to nothing yet.

    Raises:
        InputError: `bad_ca_file`, `bad_proxy`.
    """
    context = _context(base_url, line)
    direct = _transport(context, lambda: GuardedResolver(allowed_hosts))
    proxy = _proxy_for(httpx.URL(base_url), allowed_hosts) if line.use_proxy else None
    if proxy is None:
        return direct
    # The proxy's own address is the operator's choice, not that of whoever configures providers: it is not guarded.
    through = _transport(context, ThreadedResolver, proxy=proxy)
    return _Proxied(httpx.URL(base_url), direct=direct, through=through, allowed_hosts=allowed_hosts)


def checked_ca_file(path: str) -> str:
    """The path of a file with certificates of authorities, checked to be one.

    Raises:
        InputError: `bad_ca_file`, in words that hold nothing of the file.
    """
    text = path.strip()
    if not Path(text).is_absolute():
        raise _bad_ca_file("write the whole path of the CA file on the server, beginning with /")
    try:
        if not Path(text).is_file():
            raise _bad_ca_file("there is no such CA file on the server; copy it there first and check the path")
        with Path(text).open("rb") as file:
            content = file.read(CA_FILE_LIMIT + 1)
    except OSError:
        raise _bad_ca_file("the CA file cannot be read by the server; check its permissions") from None
    if len(content) > CA_FILE_LIMIT:
        raise _bad_ca_file("the CA file is larger than 2 MB; it should hold a few certificates")
    if b"PRIVATE KEY-----" in content:
        raise _bad_ca_file("the CA file holds a private key; give a file with certificates only")
    from cryptography import x509  # only who brings authorities of their own needs it

    try:
        found = x509.load_pem_x509_certificates(content)
    except ValueError:
        found = []
    if not found:
        raise _bad_ca_file("the CA file holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
    return text


def _bad_ca_file(message: str) -> InputError:
    return InputError(message, code="bad_ca_file", fields=(("ca_file", message),))


def _context(base_url: str, line: Line) -> ssl.SSLContext:
    if not base_url.startswith("https://"):
        return _no_tls()
    if not line.verify_tls:
        return httpx.create_ssl_context(verify=False, trust_env=False)
    if line.ca_file is None:
        return _trusted_authorities()
    try:
        context = ssl.create_default_context(cafile=checked_ca_file(line.ca_file))
    except ssl.SSLError:
        raise _bad_ca_file("the CA file holds a certificate that cannot be used") from None
    # Newer Pythons ask of private authorities what many of them, made by hand, do not have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@functools.cache
def _trusted_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """For http:// addresses, which never turn into TLS ones here: spares reading the certificates."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _transport(
    context: ssl.SSLContext, resolver: Callable[[], AbstractResolver], *, proxy: httpx.Proxy | None = None
) -> AiohttpTransport:
    def session() -> aiohttp.ClientSession:  # within the loop that uses it
        # No limit here: the endpoint's limiter is the limit, and waiting for it must not count as time-out.
        connector = aiohttp.TCPConnector(limit=0, ssl=context, resolver=resolver())
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent",),
            trust_env=False,
        )

    return AiohttpTransport(verify=context, client=session, proxy=proxy)


def _proxy_for(url: httpx.URL, allowed_hosts: tuple[str, ...]) -> httpx.Proxy | None:
    """The proxy that the environment names for an address; None where it is to be reached directly."""
    address = urllib.request.getproxies().get(url.scheme)
    if not address or is_ours(url.host, allowed_hosts) or urllib.request.proxy_bypass(url.host):
        return None
    try:
        found = httpx.URL(address if "://" in address else f"http://{address}")
    except (httpx.InvalidURL, ValueError):
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not _HOST.fullmatch(found.host):
        raise InputError(
            "the proxy that the server's environment names cannot be used; it must be an http:// or https:// address",
            code="bad_proxy",
            fields=(("use_proxy", "the environment names a proxy that cannot be used"),),
        )
    if not found.username:
        return httpx.Proxy(found)
    # aiohttp hands this on to the proxy, and to nobody else, as Proxy-Authorization.
    secret = base64.b64encode(f"{unquote(found.username)}:{unquote(found.password)}".encode()).decode("ascii")
    bare = found.copy_with(username="", password="")
    return httpx.Proxy(bare, headers={"Authorization": f"Basic {secret}"})


class _Proxied(httpx.AsyncBaseTransport):
    """Through the proxy, unless the host's name leads to an address that an administrator listed as ours.

    The guard on addresses holds here too, as far as it can: where the name can be resolved on this machine, it must
    lead to addresses that a provider may have. The proxy resolves it once more, out of our sight.
    """

    def __init__(
        self,
        url: httpx.URL,
        *,
        direct: httpx.AsyncBaseTransport,
        through: httpx.AsyncBaseTransport,
        allowed_hosts: tuple[str, ...],
    ) -> None:
        self._host = url.host
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._direct = direct
        self._through = through
        self._allowed_hosts = allowed_hosts
        self._chosen = through
        self._good_until = float("-inf")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if time.monotonic() >= self._good_until:
            self._chosen = await self._choice()
            self._good_until = time.monotonic() + RECHECK_S
        return await self._chosen.handle_async_request(request)

    async def aclose(self) -> None:
        await self._direct.aclose()
        await self._through.aclose()

    async def _choice(self) -> httpx.AsyncBaseTransport:
        try:
            found = await GuardedResolver(self._allowed_hosts).resolve(self._host, self._port, socket.AF_UNSPEC)
        except AddressRefused:
            raise
        except OSError:  # unknown on this machine, as names often are behind a proxy, which may know it
            return self._through
        ours = all(is_ours(self._host, self._allowed_hosts, address=each["host"]) for each in found)
        return self._direct if ours else self._through
