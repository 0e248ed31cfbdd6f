"""What went wrong at an endpoint or in the engine, in the reader's language: a headline and what to do, by error code.

The engine's own messages are English and technical; they stand behind these words as the detail.
"""

from __future__ import annotations

from typing import NamedTuple

from dashboard.i18n import _


class Fault(NamedTuple):
    headline: str
    hint: str


def of(code: str) -> Fault | None:
    """The words for an error code, or None for one without words of its own."""
    return {
        "timeout": Fault(
            _("No answer in time."), _("The endpoint is slow or hangs. Try again, or raise the time-out.")
        ),
        "connection": Fault(
            _("The address cannot be reached."),
            _("Check the address and the port, and whether the endpoint is running."),
        ),
        "tls": Fault(
            _("No secure connection can be made."),
            _("Check http or https, the host name, and the certificate of the endpoint."),
        ),
        "auth": Fault(_("The key is refused."), _("Check the key, and whether it may use this model.")),
        "not_found": Fault(
            _("Nothing answers at this address, or the model is unknown there."),
            _("Check the base URL and the name of the model."),
        ),
        "rate_limited": Fault(
            _("The endpoint limits the rate."),
            _("Allow fewer requests at once or a minute, wait, or check what is left of the quota."),
        ),
        "server_error": Fault(
            _("The endpoint reports an error of its own."), _("The fault is at the endpoint. Try again later.")
        ),
        "bad_request": Fault(
            _("The endpoint refuses the request."),
            _("Check what the model supports: its name, the length of the text, tools, images."),
        ),
        "malformed_body": Fault(
            _("The answer is not that of a chat endpoint."),
            _("Check that the base URL is that of a chat completions API."),
        ),
        "empty_answer": Fault(
            _("The model answered nothing."),
            _("It may not be a chat model, or its output limit is used up by reasoning."),
        ),
        "too_large": Fault(_("The answer is too large."), _("No chat answer is that long. Check the base URL.")),
        "internal_error": Fault(
            _("The engine failed on this question."), _("The log has more. The other questions are not affected.")
        ),
    }.get(code)


_TELLTALE = {
    "refuses the key": "auth",
    "cannot be reached": "connection",
    "the proxy in front of": "connection",
    "cannot be resolved": "connection",
    "closed the connection": "connection",
    "broke off in the middle": "connection",
    "cannot be used": "connection",
    "cannot be trusted": "tls",
    "TLS handshake": "tls",
    "gave no whole answer": "timeout",
    "gave up waiting": "timeout",
    "limits the rate": "rate_limited",
    "does not know this address or model": "not_found",
    "redirects elsewhere": "not_found",
    "refuses the request": "bad_request",
    "does not speak HTTP": "malformed_body",
    "answered with": "malformed_body",
    "answered without": "empty_answer",
    "sent more than": "too_large",
    "failed (5": "server_error",
}
"""How the engine's provider errors read; a run keeps the message that ended it, not the code."""


def told(message: str) -> Fault | None:
    """The words for the error that ended a run, by what comes first in its message."""
    found = [(message.index(words), code) for words, code in _TELLTALE.items() if words in message]
    return of(min(found)[1]) if found else None
