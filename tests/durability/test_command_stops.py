"""A command that is told to end, or killed while it writes a report."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import time
from collections.abc import Iterator

import pytest

from engine.cli.ending import Ending, Terminated
from engine.store.database import installed_driver
from tests.support import ledger
from tests.support.command_line import CommandLine, Process
from tests.support.scripted_server import ScriptedServer, Step
from tests.support.served import fill_with_results

IN_FLIGHT = 8
KILLS = 10
SIGNALS = 20


@contextlib.contextmanager
def _calls_under_way(small: CommandLine, server: ScriptedServer) -> Iterator[Process]:
    """A run with some answers whose further calls all hang; they are waited for, for some seconds."""
    server.script(*[Step()] * 20)
    server.always(Step(hang=True))
    arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--json")
    with small.start(*arguments, "--concurrency", IN_FLIGHT) as process:
        deadline = time.monotonic() + 60
        while server.in_flight < IN_FLIGHT or len(server.chats) < 20:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        yield process


def test_a7_sigterm_with_eight_calls_in_flight_leaves_them_pending_and_no_traceback(small):
    """A7."""
    with ScriptedServer(capable=True) as server:
        with _calls_under_way(small, server) as process:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
        assert process.returncode == 3
        assert "Traceback" not in out + err
        told = json.loads(out.splitlines()[-1])
        assert (told["event"], told["status"]) == ("finished", "interrupted") and "resume" in told["error"]
        stopped = ledger.read(small.database, 1)
        assert told["completed_count"] == stopped.succeeded > 0
        assert stopped.status == "interrupted"
        assert (stopped.failed, stopped.pending) == (0, 60 - stopped.succeeded)
        calls = [call for call in server.chats if b"uestion number" in call.content]
        assert len(calls) - stopped.succeeded == IN_FLIGHT
        server.always(None)
        small("resume", "1")
    assert ledger.read(small.database, 1).succeeded == 60


def test_a7_a_signal_ends_a_command_in_words_whatever_it_is_doing(small):
    """A7, at random moments: while the command opens the database, stores the run, asks, or reads how far it is."""
    chance = random.Random(7)
    runs_met = 0
    with ScriptedServer(capable=True, latency_s=0.02) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", 4)
        for number in range(SIGNALS):
            before, asked = ledger.newest_run(small.database), len(server.chats)
            with small.start(*arguments) as process:
                while number % 2 and len(server.chats) == asked and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(chance.uniform(0, 0.3))
                ctrl_c = number % 4 == 1
                process.send_signal(signal.SIGINT if ctrl_c else signal.SIGTERM)
                out, err = process.communicate()
            # The last is how it ends before a handler is there.
            assert process.returncode in ((130,) if ctrl_c else (3, -signal.SIGTERM))
            assert "Traceback" not in out + err, err
            newest = ledger.newest_run(small.database)
            if newest != before:
                runs_met += 1
                assert ledger.read(small.database, newest).status == "interrupted"
    assert runs_met >= SIGNALS // 2


def test_a7_a_second_signal_does_not_cut_the_ending_short(small):
    """A7."""
    with ScriptedServer(capable=True) as server, _calls_under_way(small, server) as process:
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        out, _err = process.communicate()
    assert process.returncode == 3
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"
    assert ledger.read(small.database, 1).status == "interrupted", "nobody else had to find that out"


def test_a7_a_database_that_another_program_holds_keeps_no_command_from_ending(small):
    """A7. What could not be stored is pending, as after a crash."""
    with ScriptedServer(capable=True, latency_s=0.05) as server:
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", 2)
        with small.start(*arguments) as process:
            deadline = time.monotonic() + 60
            while len(server.chats) < 20:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            holder = installed_driver().connect(str(small.database), timeout=30, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            process.send_signal(signal.SIGTERM)
            _out, err = process.communicate(timeout=25)  # the holder would be waited for for 30 s
            holder.execute("ROLLBACK")
            holder.close()
        assert process.returncode == 3 and "Traceback" not in err
        assert "completed" in small("resume", "1").stdout
    ledger.require_sound(small.database)
    assert ledger.read(small.database, 1).succeeded == 60


def test_a_command_that_takes_note_is_ended_where_it_looks_and_by_a_second_ctrl_c_anywhere():
    """In the middle of a transaction an error that comes from nowhere would be taken for one of the database."""
    for number, raised in ((signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)):
        ending = Ending()
        with ending.noted():
            ending.tell(number, None)
            ending.tell(signal.SIGTERM, None)
            with pytest.raises(raised):
                ending.look()
            with pytest.raises(KeyboardInterrupt):
                ending.tell(signal.SIGINT, None)
        ending = Ending()
        with pytest.raises(raised):
            ending.tell(number, None)


def test_a_signal_that_is_lost_in_a_finalizer_is_found_by_whoever_goes_on(monkeypatch):
    lost = []
    monkeypatch.setattr("sys.unraisablehook", lambda raised: lost.append(raised.exc_type))
    ending = Ending()
    ending.look()

    class Finalized:
        def __del__(self):
            ending.tell(signal.SIGTERM, None)

    Finalized()
    assert lost == [Terminated]
    with pytest.raises(Terminated):
        ending.look()


def test_a4_a_report_that_is_killed_half_written_is_not_there_and_the_next_one_is_whole(small):
    """A4."""
    run_id = fill_with_results(small.database, 300)
    small("export", "--run-id", run_id, "-o", "whole.md")
    whole = (small.folder / "whole.md").read_bytes()
    chance = random.Random(4)
    cut_short = 0
    report = small.folder / "out" / "report.md"
    for _ in range(KILLS):
        with small.start("export", "--run-id", run_id, "-o", report) as process:
            while not list(small.folder.glob("out/*")) and not list(small.folder.glob("out/.*")):
                if process.poll() is not None:
                    break
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
        cut_short += process.returncode == -signal.SIGKILL and not report.exists()
        assert not report.exists() or report.read_bytes() == whole
        report.unlink(missing_ok=True)
        for left in small.folder.glob("out/.*"):
            left.unlink()
    assert cut_short, "no kill met a report under way"
    small("export", "--run-id", run_id, "-o", report)
    assert report.read_bytes() == whole
