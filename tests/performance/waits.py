"""How long waits last: those an endpoint asks for, those it causes, and those for the end of a run.

    python -m tests.performance.waits

What comes of each is held by tests/providers and tests/runs; here are the times, with their limits.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

from engine.domain.runs import RunStatus, WaitingReason
from engine.providers import NO_RETRY
from engine.services import runs
from tests.performance.figures import Figure, finish, p95
from tests.providers.conftest import answer_of, error_of
from tests.providers.conftest import endpoint as client
from tests.support import engines, running
from tests.support.command_line import CommandLine
from tests.support.memory import growth_mb
from tests.support.scripted_server import ScriptedServer, Step, message
from tests.support.served import Server

LIMIT_S = 2.0
"""On a call."""
GIGABYTE = 1000
IN_FLIGHT = 8
ITEMS = 60
PATIENCE_S = 60.0
USUAL_RETRIES = {"request_retry_count": 5, "request_retry_delay_seconds": 5, "request_retry_max_delay_seconds": 60}


def main() -> None:
    figures = [*_asked_for(), *_hanging(), *_large(), *_cancelled(), *_at_the_end(), *_down()]
    finish("Waits: what endpoints ask for and cause, and the ends of runs", figures)


def _asked_for() -> Iterator[Figure]:
    """C1, C2, C3."""
    with ScriptedServer() as server:
        server.script(Step(status=429, headers={"Retry-After": "2"}))
        answer_of(client(server.base_url))
        first, second = (request.at_s for request in server.chats)
        yield Figure("C1: Retry-After: 2, asked again after", second - first, "s", 2, at_least=True)
        yield Figure("C1: and at the latest", second - first, "s", 3)
    with ScriptedServer() as server:
        then = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4)
        server.script(Step(status=429, headers={"Retry-After": format_datetime(then, usegmt=True)}))
        due_s = time.monotonic() + (then - datetime.now(UTC)).total_seconds()
        answer_of(client(server.base_url))
        yield Figure("C2: Retry-After as a date, off by", abs(server.chats[-1].at_s - due_s), "s", 1)
    with ScriptedServer() as server:
        server.always(Step(status=429, headers={"Retry-After": "86400"}))
        begun = time.monotonic()
        error_of(client(server.base_url))
        yield Figure("C3: Retry-After: 86400, given up after", time.monotonic() - begun, "s", 1)


def _hanging() -> Iterator[Figure]:
    """C7."""
    kinds = {
        "before headers": Step(hang=True),
        "after headers": Step(hang_after_headers=True),
        "1 byte a second": Step(body=message("Slow."), drip_s=1),
    }
    for name, step in kinds.items():
        with ScriptedServer() as server:
            server.always(step)
            begun = time.monotonic()
            error_of(client(server.base_url, timeout_s=LIMIT_S), retry=NO_RETRY)
            off = abs(time.monotonic() - begun - LIMIT_S) / LIMIT_S * 100
        yield Figure(f"C7: hangs {name}, off the limit of {LIMIT_S:g} s by", off, "%", 10)


def _large() -> Iterator[Figure]:
    """C8, with the whole gigabyte."""
    from tests.providers.test_openai_faults import packed

    body = packed(GIGABYTE, encoding="gzip")
    with ScriptedServer() as server:
        server.always(Step(body=body, headers={"Content-Encoding": "gzip"}))
        growth = growth_mb()
        error_of(client(server.base_url, timeout_s=60))
        yield Figure(f"C8: growth by {len(body) / 1e6:.1f} MB that unpack to 1 GB", growth(), "MB", 50)


def _cancelled() -> Iterator[Figure]:
    """B12."""
    with ScriptedServer(capable=True) as server, _opened() as engine:
        running.questions_meet(server, lambda place, _: Step(hang=True) if place >= 10 else None)
        run = running.start(engine, server.base_url, max_concurrency=IN_FLIGHT, timeout_s=60.0)
        _until(lambda: server.in_flight == IN_FLIGHT)
        begun = time.monotonic()
        runs.cancel(engine, run.id, actor=engines.ADMIN)
        _until(lambda: runs.get(engine, run.id, actor=engines.ADMIN).status == RunStatus.CANCELLED)
        yield Figure(f"B12: cancelled with {IN_FLIGHT} calls in flight after", time.monotonic() - begun, "s", 5)
        late = max(request.at_s for request in server.chats) - begun
        yield Figure("B12: the last call began after", max(0.0, late), "s", 1)


def _at_the_end() -> Iterator[Figure]:
    """B18."""
    with ScriptedServer(capable=True, latency_s=0.05) as server, _opened() as engine:
        run = running.start(engine, server.base_url, max_concurrency=IN_FLIGHT)
        _until(lambda: runs.progress(engine, run.id, actor=engines.ADMIN).run.status.is_over)
        seen = time.monotonic()
        last = max(request.at_s for request in server.chats) + server.latency_s
        yield Figure("B18: the end is seen after the last answer by", seen - last, "s", 2)


def _down() -> Iterator[Figure]:
    """C21: a server whose provider goes away, with the retries that nobody has set otherwise."""
    with tempfile.TemporaryDirectory() as name, ScriptedServer(capable=True) as model:
        folder = Path(name)
        bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(ITEMS)])
        settings = {name.upper(): str(value) for name, value in USUAL_RETRIES.items()}
        command = CommandLine(folder, BANK_FILE=str(bank), **settings)
        command("init-db")
        with Server(command) as server:
            draft = {"name": "scripted", "kind": "openai", "base_url": model.base_url, "default_model": "m"}
            provider = server.post("/providers", {**draft, "max_concurrency": IN_FLIGHT})
            running.questions_meet(model, lambda place, _: model.always(Step(drop=True)) if place == 10 else None)
            body = {"profile": "full", "auto_judge": False, "provider_id": provider["id"]}
            run_id = server.post("/runs", body)["id"]
            _until(lambda: len(running.questions(model)) > 10)
            gone = time.monotonic()
            answers: list[float] = []
            while True:
                begun = time.monotonic()
                waiting = server.get(f"/runs/{run_id}")["waiting"]
                server.client.get(server.address).raise_for_status()
                answers.append(time.monotonic() - begun)
                if waiting is not None and waiting["reason"] == WaitingReason.PROVIDER_DOWN:
                    break
                assert time.monotonic() - gone < PATIENCE_S, "nobody finds out that the provider is gone"
                time.sleep(0.05)
            yield Figure("C21: a provider that is down is found out after", time.monotonic() - gone, "s", 30)
            yield Figure("C21: meanwhile the run and the page answer, 95 % within", p95(answers), "s", 1)


@contextlib.contextmanager
def _opened() -> Iterator[engines.Engine]:
    with tempfile.TemporaryDirectory() as folder:
        bank = engines.write_bank(Path(folder) / "bank", [engines.case(number) for number in range(ITEMS)])
        with engines.opened(Path(folder), bank_file=bank) as engine:
            yield engine


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


if __name__ == "__main__":
    main()
