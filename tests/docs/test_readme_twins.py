"""The README and its Chinese twin say the same."""

from __future__ import annotations

import re
from pathlib import Path

from docs_reader import Document


def test_the_twins_have_the_same_headings_in_number_and_level(readme: Document, chinese_readme: Document) -> None:
    assert [level for level, _ in readme.headings] == [level for level, _ in chinese_readme.headings]


def test_the_twins_show_the_same_commands(readme: Document, chinese_readme: Document) -> None:
    assert readme.blocks == chinese_readme.blocks
    assert len(readme.blocks) > 3


def test_the_twins_name_the_same_files_commands_and_settings(readme: Document, chinese_readme: Document) -> None:
    assert set(readme.code_words) == set(chinese_readme.code_words)


def test_the_twins_link_to_the_same_pages_and_pictures_and_to_each_other(
    readme: Document, chinese_readme: Document
) -> None:
    assert set(readme.links) - {"README.zh-CN.md"} == set(chinese_readme.links) - {"README.md"}
    assert "README.zh-CN.md" in readme.links
    assert "README.md" in chinese_readme.links


def test_the_readme_shows_every_main_page(readme: Document) -> None:
    pictures = {link for link in readme.links if link.endswith(".png")}
    assert pictures == {f"docs/images/{name}.png" for name in ("overview", "runs", "results", "review", "providers")}


def test_the_readme_names_the_two_commands_of_a_newcomer(readme: Document) -> None:
    blocks = [content for _, content in readme.blocks]
    assert "make run\n" in blocks
    assert "make test\n" in blocks


def test_every_make_target_the_documents_name_exists(documents: list[Document], root: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target
        for document in documents
        for text in (*document.code_words, *(content for _, content in document.blocks))
        for target in re.findall(r"\bmake ([a-z]+)", text)
    }
    assert named - targets == set()
    assert {"run", "test", "lint"} <= named
