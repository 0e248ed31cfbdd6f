"""How soon a start, a stop, a full disk and a refusal are over, and sixteen threads beside runs.

    python -m tests.performance.durability [--minutes 5] [--tries 50]

What must hold whatever the time is held by tests/durability/ at a tenth of the count; here are the times, with their
limits, and the whole counts. The commands are the real ones.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.store import Database
from tests.performance.figures import Figure, finish
from tests.performance.processes import model_server
from tests.support import engines, forked, ledger
from tests.support.command_line import CommandLine
from tests.support.contending import contend
from tests.support.creating import create_twice
from tests.support.mixed_load import mixed_load
from tests.support.scripted_server import ScriptedServer, Step
from tests.support.served import Server

ITEMS = 60
IN_FLIGHT = 8
FULL_DISKS = 20
PAGE = 4096 + 24
"""A page in the write-ahead log."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure what a crash, a full disk and a crowd cost.")
    parser.add_argument("--minutes", type=float, default=5, help="of sixteen threads beside runs")
    parser.add_argument(
        "--tries", type=int, default=50, help="of two processes that want the same run, and of creators that die"
    )
    options = parser.parse_args(arguments)
    figures = [
        *_server_ends(),
        *_command_ends(),
        *_full_disks(),
        *_refused_starts(),
        *_two_processes(options.tries),
        *_creators_that_die(options.tries),
        *_crowd(options.minutes * 60),
    ]
    finish("Durability: times, two processes, sixteen threads", figures)


def _server_ends() -> Iterator[Figure]:
    """A6 and A7 with a server."""
    with _installation() as command, ScriptedServer(capable=True) as model:
        with Server(command) as server:
            draft = {"name": "scripted", "kind": "openai", "base_url": model.base_url, "default_model": "m"}
            provider = server.post("/providers", {**draft, "max_concurrency": IN_FLIGHT})
            model.script(*[Step()] * 20)
            model.always(Step(hang=True))
            body = {"profile": "full", "auto_judge": True, "provider_id": provider["id"]}
            run_id = server.post("/runs", body)["id"]
            _until_in_flight(model)
            server.stop(signal.SIGKILL)
        with Server(command) as server:
            begun = time.monotonic()
            server.until(f"/runs/{run_id}", lambda run: run["status"] == "interrupted")
            yield Figure("A6: a killed server's run is interrupted after its start", time.monotonic() - begun, "s", 5)
            server.post(f"/runs/{run_id}/resume")
            _until_in_flight(model)
            with server.client.stream("GET", f"/runs/{run_id}/events"):
                begun = time.monotonic()
                server.stop(signal.SIGTERM)
            yield Figure("A7: SIGTERM ends a server, 8 calls in flight", time.monotonic() - begun, "s", 10)


def _command_ends() -> Iterator[Figure]:
    """A7 with a command."""
    with _installation() as command, ScriptedServer(capable=True) as model:
        model.script(*[Step()] * 20)
        model.always(Step(hang=True))
        with command.start(*_run(model)) as process:
            _until_in_flight(model)
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        yield Figure("A7: SIGTERM ends a command, 8 calls in flight", time.monotonic() - begun, "s", 10)


def _full_disks() -> Iterator[Figure]:
    """A8: the disk is full at one write after the other."""
    slowest = 0.0
    finished = 0
    with ScriptedServer(capable=True, latency_s=0.03) as model, forked.forking() as forker:
        for pages_left in range(FULL_DISKS):
            with _installation(forker) as command:
                seen = len(model.chats)
                with command.start(*_run(model)) as process:
                    while len(model.chats) < seen + 25:
                        time.sleep(0.005)
                    log = command.database.with_name("platform.db-wal").stat().st_size
                    room = log + pages_left * PAGE if pages_left else PAGE
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
                    begun = time.monotonic()
                    _out, said = process.communicate(timeout=60)
                assert "the storage is full" in said, said
                slowest = max(slowest, time.monotonic() - begun)
                command("resume", 1)
                finished += ledger.read(command.database, 1).succeeded == ITEMS
                ledger.require_sound(command.database)
    yield Figure(f"A8: a full disk is said so, slowest of {FULL_DISKS}", slowest, "s", 5)
    yield Figure("A8: runs that resume finished when there was space", finished, "", FULL_DISKS, at_least=True)


def _refused_starts() -> Iterator[Figure]:
    """A9: with the real command."""
    slowest = 0.0
    for spoil in (_missing, _newer, _foreign):
        with _installation() as command:
            code = spoil(command)
            for arguments in (("run", "--profile", "full"), ("serve",))[: 1 if spoil is _missing else 2]:
                begun = time.monotonic()
                command(*arguments, code=code)
                slowest = max(slowest, time.monotonic() - begun)
    yield Figure("A9: a database that cannot be used is refused, slowest", slowest, "s", 5)


def _missing(command: CommandLine) -> int:
    command.database.unlink()
    return 3


def _newer(command: CommandLine) -> int:
    database = Database(f"sqlite:///{command.database}")
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from-the-future'")
    database.close()
    return 3


def _foreign(command: CommandLine) -> int:
    command.database.write_bytes(b"not a database at all" * 300)
    return 2


def _two_processes(tries: int) -> Iterator[Figure]:
    """A11; a double call ends the program."""
    with (
        ScriptedServer(capable=True) as model,
        forked.forking() as first,
        forked.forking() as second,
        _installation(first) as one,
    ):
        other = forked.ForkedCommandLine(second, one.folder, BANK_FILE=one.variables["BANK_FILE"])
        refused = sum(contend(one, other, model) for _ in range(tries))
    yield Figure(f"A11: second processes refused in {tries} tries", refused, "", tries, at_least=True)


def _creators_that_die(tries: int) -> Iterator[Figure]:
    """B6; a second run ends the program."""
    with forked.forking() as forker, _installation(forker) as command:
        for number in range(tries):
            create_twice(command, f"key-{number}")
    yield Figure("B6: creators killed before their answer, same run by the same key", tries, "", tries, at_least=True)


def _crowd(seconds: float) -> Iterator[Figure]:
    """A12."""
    with tempfile.TemporaryDirectory() as folder, model_server(50) as model:
        bank = engines.write_bank(Path(folder) / "bank", [engines.case(number) for number in range(500)])
        with engines.opened(Path(folder), bank_file=bank) as engine:
            load = mixed_load(engine, model.base_url, seconds=seconds)
    for fault in load.faults[:5]:
        print(f"  A12: {fault}")
    yield Figure(f"A12: faults met by 16 threads in {seconds:.0f} s", len(load.faults), "", 0)
    yield Figure("A12: 99 % of writes took at most", load.write_p99_s, "s", 0.5)
    yield Figure("A12: the slowest write", load.write_longest_s, "s")
    yield Figure("A12: writes", load.writes)
    yield Figure("A12: reads", load.reads)
    yield Figure("A12: runs meanwhile", load.runs)


@contextlib.contextmanager
def _installation(forker: forked.Forker | None = None) -> Iterator[CommandLine]:
    """A prepared database and a bank of plain cases."""
    folder = Path(tempfile.mkdtemp())
    try:
        bank = engines.write_bank(folder / "bank", [engines.case(number) for number in range(ITEMS)])
        variables = {"BANK_FILE": str(bank), "REQUEST_TIMEOUT_SECONDS": "60"}
        made = CommandLine(folder, **variables) if forker is None else _forked(forker, folder, variables)
        made("init-db")
        yield made
    finally:
        shutil.rmtree(folder)


def _forked(forker: forked.Forker, folder: Path, variables: dict[str, str]) -> CommandLine:
    return forked.ForkedCommandLine(forker, folder, **variables)


def _run(model: ScriptedServer) -> tuple[object, ...]:
    return ("run", "--profile", "full", "--base-url", model.base_url, "--model", "m", "--concurrency", IN_FLIGHT)


def _until_in_flight(model: ScriptedServer) -> None:
    deadline = time.monotonic() + 60
    while model.in_flight < IN_FLIGHT:
        assert time.monotonic() < deadline, "the calls do not come"
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1:])
