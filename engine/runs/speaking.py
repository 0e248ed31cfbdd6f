"""How a run speaks to an endpoint: as probing found out, and without what the endpoint refuses on the way.

Endpoints name one refused parameter at a time, and some take a parameter until a question of another shape comes.
Probing takes two round trips; whatever is refused after them is learned here, from the questions themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from engine.domain.chat import Answer, ChatModel, ChatRequest, Dialect, Pace
from engine.errors import ProviderError
from engine.providers import dialects

FOR_THE_JUDGE = "for the judge"
"""Begins what a run is told of how its judge is asked."""

ASKED_AT_MOST = 20
"""Times one question is asked, each time without one more that was refused."""

_THE_QUESTION_ITSELF = frozenset({"tools"})
"""Without these it would be another question."""

Keep = Callable[[Dialect, Dialect], Awaitable[None]]
"""Writes into the run how it speaks from now on, the dialect before and after."""


class Speech:
    """One run's way to speak to one endpoint. Belongs to the engine's loop."""

    def __init__(self, dialect: Dialect, keep: Keep) -> None:
        self.dialect = dialect
        self._keep = keep
        self._learning = asyncio.Lock()

    async def ask(self, complete: Callable[[ChatRequest], Awaitable[Answer]], request: ChatRequest) -> Answer:
        """The answer, asked for in the run's dialect and again without each parameter or role that is refused by name.

        What had to be left out for an answer is kept for the run before the answer is handed on.

        Raises:
            ProviderError: of `complete`, where leaving out nothing more would help.
            UnavailableError: the store cannot take down what is left out.
        """
        refused: list[str] = []
        tries = 0
        while True:
            dialect = dialects.without(self.dialect, refused) if refused else self.dialect
            if request.dialect is not dialect:
                request = request.model_copy(update={"dialect": dialect})
            try:
                answer = await complete(request)
            except ProviderError as error:
                tries += error.tries
                error.tries = tries
                name = error.refused
                if name is None or name in _THE_QUESTION_ITSELF or len(refused) + 1 == ASKED_AT_MOST:
                    raise
                # Others may have learned it meanwhile. What stays refused although it is left out was never sent.
                if dialects.without(dialect, [name]) == dialect:
                    raise
                refused.append(name)
            else:
                break
        if not refused:
            return answer
        await self._learn(refused)
        return answer.model_copy(update={"tries": answer.tries + tries})

    async def _learn(self, refused: list[str]) -> None:
        async with self._learning:
            before, after = self.dialect, dialects.without(self.dialect, refused)
            if after != before:
                await self._keep(before, after)  # first: no answer to what was asked so is stored before this is
                self.dialect = after


class Spoken:
    """An endpoint as whoever asks sees it: spoken to in the run's way."""

    def __init__(self, model: ChatModel, speech: Speech) -> None:
        self._model = model
        self._speech = speech

    async def complete(self, request: ChatRequest) -> Answer:
        return await self._speech.ask(self._model.complete, request)

    async def models(self) -> list[str]:
        return await self._model.models()

    def pace(self) -> Pace:
        return self._model.pace()

    async def close(self) -> None:
        """Whoever opened the endpoint closes it."""
