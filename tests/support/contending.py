"""Two processes that want the same run at the same moment."""

from __future__ import annotations

import re
import signal
from collections import Counter

import httpx

from tests.support import ledger
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer

QUESTION = re.compile(rb"uestion number (\d+):")


def contend(one: CommandLine, other: CommandLine, server: ScriptedServer) -> int:
    """One try: a run is left by a process that was killed, then both resume it; how many of them were refused."""
    arguments = ("run", "--profile", "full", "--base-url", server.base_url, "--model", "m", "--concurrency", "4")
    with one.start(*arguments, MAGISTRATE_KILL_AT="committing:2") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, out + err
    run_id = ledger.newest_run(one.database)
    assert run_id is not None
    before = ledger.read(one.database, run_id)
    _let_it_read(server)
    seen = len(server.chats)
    with one.start("resume", run_id) as first, other.start("resume", run_id) as second:
        said = [process.communicate(timeout=60) for process in (first, second)]
    codes = sorted((first.returncode, second.returncode))
    # The second may also come when the first has finished; then there is nothing to resume any more.
    assert codes == [0, 3], f"exits {codes}\n{said}"
    asked = Counter(QUESTION.findall(b"".join(call.content for call in server.chats[seen:])))
    assert set(asked.values()) <= {1}, "an item was asked by both"
    now = ledger.read(one.database, run_id)
    assert now.status == "completed" and now.succeeded == now.planned
    assert asked.total() == now.succeeded - before.succeeded
    return codes.count(3)


def _let_it_read(server: ScriptedServer) -> None:
    """Wait until what the killed process had sent is read: the server takes connections in the order they come."""
    for _ in range(2):
        httpx.get(f"{server.base_url}/models", trust_env=False, timeout=60).raise_for_status()
