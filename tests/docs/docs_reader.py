"""Readers of the documentation: the repository's files, and Markdown taken apart far enough to check it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Document(NamedTuple):
    """A Markdown file taken apart. `prose` is the text without fenced blocks and comments."""

    path: Path
    prose: str
    blocks: tuple[tuple[str, str], ...]
    """Fenced blocks in order, as (language, content)."""

    @property
    def headings(self) -> list[tuple[int, str]]:
        """(level, text) in order."""
        return [(len(marks), text) for marks, text in re.findall(r"^(#{1,6}) +(.+?) *$", self.prose, re.MULTILINE)]

    @property
    def links(self) -> list[str]:
        """Targets of links and images, in order, those inside inline code left out."""
        without_code = re.sub(r"`[^`\n]*`", "", self.prose)
        return re.findall(r"\]\(([^()\s]+)\)", without_code) + re.findall(r'(?:src|href)="([^"]+)"', without_code)

    @property
    def code_words(self) -> list[str]:
        """What stands in inline code."""
        return re.findall(r"`([^`\n]+)`", self.prose)

    @property
    def anchors(self) -> set[str]:
        """The names that links may use for the headings."""
        plain = (re.sub(r"[^\w\- ]", "", text.lower()) for _, text in self.headings)
        return {text.replace(" ", "-") for text in plain}


def read_document(path: Path) -> Document:
    """Take a Markdown file apart; an unclosed fence is an error."""
    prose: list[str] = []
    blocks: list[tuple[str, str]] = []
    fence = ""
    language = ""
    content: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        opened = re.match(r"(`{3,}|~{3,})(\w*)\s*$", line)
        if fence:
            if line.rstrip() == fence:
                blocks.append((language, "".join(f"{text}\n" for text in content)))
                fence, content = "", []
            else:
                content.append(line)
        elif opened:
            fence, language = opened.groups()
        else:
            prose.append(line)
    assert not fence, f"{path.name} leaves a code fence open"
    return Document(path, "\n".join(prose), tuple(blocks))


def is_outside(link: str) -> bool:
    """Whether a link leaves the repository."""
    return re.match(r"[a-z]+:", link) is not None


def tracked_files(root: Path) -> Iterator[Path]:
    """What the repository holds and the work tree still has."""
    # The checkout may belong to another user than the one who runs the tests; git then refuses unless told it is meant.
    command = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True, encoding="utf-8").stdout
    return (root / name for name in listed.split("\0") if name and (root / name).is_file())
