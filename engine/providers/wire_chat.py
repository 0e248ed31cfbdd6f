"""A ChatModel that speaks HTTP: what all kinds of endpoint share, leaving to each its requests and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import httpx
from pydantic import SecretStr

from engine.domain.chat import Answer, ChatRequest, FinishReason, Pace, RefusalType
from engine.domain.runs import EndpointSettings
from engine.providers import faults
from engine.providers.network import Line
from engine.providers.sse import Gathering
from engine.providers.transport import NO_RETRY, Endpoint, RetryPolicy
from engine.providers.wire import STREAM, checked_extra, checked_headers, checked_key, json_bytes


class WireChat(ABC):
    """One endpoint of one kind. A kind implements what is abstract here."""

    ours: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools", "stream"})
    """Parts of a request that an extra body must not set."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        api_key: SecretStr | None,
        retry: RetryPolicy,
        base_url: str,
        allowed_hosts: tuple[str, ...] = (),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`base_url` is already checked. Raises InputError when key, headers or extra body cannot be used."""
        key = checked_key(api_key)
        headers = checked_headers(settings.extra_headers)
        for name, value in {"content-type": "application/json", "user-agent": "magistrate"}.items():
            headers.setdefault(name, value)
        for name, value in self._own_headers(key).items():
            headers.setdefault(name, value)
        self._extra = checked_extra(settings.extra_body, ours=self.ours)
        options = self._extra.get("options")  # where Ollama has them
        self._retry = retry
        self._stream = settings.stream
        self._endpoint = Endpoint(
            base_url,
            name=settings.name,
            headers=headers,
            timeout_s=settings.timeout_s,
            connect_timeout_s=settings.connect_timeout_s,
            line=Line(ca_file=settings.ca_file, verify_tls=settings.verify_tls, use_proxy=settings.use_proxy),
            max_concurrency=settings.max_concurrency,
            requests_per_minute=settings.requests_per_minute,
            secrets=faults.Secrets(key, *settings.extra_headers.values()),
            sent=tuple(dict.fromkeys((*self._extra, *(options if isinstance(options, dict) else ())))),
            allowed_hosts=allowed_hosts,
            transport=transport,
        )

    async def complete(self, request: ChatRequest) -> Answer:
        return await self._complete(request, self._retry)

    async def complete_once(self, request: ChatRequest) -> Answer:
        """The same without retries, for questions whose point is how the endpoint fares now."""
        return await self._complete(request, NO_RETRY)

    async def models(self) -> list[str]:
        listed = await self._endpoint.call("GET", self._models_path(), b"", self._read_models, retry=NO_RETRY)
        return listed.answer

    def pace(self) -> Pace:
        return self._endpoint.pace()

    async def close(self) -> None:
        await self._endpoint.close()

    async def _complete(self, request: ChatRequest, retry: RetryPolicy) -> Answer:
        content = json_bytes(self._body(request))
        path = self._path(request)
        try:
            called = await self._endpoint.call(
                "POST", path, content, self._read_answer, retry=retry, gathering=lambda: self._gathering(request)
            )
        except faults.FilterBlocked as blocked:
            return Answer(
                text="",
                finish_reason=FinishReason.CONTENT_FILTER,
                refusal_type=RefusalType.PROVIDER_FILTER,
                tries=blocked.tries,
                took_s=blocked.took_s,
            )
        return called.answer.model_copy(update={"tries": called.tries, "took_s": called.took_s})

    @abstractmethod
    def _own_headers(self, key: str) -> dict[str, str]:
        """What this kind sends with every request; `key` is empty where there is none."""

    @abstractmethod
    def _path(self, request: ChatRequest) -> str:
        """Where, below the base URL, a question goes."""

    @abstractmethod
    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """The question on the wire. Raises InputError for a request that cannot be sent."""

    @abstractmethod
    def _read_answer(self, body: bytes) -> Answer:
        """Raises ProviderError for a body that is no whole answer."""

    def _streams(self, request: ChatRequest) -> bool:
        """Whether this answer is to come piece by piece."""
        wanted = self._stream if request.stream is None else request.stream
        return wanted and STREAM not in request.dialect.left_out

    def _gathering(self, request: ChatRequest) -> Gathering[Answer] | None:
        """What puts a streamed answer together; None where this one is to come whole."""
        return None

    @abstractmethod
    def _models_path(self) -> str:
        """Where the list of models is."""

    @abstractmethod
    def _read_models(self, body: bytes) -> list[str]:
        """Raises ProviderError for a body that lists nothing."""
