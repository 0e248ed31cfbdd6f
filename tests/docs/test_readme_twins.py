"""The README and its Chinese twin say the same."""

from __future__ import annotations

import re
from pathlib import Path

from docs_reader import Document
from typer.main import get_command

from engine import bank, cli
from engine.cli import common


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
    chinese = {link.replace("docs/tutorial/zh/", "docs/tutorial/") for link in chinese_readme.links}
    assert set(readme.links) - {"README.zh-CN.md"} == chinese - {"README.md"}
    assert "README.zh-CN.md" in readme.links
    assert "README.md" in chinese_readme.links


def test_the_readme_shows_every_main_page(readme: Document) -> None:
    pictures = {link for link in readme.links if link.endswith(".png")}
    assert pictures == {
        f"docs/images/{name}.png" for name in ("overview", "runs", "results", "review", "providers", "bank")
    }


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
        for target in re.findall(r"^(?:sudo )?make ([a-z]+)", text, re.MULTILINE)
    }
    assert named - targets == set()
    assert {"run", "test", "lint"} <= named


def test_the_documents_name_every_command_of_the_command_line_and_no_other(
    readme: Document, operations: Document
) -> None:
    commands = set(get_command(cli.app).commands)  # type: ignore[attr-defined]
    in_readme = re.findall(r"^\| `([a-z-]+)[^`]*` \|", readme.prose, re.MULTILINE)
    in_operations = re.findall(r"^\| `magistrate ([a-z-]+)[^`]*` \|", operations.prose, re.MULTILINE)
    assert set(in_readme) == commands
    assert set(in_operations) == commands


def test_every_option_the_documents_give_to_a_command_exists(documents: list[Document]) -> None:
    commands = get_command(cli.app).commands  # type: ignore[attr-defined]
    unknown = []
    for document in documents:
        for _language, content in document.blocks:
            for name, rest in re.findall(r"\bmagistrate ([a-z-]+)(.*)", content):
                known = {option for parameter in commands[name].params for option in parameter.opts}
                unknown += [
                    f"{document.path.name}: magistrate {name} {option}"
                    for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)
                    if option not in known
                ]
    assert unknown == []


def test_the_exit_codes_in_the_operations_manual_are_those_of_the_command_line(operations: Document) -> None:
    described = {int(code) for code in re.findall(r"^\| (\d+) \| .{4,} \|$", operations.prose, re.MULTILINE)}
    assert described == {common.DONE, common.FINDINGS, common.WRONG_USE, common.NOT_DONE, common.INTERRUPTED}


def test_the_profiles_the_readme_names_are_those_of_the_bundled_bank(readme: Document, root: Path) -> None:
    profiles = bank.load(root / "data" / "dataset.json").profiles
    assert set(profiles) <= set(readme.code_words)
    assert re.findall(r"--profile ([a-z]+)", "".join(content for _, content in readme.blocks))[0] in profiles
