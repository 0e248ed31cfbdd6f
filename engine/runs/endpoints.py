"""Connected endpoints and the limits that all runs on them share."""

from __future__ import annotations

import asyncio
from collections import deque
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
    """One connected endpoint: as many items in flight as its pace allows, `max_concurrency` at most, over all runs.

    Lives on one event loop. Changing a provider's limits makes a new endpoint for the runs that start later.
    """

    def __init__(self, settings: EndpointSettings, connect: Connect) -> None:
        self.settings = settings
        self._model = connect(settings, patient=True)
        self._connect = connect
        self._impatient: ChatModel | None = None
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._asking = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place in flight, held from the first request of an item until its answer is committed."""
        await self.enter()
        try:
            yield
        finally:
            self.leave()

    async def enter(self) -> None:
        """Take a place, in the order of asking; every `enter` that returns needs one `leave`."""
        if not self._queue and self._taken < self._model.pace().limit:
            self._taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave()  # the place was given just before: pass it on
            raise

    def leave(self) -> None:
        self._taken -= 1
        if not self._queue:
            return
        # An endpoint that allows less than before lets its items run out; one that allows more lets several in.
        limit = self._model.pace().limit
        while self._queue and self._taken < limit:
            turn = self._queue.popleft()
            if not turn.done():  # one that is done was cancelled while it waited
                self._taken += 1
                turn.set_result(None)

    async def complete(self, request: ChatRequest) -> Answer:
        self._asking += 1
        try:
            return await self._model.complete(request)
        finally:
            self._asking -= 1

    async def models(self) -> list[str]:
        return await self._model.models()

    def pace(self) -> Pace:
        return self._model.pace()

    def all_on_the_wire(self) -> bool:
        """Whether no call waits to be made, or made again."""
        return self._model.pace().in_flight >= self._asking

    def prober(self) -> ChatModel:
        """A client for probing: it keeps to the same slots, but does not wait out a dead endpoint."""
        return _Prober(self, self.impatient())

    def impatient(self) -> ChatModel:
        """A client that does not wait out a dead endpoint, for whoever holds a place, or makes a single trial call."""
        if self._impatient is None:
            self._impatient = self._connect(self.settings, patient=False)
        return self._impatient

    async def close(self) -> None:
        await self._model.close()
        if self._impatient is not None:
            await self._impatient.close()


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
        """The endpoint closes its own clients."""


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
