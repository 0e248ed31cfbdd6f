"""A command that is told to end, or killed while it writes a report."""

from __future__ import annotations

import random
import signal
import time

from tests.support import ledger
from tests.support.scripted_server import ScriptedServer, Step
from tests.support.served import fill_with_results

IN_FLIGHT = 8
KILLS = 10


def test_a7_sigterm_with_eight_calls_in_flight_leaves_them_pending_and_no_traceback(small):
    """A7."""
    with ScriptedServer(capable=True) as server:
        server.script(*[Step()] * 20)
        server.always(Step(hang=True))
        arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--json")
        with small.start(*arguments, "--concurrency", IN_FLIGHT, REQUEST_TIMEOUT_SECONDS="60") as process:
            deadline = time.monotonic() + 60
            while server.in_flight < IN_FLIGHT or len(server.chats) < 20:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
        assert process.returncode == 3
        assert "Traceback" not in out + err and "resume" in err
        stopped = ledger.read(small.database, 1)
        assert stopped.status == "interrupted"
        assert (stopped.failed, stopped.pending) == (0, 60 - stopped.succeeded)
        calls = [call for call in server.chats if b"uestion number" in call.content]
        assert len(calls) - stopped.succeeded == IN_FLIGHT
        server.always(None)
        small("resume", "1")
    assert ledger.read(small.database, 1).succeeded == 60


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
