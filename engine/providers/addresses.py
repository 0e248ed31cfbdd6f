"""Which addresses a provider may have: public ones, this machine's own, and those an administrator listed.

An address is judged twice: as it is written (`check_base_url`) and as its name resolves at the moment of connecting
(`GuardedResolver`), since a name may point elsewhere between the two.
"""

from __future__ import annotations

import ipaddress
import re
import socket

import httpx
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from engine.errors import InputError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

ENDPOINT = "/chat/completions"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The only spellings of this machine that are accepted."""

_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(text) for text in ("169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254")
)
_EMBEDS_IPV4 = tuple(
    ipaddress.ip_network(text)
    for text in ("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)
_VERSION = re.compile(r"v\d+([a-z]+\d*)?", re.IGNORECASE)
_OTHER_APIS = ("/responses", "/completions", "/messages", "/embeddings", "/api/generate", "/api/chat")
_NUMBER_LIKE = re.compile(r"(0x[0-9a-f]*|\d+)", re.IGNORECASE)
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*")
_CREDENTIAL_NAMES = re.compile(r"key|token|secret|password|signature|auth", re.IGNORECASE)


def check_base_url(url: str, allowed_hosts: tuple[str, ...] = ()) -> str:
    """The address in the one form that is stored and used; applying it twice changes nothing.

    `https://host`, `https://host/`, `https://host/v1`, `https://host/v1/` and `https://host/v1/chat/completions` are
    the same address. A path that names a version (`/api/v3`) or the full endpoint is taken at its word, any other path
    is a prefix before `/v1`.

    Args:
        url: What a person typed.
        allowed_hosts: Host names, addresses or networks (`10.0.0.0/8`) that may be used although they are private.

    Raises:
        InputError: code `bad_base_url`; says what is wrong with the address and what to write instead.
    """
    origin, parsed = checked(url, allowed_hosts)
    return f"{origin}{_base_path(parsed)}{query_of(parsed)}"


def checked(url: str, allowed_hosts: tuple[str, ...] = ()) -> tuple[str, httpx.URL]:
    """Scheme, host and port in their one form, and the whole address, whose path each kind reads in its own way.

    Raises:
        InputError: code `bad_base_url`.
    """
    text = url.strip()
    if not text:
        raise refused("the base URL is empty; write it like https://api.example.com/v1")
    if any(ord(character) <= 32 or ord(character) == 127 for character in text) or "\\" in text:
        raise refused("the base URL holds spaces, line breaks or backslashes; write it in one piece")
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise refused("the base URL must start with http:// or https://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        raise refused("the base URL must not hold a user name or password; the key has a field of its own")
    host = _written_host(authority)
    _check_host(host, allowed_hosts)
    try:
        parsed = httpx.URL(text)
        port = parsed.port
    except (httpx.InvalidURL, ValueError) as error:
        raise refused("the base URL cannot be read as an address; write it like https://api.example.com/v1") from error
    if port is not None and not 0 < port < 65536:
        raise refused("the port of the base URL must lie between 1 and 65535")
    if parsed.fragment:
        raise refused("the base URL must not hold a # part")
    for name in parsed.params:
        if _CREDENTIAL_NAMES.search(name):
            raise refused(f"the base URL must not carry {name[:40]!r}; the key has a field of its own")

    shown_host = f"[{host}]" if ":" in host else host.lower()
    default_port = 443 if parsed.scheme == "https" else 80
    shown_port = "" if port in (None, default_port) else f":{port}"
    return f"{parsed.scheme}://{shown_host}{shown_port}", parsed


def query_of(url: httpx.URL) -> str:
    """The query with its question mark; empty for none."""
    return f"?{url.query.decode('ascii')}" if url.query else ""


def plain_path(url: httpx.URL) -> str:
    """The path without doubled and trailing slashes."""
    return re.sub(r"/{2,}", "/", url.path).rstrip("/")


def endpoint_url(base_url: str, path: str) -> httpx.URL:
    """The address of `path` (`/chat/completions`, `/models`) below a checked base URL; its query is kept."""
    url = httpx.URL(base_url)
    base = url.path.removesuffix(ENDPOINT).rstrip("/")
    return url.copy_with(path=base + path)


def _base_path(url: httpx.URL) -> str:
    path = plain_path(url)
    if path.endswith(ENDPOINT):
        base = path.removesuffix(ENDPOINT)
        return base if _names_version(base) else path
    for other in _OTHER_APIS:
        if path.endswith(other):
            raise refused(f"the base URL ends in {other}, another kind of API; this one speaks chat completions")
    path = path.removesuffix("/models")
    return path if _names_version(path) else f"{path}/v1"


def _names_version(path: str) -> bool:
    return any(_VERSION.fullmatch(segment) for segment in path.split("/"))


def _written_host(authority: str) -> str:
    """The host exactly as typed, without port and brackets: parsers smooth over the spellings we refuse."""
    if authority.startswith("["):
        inside, closed, _port = authority[1:].partition("]")
        if not closed:
            raise refused("the IPv6 address of the base URL lacks its closing bracket")
        return inside
    return authority.partition(":")[0]


def _check_host(host: str, allowed_hosts: tuple[str, ...]) -> None:
    if not host:
        raise refused("the base URL names no host")
    if ":" in host:
        try:
            address: IpAddress = ipaddress.IPv6Address(host)
        except ValueError as error:
            raise refused("the IPv6 address of the base URL cannot be read") from error
        if "%" in host:
            raise refused("the base URL must not name a network interface")
        if host.lower() != str(address) or (host != "::1" and any(address in net for net in _EMBEDS_IPV4)):
            raise refused("write the address of the base URL in its plain form; this spelling can hide another one")
        _check_address(address, host, allowed_hosts)
        return
    if _NUMBER_LIKE.fullmatch(host.rstrip(".").rpartition(".")[2]):
        try:
            address = ipaddress.IPv4Address(host)
        except ValueError as error:
            raise refused("write the address of the base URL as four plain decimal numbers, like 127.0.0.1") from error
        _check_address(address, host, allowed_hosts)
        return
    if len(host) > 253 or not _HOST_NAME.fullmatch(host):
        raise refused("the host of the base URL is no plain host name; other alphabets are written in their xn-- form")
    if host.lower() in _METADATA_NAMES:
        raise refused(f"{host} is the machine's metadata service, never a provider")


def _check_address(address: IpAddress, host: str, allowed_hosts: tuple[str, ...]) -> None:
    reason = _reason_against(address, host, allowed_hosts)
    if reason:
        raise refused(reason)


def _reason_against(address: IpAddress, host: str, allowed_hosts: tuple[str, ...]) -> str:
    """Why an address may not be used for `host`; empty when it may."""
    if address in _METADATA_ADDRESSES or address.is_link_local:
        return f"{host} leads to a link-local or metadata address, never a provider"
    if address.is_loopback:
        if host.lower() in LOOPBACK or _listed(host, address, allowed_hosts):
            return ""
        return f"{host} leads to this machine; write it as 127.0.0.1 or localhost"
    if address.is_multicast or address.is_unspecified or any(address in net for net in _EMBEDS_IPV4):
        return f"{host} leads to an address that no provider has"
    if address.is_global or _listed(host, address, allowed_hosts):
        return ""
    return f"{host} leads to a private address; an administrator may allow it with PROVIDER_ALLOWED_HOSTS"


def _listed(host: str, address: IpAddress, allowed_hosts: tuple[str, ...]) -> bool:
    for entry in allowed_hosts:
        if entry.strip().lower() == host.lower():
            return True
        try:
            if address in ipaddress.ip_network(entry.strip(), strict=False):
                return True
        except ValueError:  # a host name, compared above
            continue
    return False


def is_ours(host: str, allowed_hosts: tuple[str, ...], *, address: str = "") -> bool:
    """Whether a host, or the address its name leads to, is this machine or listed: no proxy stands before those."""
    if host.lower() in LOOPBACK:
        return True
    try:
        number = ipaddress.ip_address((address or host).partition("%")[0])
    except ValueError:
        return any(entry.strip().lower() == host.lower() for entry in allowed_hosts)
    return number.is_loopback or _listed(host, number, allowed_hosts)


def refused(message: str) -> InputError:
    return InputError(message, code="bad_base_url", fields=(("base_url", message),))


class AddressRefused(OSError):
    """A host name resolves to addresses that may not be used."""


class GuardedResolver(AbstractResolver):
    """Resolves names and keeps only the addresses a provider may have."""

    def __init__(self, allowed_hosts: tuple[str, ...] = ()) -> None:
        self._allowed_hosts = allowed_hosts
        self._names = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        reason = ""
        usable = []
        for result in found:
            address = ipaddress.ip_address(result["host"].partition("%")[0])
            against = _reason_against(address, host, self._allowed_hosts)
            if against:
                reason = against
            else:
                usable.append(result)
        if not usable:
            raise AddressRefused(reason or f"{host} has no address")
        return usable

    async def close(self) -> None:
        await self._names.close()
