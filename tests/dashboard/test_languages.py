from __future__ import annotations

import ast
import locale
import string
from pathlib import Path

import pytest

from dashboard import i18n
from dashboard.locale import extract, sentences

ROOT = Path(__file__).resolve().parents[2]


def wanted() -> set[str | tuple[str, ...]]:
    return {message.id for message in extract.template() if message.id}


@pytest.mark.parametrize("name", extract.CATALOGUES)
def test_every_string_of_the_interface_is_in_the_catalogue_and_translated(name: str) -> None:
    catalogue = extract.read(name)
    held = {message.id: message.string for message in catalogue if message.id}
    assert held.keys() == wanted()
    empty = [each for each, text in held.items() if not (text if isinstance(text, str) else all(text))]
    assert empty == []


def names(text: str) -> set[str]:
    return {field for _literal, field, _spec, _conversion in string.Formatter().parse(text) if field}


@pytest.mark.parametrize("name", extract.CATALOGUES)
def test_a_translation_fills_in_the_same_names(name: str) -> None:
    for message in extract.read(name):
        texts = [message.string] if isinstance(message.string, str) else list(message.string)
        asked = message.id if isinstance(message.id, str) else message.id[-1]
        for text in texts:
            assert names(text) == names(asked), asked


def test_the_extraction_finds_calls_inside_an_f_string(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    source.write_text("x = f\"**{_('Inside')}**\"\nngettext('{n} a', '{n} b', 2)\n", encoding="utf-8")
    with source.open("rb") as file:
        found = list(extract.messages(file, extract.KEYWORDS.keys(), (), {}))
    assert {each[2] for each in found} == {"Inside", ("{n} a", "{n} b")}


def test_no_string_is_built_before_it_is_looked_up() -> None:
    for path in [*(ROOT / "dashboard").rglob("*.py"), *(ROOT / "pages").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_":
                assert isinstance(node.args[0], ast.Constant | ast.Name), f"{path.name} line {node.lineno}"


def test_extracting_again_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in extract.CATALOGUES:
        (tmp_path / f"{name}.po").write_bytes(extract.path(name).read_bytes())
    monkeypatch.setattr(extract, "path", lambda name: tmp_path / f"{name}.po")
    copy = tmp_path / sentences.FILE.name
    copy.write_bytes(sentences.FILE.read_bytes())
    monkeypatch.setattr(sentences, "FILE", copy)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.po")}
    extract.main()
    assert len(before) == len(extract.CATALOGUES) + 1
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.po")} == before


@pytest.mark.parametrize(
    ("browser", "language"), [("zh-CN", "zh"), ("zh-TW", "zh"), ("en-GB", "en"), ("de", "en"), (None, "en"), ("", "en")]
)
def test_the_first_visit_speaks_the_browsers_language(browser: str | None, language: str) -> None:
    assert i18n.preferred(browser) == language


def test_our_catalogue_folder_does_not_hide_the_standard_module() -> None:
    assert hasattr(locale, "setlocale")
