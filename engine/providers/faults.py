"""From what went wrong on the wire to the one ProviderError that names it.

Providers write whatever they like into an error. What we show of it is printable, short, and without the key.
"""

from __future__ import annotations

import json
import math
import re
import ssl
import unicodedata
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from engine.domain.base import rfc3339, utc_now
from engine.errors import ProviderError
from engine.providers import refusals
from engine.providers.addresses import AddressRefused

BODY_LIMIT = 8_000_000
"""Bytes of an answer after decoding; more is never read."""

MESSAGE_LIMIT = 500
MASK = "[masked]"

_BEARER = re.compile(
    r"\b(bearer|basic|authorization|api[-_ ]?key|x-api-key)\b([\"']?\s*[:=]?\s*[\"']?)"
    r"(?:bearer\s+|basic\s+)?[\w\-.~+/*=]{6,}",
    re.IGNORECASE,
)
_KEY_SHAPE = re.compile(r"\b(sk|pk|rk|gsk|key)-[\w\-*]{6,}")
_TITLE = re.compile(rb"<title[^>]*>(.{0,200}?)</title", re.IGNORECASE | re.DOTALL)

_FILTER_WORDS = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed"}
)

_SPENT_WORDS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "quota_exceeded"})

STATUS_OF_WORD = {
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "too_many_requests"), 429),
    **dict.fromkeys(("server_error", "internal_error", "internal_server_error", "api_error"), 500),
    **dict.fromkeys(("overloaded_error", "service_unavailable", "service_unavailable_error"), 503),
    **dict.fromkeys(("timeout_error", "gateway_timeout"), 504),
    **dict.fromkeys(_FILTER_WORDS, 400),
}
"""What an error means that comes inside a 200, where it can have no status of its own."""


class FilterBlocked(ProviderError):
    """The provider's filter answered instead of the model: an answer in its own right, not a failure."""


class Secrets:
    """Texts that must never be shown, and how to mask them."""

    def __init__(self, *texts: str) -> None:
        self._texts = sorted({text for text in texts if len(text) >= 4}, key=len, reverse=True)

    def masked(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, MASK)
        text = _BEARER.sub(lambda match: f"{match[1]}{match[2]}{MASK}", text)
        return _KEY_SHAPE.sub(MASK, text)


def cleaned(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Printable, in one line, at most `limit` characters."""
    printable = "".join(
        " " if character.isspace() or unicodedata.category(character)[0] in "CZ" else character
        for character in text[: limit * 8]
    )
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """What Retry-After asks for, in seconds; None when absent, unreadable or not in the future."""
    value = headers.get("retry-after", "").strip()
    if not value or not value.isascii() or "_" in value:  # float() reads other alphabets and 1_000 as well
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - (now or utc_now())).total_seconds()
    if math.isnan(seconds) or seconds <= 0:
        return None
    return seconds


def until(seconds: float) -> str:
    """The moment `seconds` from now, for people; far beyond any calendar it says so."""
    try:
        return rfc3339(datetime.fromtimestamp(utc_now().timestamp() + seconds, UTC)).partition(".")[0] + "Z"
    except (OverflowError, ValueError, OSError):
        return "further notice"


def from_exception(raised: BaseException, *, where: str) -> ProviderError:
    """A failure below HTTP: TLS, name resolution, a closed port, a line that broke."""
    chain = _chain(raised)
    for cause in chain:
        if isinstance(cause, AddressRefused):
            return ProviderError(
                f"{where} cannot be used: {cleaned(str(cause), 200)}",
                code="connection",
                retryable=False,
                hint="Check the base URL.",
            )
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError | aiohttp.ClientConnectorCertificateError):
            return ProviderError(
                f"{where} shows a certificate that cannot be trusted: {_certificate_problem(cause)}",
                code="tls",
                retryable=False,
                hint="Check the host name and the certificate of the endpoint.",
            )
        if isinstance(cause, ssl.SSLError | aiohttp.ClientConnectorSSLError):
            return ProviderError(
                f"{where} does not complete the TLS handshake",
                code="tls",
                retryable=False,
                hint="Check whether the address starts with http:// or https:// and whether the port is right.",
            )
    for cause in chain:
        if isinstance(cause, aiohttp.ClientHttpProxyError):
            error = _connection(
                f"the proxy in front of {where} refuses to connect to it ({cause.status})",
                "Check the proxy that the server's environment names, and whether it lets this host through.",
            )
            error.retryable = cause.status >= 500
            return error
        if isinstance(cause, aiohttp.ClientProxyConnectionError):
            return _connection(
                f"the proxy in front of {where} cannot be reached",
                "Check the proxy that the server's environment names, or switch it off for this provider.",
            )
        if isinstance(cause, aiohttp.ClientConnectorDNSError):
            return _connection(f"the host name of {where} cannot be resolved", "Check the spelling of the base URL.")
        if isinstance(cause, aiohttp.ClientConnectorError):
            return not_reached(where=where)
        if isinstance(cause, aiohttp.ClientPayloadError):
            return broke_off(where=where)
        if isinstance(cause, aiohttp.ClientResponseError):
            return ProviderError(
                f"{where} does not speak HTTP as it should",
                code="malformed_body",
                retryable=True,
                hint="Check port and scheme of the base URL.",
            )
    return _connection(f"{where} closed the connection before it answered", "Try again; if it stays, ask its operator.")


def broke_off(*, where: str) -> ProviderError:
    """An answer came in part."""
    return _connection(f"{where} broke off in the middle of an answer", "Try again; if it stays, ask its operator.")


def _connection(message: str, hint: str) -> ProviderError:
    return ProviderError(message, code="connection", retryable=True, hint=hint)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        inner = getattr(current, "os_error", None) or getattr(current, "certificate_error", None)
        if isinstance(inner, BaseException) and inner not in chain:
            chain.append(inner)
        current = current.__cause__ or current.__context__
    return chain


def _certificate_problem(error: BaseException) -> str:
    # aiohttp's error of this kind lacks the attribute that its parent class promises
    said = (getattr(cause, "verify_message", "") for cause in _chain(error))
    return cleaned(next((words for words in said if words), "verification failed"), 200)


def timed_out(timeout_s: float, *, where: str) -> ProviderError:
    return ProviderError(
        f"{where} gave no whole answer within {timeout_s:g} s",
        code="timeout",
        retryable=True,
        hint="The endpoint is slow or hangs; try again or raise the time-out.",
    )


def not_reached(*, where: str) -> ProviderError:
    """Nobody took the connection, be the port closed or filtered: nothing was asked yet."""
    return _connection(
        f"{where} cannot be reached",
        "Check address and port, whether the endpoint is running, and whether a firewall stands between.",
    )


def too_large(limit: int, *, where: str) -> ProviderError:
    return ProviderError(
        f"{where} sent more than {limit // 1_000_000} MB; the answer was cut off and dropped",
        code="too_large",
        retryable=False,
        hint="No chat answer is that long; check the base URL.",
    )


def malformed(what: str, *, where: str, status: int | None = 200) -> ProviderError:
    return ProviderError(
        f"{where} answered with {what}",
        code="malformed_body",
        retryable=True,
        status=status,
        hint="Check that the base URL is that of a chat completions API.",
    )


def from_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    where: str,
    secrets: Secrets,
    sent: Collection[str] = (),
) -> ProviderError:
    """The error an HTTP status other than 2xx stands for; `sent` are names that the extra body added to the request."""
    content = _read(body)
    said, word = ("", "") if content is None else words_of(content)
    words = secrets.masked(_words(word, said))
    wait_s = retry_after_s(headers) if status == 429 or status >= 500 else None

    def named(code: str, what: str, hint: str, *, retryable: bool = False) -> ProviderError:
        message = cleaned(f"{what}: {words}" if words else what)
        return ProviderError(
            message,
            code=code,
            retryable=retryable,
            status=status,
            retry_after_s=wait_s if retryable else None,
            hint=hint,
            refused=None if retryable or content is None else refusals.refused(status, content, sent),
        )

    if 300 <= status < 400:
        return named(
            "not_found",
            f"{where} redirects elsewhere, which is not followed ({status})",
            "Use the final address as base URL.",
        )
    if status in (401, 403):
        return named("auth", f"{where} refuses the key ({status})", "Check the key, and whether it may use this model.")
    if status == 404:
        return named(
            "not_found",
            f"{where} does not know this address or model ({status})",
            "Check the base URL and the model's name.",
        )
    if status == 408:
        return named(
            "timeout", f"{where} gave up waiting ({status})", "The endpoint is slow; try again.", retryable=True
        )
    if status == 429 and word in _SPENT_WORDS:
        return named("rate_limited", f"{where} limits the rate ({status})", "The account's quota is used up.")
    if status == 429:
        return named(
            "rate_limited", f"{where} limits the rate ({status})", "Lower the concurrency or wait.", retryable=True
        )
    if status >= 500:
        hint = "The fault is at the endpoint; try again later."
        return named("server_error", f"{where} failed ({status})", hint, retryable=status not in (501, 505))
    refused = named(
        "bad_request", f"{where} refuses the request ({status})", "Check the model's name and what it supports."
    )
    if word.lower() in _FILTER_WORDS:
        return FilterBlocked(refused.message, code=refused.code, retryable=False, status=status)
    return refused


def _words(word: str, detail: str) -> str:
    if word and word not in detail:
        return f"{word}: {detail}" if detail else word
    return detail


def provider_words(body: bytes) -> tuple[str, str]:
    """The provider's own message and code word from an error body of any shape; empty where it has none."""
    content = _read(body)
    return ("", "") if content is None else words_of(content)


def _read(body: bytes) -> Any:
    """What an error body says: JSON, else its words, of a web page only its title; None where it says nothing."""
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        if body.lstrip()[:1] == b"<":
            title = _TITLE.search(body)
            named = f' titled "{cleaned(title[1].decode("utf-8", "replace"), 100)}"' if title else ""
            return f"a web page{named}"
        return cleaned(body[:4000].decode("utf-8", "replace"), 400)


def words_of(content: Any) -> tuple[str, str]:
    """The same for a body that is already read."""
    found = content
    if isinstance(found, list) and found:
        found = found[0]
    if isinstance(found, dict) and found.get("error"):
        found = found["error"]
    if not isinstance(found, dict):
        return cleaned(found if isinstance(found, str) else json.dumps(found), 400), ""
    word = next((found[name] for name in ("code", "type", "status") if isinstance(found.get(name), str)), "")
    said = next((found[name] for name in ("message", "msg", "detail", "error") if found.get(name)), "")
    if not isinstance(said, str):
        said = json.dumps(said, ensure_ascii=False)
    return cleaned(said, 400), cleaned(word, 60)
