"""Runs against scripted servers: starting them and looking at what came of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from engine.assembly import Engine
from engine.domain.providers import Provider, ProviderDraft, ProviderKind
from engine.domain.runs import Result, ResultFilter, Run, RunSpec
from engine.services import providers, results, runs
from tests.support import engines
from tests.support.engines import ADMIN
from tests.support.scripted_server import Received, ScriptedServer, Step, texts

SPEC = RunSpec(profile="full", auto_judge=True)


def start(engine: Engine, base_url: str, **changes: Any) -> Run:
    """A run of the whole bank over an endpoint that is not a configured provider."""
    return runs.start(engine, SPEC, actor=ADMIN, endpoint=engines.endpoint(base_url, **changes))


def provider(engine: Engine, base_url: str, **changes: Any) -> Provider:
    """A configured provider."""
    values = {"name": "scripted", "kind": ProviderKind.OPENAI, "base_url": base_url, "default_model": "scripted"}
    return providers.create(engine, ProviderDraft(**(values | changes)), actor=ADMIN)


def rows(engine: Engine, run_id: int, **where: Any) -> tuple[Result, ...]:
    return results.page(engine, run_id, ResultFilter(**where), actor=ADMIN, limit=500).items


def questions(server: ScriptedServer) -> list[str]:
    """The bank's questions that the server was asked, in order; probes and trial calls left out."""
    asked = [text for received in server.chats for role, text in texts(received.json) if role == "user"]
    return [text for text in asked if "uestion number" in text]


def questions_meet(server: ScriptedServer, decide: Callable[[int, Received], Step | None]) -> None:
    """Decide about the bank's questions by their place in the order of asking, from 0; None leaves it to the server.

    Probes and trial calls are answered as ever.
    """
    otherwise = server.received
    seen = itertools.count()

    def received(request: Received) -> Step:
        usual = otherwise(request)
        if b"uestion number" not in request.content:
            return usual
        return decide(next(seen), request) or usual

    server.received = received  # type: ignore[method-assign]
