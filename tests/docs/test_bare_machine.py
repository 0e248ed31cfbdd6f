"""What `.ci/run` does on a machine that lacks everything, and on one that has it all.

The machine is a folder of commands: real ones linked in, and stand-ins for those that would change the system. The
stand-ins write down how they were called.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REAL = ("bash", "env", "grep", "dirname", "cat")


class Machine:
    """A PATH of its own and a record of what was called."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.record = folder / "record"
        self.record.touch()
        for name in REAL:
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)
        self.add("sudo", 'shift; "$@"')

    def add(self, name: str, does: str = "") -> None:
        """A stand-in that records its name and arguments, then does what it is given."""
        script = self.bin / name
        script.write_text(f'#!/bin/bash\necho "{name} $*" >> "{self.record}"\n{does}\n')
        script.chmod(0o755)

    def run(self, script: Path) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "HOME": str(self.bin)}
        return subprocess.run([script], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    @property
    def calls(self) -> list[str]:
        return self.record.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def script(root: Path) -> Path:
    return root / ".ci" / "run"


def test_a_machine_that_has_everything_is_left_as_it_is(machine: Machine, script: Path) -> None:
    for name in ("git", "chromium", "apt-get"):
        machine.add(name)
    machine.add("dpkg-query", "echo install ok installed")
    machine.add("make", 'echo "making $* with browser=${MAGISTRATE_BROWSER:-}"')
    (machine.bin / "python3").symlink_to(sys.executable)
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    assert [call for call in machine.calls if call.startswith("apt-get")] == []
    assert "making lint with browser=\n" in done.stdout
    assert done.stdout.endswith("making test with browser=required\n")


def test_a_bare_machine_gets_its_packages_after_the_lists_were_renewed(machine: Machine, script: Path) -> None:
    machine.add("dpkg-query", "exit 1")
    machine.add(
        "apt-get",
        f'[ "$1" = update ] || {{ echo "frontend $DEBIAN_FRONTEND"; printf "#!/bin/bash\\necho made $*\\n" '
        f'> "{machine.bin}/make"; /bin/chmod +x "{machine.bin}/make"; }}',
    )
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    update, install = (call for call in machine.calls if call.startswith("apt-get"))
    assert update.startswith("apt-get update")
    packages = {"make", "git", "python3", "python3-venv", "chromium", "fonts-noto-cjk"}
    assert packages <= set(install.split())
    assert "frontend noninteractive" in done.stdout


def test_a_machine_without_apt_is_told_what_is_missing(machine: Machine, script: Path) -> None:
    machine.add("dpkg-query", "exit 1")
    done = machine.run(script)
    assert done.returncode == 1
    assert "chromium" in done.stderr
    assert "no apt-get" in done.stderr


@pytest.mark.parametrize("broken", ["lint", "test"])
def test_a_failing_step_fails_the_whole(machine: Machine, script: Path, broken: str) -> None:
    for name in ("git", "chromium"):
        machine.add(name)
    machine.add("dpkg-query", "echo install ok installed")
    machine.add("make", f'[ "$1" != {broken} ]')
    (machine.bin / "python3").symlink_to(sys.executable)
    assert machine.run(script).returncode != 0
