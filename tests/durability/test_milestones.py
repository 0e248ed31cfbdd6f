"""The moments at which a process can be wished dead."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from engine.errors import InputError
from engine.runs import milestones
from engine.settings import ROOT
from tests.support import engines

PASSES_THREE = """
from engine.runs import milestones
import sys
milestones.arm(sys.argv[1])
for number in range(3):
    milestones.reached("claimed")
    print(number, flush=True)
"""


@pytest.mark.parametrize(
    ("wish", "printed", "code"),
    [
        ("claimed", [], -signal.SIGKILL),
        ("claimed:3", ["0", "1"], -signal.SIGKILL),
        ("claimed:4", ["0", "1", "2"], 0),
        ("planned", ["0", "1", "2"], 0),
        ("", ["0", "1", "2"], 0),
    ],
)
def test_a_process_dies_at_the_moment_it_was_wished_dead_and_at_no_other(wish, printed, code):
    command = [sys.executable, "-c", PASSES_THREE, wish]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.returncode) == (printed, code)


@pytest.mark.parametrize("wish", ["lunch", "claimed:0", "claimed:-1", "claimed:", "claimed:²", ":2"])
def test_a_moment_that_does_not_exist_stops_the_start_in_words(tmp_path, wish):
    with (
        pytest.raises(InputError, match=r"MAGISTRATE_KILL_AT.*planned, probed"),
        engines.opened(tmp_path, magistrate_kill_at=wish),
    ):
        pass


def test_the_wish_is_ignored_in_production(tmp_path):
    with engines.opened(tmp_path, magistrate_kill_at="claimed", app_env="production"):
        milestones.reached("claimed")
