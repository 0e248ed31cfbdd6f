"""Model endpoints: one file a kind, one list of kinds, one check of a connection."""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic import SecretStr

from engine.domain.chat import ChatModel, ChatRequest, Connection, Message
from engine.domain.providers import CheckError, CheckReport
from engine.domain.runs import EndpointSettings
from engine.errors import InputError, ProviderError
from engine.providers import addresses, anthropic, azure, demo, ollama, openai_chat
from engine.providers.presets import PRESETS, Preset
from engine.providers.transport import NO_RETRY, RetryPolicy

__all__ = ["NO_RETRY", "PRESETS", "PROVIDERS", "Preset", "RetryPolicy", "build", "check", "check_base_url"]

PROVIDERS: dict[str, Callable[..., Connection]] = {
    "openai": openai_chat.build,
    "azure": azure.build,
    "anthropic": anthropic.build,
    "ollama": ollama.build,
    "demo": demo.build,
}
"""Every kind of endpoint. A new one is a new file and a line here."""

_ADDRESSES: dict[str, Callable[[str, tuple[str, ...]], str]] = {
    "azure": azure.base_url,
    "anthropic": anthropic.base_url,
    "ollama": ollama.base_url,
}
"""How a kind reads a base URL; the others read it as chat completions do."""

_LISTED_AT_MOST = 10


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
) -> Connection:
    """The endpoint that `settings` describe; connects to nothing yet.

    Args:
        settings: The endpoint as configured or as frozen into a run.
        api_key: None where the endpoint asks for none.
        retry: When and how often a failed call is made again.
        allowed_hosts: Private hosts or networks an administrator listed.

    Raises:
        InputError: the kind is unknown, or address, key, headers or extra body cannot be used.
    """
    maker = PROVIDERS.get(settings.kind)
    if maker is None:
        raise InputError(
            f"no kind of provider named {settings.kind!r}; known: {', '.join(sorted(PROVIDERS))}", code="unknown_kind"
        )
    return maker(settings, api_key=api_key, retry=retry, allowed_hosts=allowed_hosts)


def check_base_url(url: str, allowed_hosts: tuple[str, ...] = (), *, kind: str = "openai") -> str:
    """The address in the one form that is stored and used for a kind; applying it twice changes nothing.

    Raises:
        InputError: code `bad_base_url`; says what is wrong with the address and what to write instead.
    """
    return _ADDRESSES.get(kind, addresses.check_base_url)(url, allowed_hosts)


async def check(model: Connection, name: str) -> CheckReport:
    """Ask one short question, without retries, and say in words what is wrong; never raises ProviderError.

    The length of the answer is not limited: a model that thinks first would run out before it spoke.
    """
    request = ChatRequest(model=name, messages=(Message(role="user", text="Say hello in one short sentence."),))
    start = time.perf_counter()
    try:
        answer = await model.complete_once(request)
    except ProviderError as error:
        latency_ms = round((time.perf_counter() - start) * 1000)
        return CheckReport(ok=False, latency_ms=latency_ms, model=name, error=await _explained(error, model, name))
    latency_ms = round((time.perf_counter() - start) * 1000)
    return CheckReport(ok=True, latency_ms=latency_ms, model=answer.served_model or name)


async def _explained(error: ProviderError, model: ChatModel, name: str) -> CheckError:
    """The error in words; where it may be the model's name, compared with what the endpoint offers."""
    if error.code in ("not_found", "bad_request"):
        try:
            offered = await model.models()
        except ProviderError:  # many endpoints list nothing; then the first error says all there is
            offered = []
        if offered and name not in offered:
            some = ", ".join(offered[:_LISTED_AT_MOST]) + (" ..." if len(offered) > _LISTED_AT_MOST else "")
            return CheckError(
                code="not_found",
                message=f"the endpoint offers no model named {name!r}: {error.message}",
                hint=f"It offers: {some}.",
            )
    return CheckError(code=error.code, message=error.message, hint=error.hint)
