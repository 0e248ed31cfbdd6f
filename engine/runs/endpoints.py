"""Connected endpoints and the limits that all runs on them share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from engine.domain.chat import Answer, ChatModel, ChatRequest, Pace
from engine.domain.runs import EndpointSettings


class Connect(Protocol):
    """Makes a client for an endpoint; finds the key itself."""

    def __call__(self, settings: EndpointSettings, *, patient: bool) -> ChatModel:
        """`patient` retries as the settings say; otherwise a dead endpoint is found out within seconds."""
        ...


class Endpoint:
    """One connected endpoint: at most `max_concurrency` items in flight; the client below keeps the pace of requests.

    Lives on one event loop. Changing a provider's limits makes a new endpoint for the runs that start later.
    """

    def __init__(self, settings: EndpointSettings, connect: Connect) -> None:
        self.settings = settings
        self._model = connect(settings, patient=True)
        self._connect = connect
        self._prober: _Prober | None = None
        self._slots = asyncio.Semaphore(settings.max_concurrency)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place in flight, held from the first request of an item until its answer is committed."""
        async with self._slots:
            yield

    async def complete(self, request: ChatRequest) -> Answer:
        return await self._model.complete(request)

    async def models(self) -> list[str]:
        return await self._model.models()

    def pace(self) -> Pace:
        return self._model.pace()

    def prober(self) -> ChatModel:
        """A client for probing: it keeps to the same slots, but does not wait out a dead endpoint."""
        if self._prober is None:
            self._prober = _Prober(self, self._connect(self.settings, patient=False))
        return self._prober

    async def close(self) -> None:
        await self._model.close()
        if self._prober is not None:
            await self._prober.close()


class _Prober:
    """Each probe takes a slot of the endpoint, as an item does."""

    def __init__(self, endpoint: Endpoint, model: ChatModel) -> None:
        self._endpoint = endpoint
        self._model = model

    async def complete(self, request: ChatRequest) -> Answer:
        async with self._endpoint.slot():
            return await self._model.complete(request)

    async def models(self) -> list[str]:
        return await self._model.models()

    def pace(self) -> Pace:
        return self._model.pace()

    async def close(self) -> None:
        await self._model.close()


class EndpointPool:
    """Endpoints by their settings, the model's name aside, so that two runs on one provider share its limits."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._endpoints: dict[str, tuple[Endpoint, int]] = {}

    def borrow(self, settings: EndpointSettings) -> Endpoint:
        key = _key(settings)
        if key in self._endpoints:
            endpoint, users = self._endpoints[key]
        else:
            endpoint, users = Endpoint(settings, self._connect), 0
        self._endpoints[key] = (endpoint, users + 1)
        return endpoint

    async def give_back(self, endpoint: Endpoint) -> None:
        """Connections close when the last run that uses them ends."""
        key = _key(endpoint.settings)
        _, users = self._endpoints[key]
        if users > 1:
            self._endpoints[key] = (endpoint, users - 1)
        else:
            del self._endpoints[key]
            await endpoint.close()


def _key(settings: EndpointSettings) -> str:
    return settings.model_copy(update={"model": ""}).model_dump_json()
