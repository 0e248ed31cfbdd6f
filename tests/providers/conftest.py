"""An endpoint under test: the real client, over a real socket, against the scripted server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from pydantic import SecretStr

from engine.domain.chat import Answer, ChatModel, ChatRequest, Message
from engine.domain.runs import EndpointSettings
from engine.errors import ProviderError
from engine.providers import RetryPolicy, build
from tests.support.memory import growth_mb
from tests.support.scripted_server import ScriptedServer

KEY = "sk-canary-4f9a7c21d8e0b356"
QUICK = RetryPolicy(count=3, delay_s=0.01, max_delay_s=0.02)

Outcome = TypeVar("Outcome")


def endpoint(base_url: str, *, kind: str = "openai", **changes: Any) -> EndpointSettings:
    """Settings as a run would freeze them."""
    values: dict[str, Any] = {
        "provider_id": None,
        "name": "under-test",
        "kind": kind,
        "base_url": base_url,
        "model": "scripted",
        "max_concurrency": 64,
        "timeout_s": 60,
    }
    return EndpointSettings(**{**values, **changes})


def ask(text: str = "What is a rainbow?", **parts: Any) -> ChatRequest:
    return ChatRequest(**{"model": "scripted", "messages": (Message(role="user", text=text),), **parts})


def using(
    settings: EndpointSettings,
    act: Callable[[ChatModel], Awaitable[Outcome]],
    *,
    retry: RetryPolicy = QUICK,
    key: str | None = KEY,
    allowed_hosts: tuple[str, ...] = (),
) -> Outcome:
    """Build the endpoint, act on it in a loop of its own, close it."""

    async def whole() -> Outcome:
        secret = SecretStr(key) if key is not None else None
        model = build(settings, api_key=secret, retry=retry, allowed_hosts=allowed_hosts)
        try:
            return await act(model)
        finally:
            await model.close()

    return asyncio.run(whole())


def answer_of(settings: EndpointSettings, request: ChatRequest | None = None, **options: Any) -> Answer:
    return using(settings, lambda model: model.complete(request or ask()), **options)


def error_of(settings: EndpointSettings, request: ChatRequest | None = None, **options: Any) -> ProviderError:
    """The error a call ends with. Every error must be fit to be shown, so that is checked here for all of them."""
    with pytest.raises(ProviderError) as caught:
        answer_of(settings, request, **options)
    error = caught.value
    shown = f"{error.message} {error.hint} {error}"
    assert KEY not in shown and "4f9a7c21" not in shown
    assert error.hint
    assert 10 < len(error.message) <= 500
    assert error.message.isprintable()
    return error


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def growth() -> Callable[[], float]:
    """By how many MB the process was larger, at its largest since the test began, than it was then."""
    return growth_mb()
