"""What the repository must not hold, and what a newcomer's machine runs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

# Written in pieces, so that this file does not hold what it forbids.
REGISTRY_HOSTS = re.compile(
    "|".join(("py" + "pi[.]org", "python" + "hosted", "registry[.]" + "npm", "npmjs[.]" + "com"))
)
MACHINE_PATHS = re.compile(r"(?<![\w./*-])/(?:home|root|Users|work|mnt|opt)" + r"/[\w.]")


def text_of(path: Path) -> str:
    """The text of a file; empty for pictures and other bytes."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def findings(files: list[Path], forbidden: re.Pattern[str], root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{number}: {line.strip()[:100]}"
        for path in files
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if forbidden.search(line)
    ]


def test_no_file_names_a_package_registry(repository: list[Path], root: Path) -> None:
    assert findings(repository, REGISTRY_HOSTS, root) == []


def test_no_file_names_a_folder_of_somebodys_machine(repository: list[Path], root: Path) -> None:
    assert findings(repository, MACHINE_PATHS, root) == []


def test_what_is_forbidden_would_be_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("\n".join(("see https://py" + "pi.org/simple", "cd /" + "home/me", "/api/v1/home/x", "data/work/y")))
    assert len(findings([bad], REGISTRY_HOSTS, tmp_path)) == 1
    assert len(findings([bad], MACHINE_PATHS, tmp_path)) == 1


def test_the_lock_file_pins_every_requirement_with_hashes_and_names_no_address(root: Path) -> None:
    text = (root / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert [line for line in text.splitlines() if line.startswith("-")] == []
    requirements = re.findall(r"^[a-z0-9][^\n]*(?:\n +[^\n]*)*", text, re.MULTILINE)
    assert len(requirements) > 50
    assert [entry.split()[0] for entry in requirements if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_the_hooks_before_a_commit_are_local_and_call_the_tools_of_the_environment(root: Path) -> None:
    text = (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    commands = re.findall(r"entry: (\S+)", text)
    assert commands
    assert [command for command in commands if not command.startswith(".venv/bin/")] == []


def test_the_check_of_a_bare_machine_can_be_executed_and_is_valid_shell(root: Path) -> None:
    script = root / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    assert script.read_text(encoding="utf-8").rstrip().endswith("make test")


def test_the_licence_is_the_whole_apache_licence(root: Path) -> None:
    text = (root / "LICENSE").read_text(encoding="utf-8")
    assert text.lstrip().startswith("Apache License\n")
    assert "END OF TERMS AND CONDITIONS" in text
    assert "APPENDIX: How to apply the Apache License to your work." in text
    assert text.count("\n") > 200
