"""What a model or a stranger wrote may not reach a sink that reads Markdown. A walk over the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "dashboard").rglob("*.py"), *(ROOT / "pages").glob("*.py")])

FOREIGN = frozenset(
    """
    text reason arguments reasoning message messages output must must_not content name model profile
    provider_name judge_model created_by reviewer username display_name default_model base_url hint note error
    instance_id title api_key_hint served_model fixture_id media_type sha256 code description lock_holder
    """.split()  # noqa: SIM905 (reads better than forty quoted words)
)
"""Attributes that hold what others wrote."""

ESCAPES = frozenset({"label", "cell", "visible", "draw", "say"})
"""Functions of `untrusted`; what goes through one of them is harmless for its sink."""

SINKS = frozenset(
    """
    markdown write caption title header subheader error warning info success toast badge button checkbox
    toggle radio expander tabs metric table latex html popover status chat_message page_link link_button
    text_input text_area selectbox multiselect pills segmented_control number_input slider download_button
    form_submit_button dialog progress spinner help
    """.split()  # noqa: SIM905
)
"""Streamlit calls whose arguments are drawn as Markdown."""

PLAIN_ARGUMENTS = frozenset({"key", "file_name", "mime", "on_click", "args", "kwargs", "data", "placeholder", "value"})
"""Arguments of those calls that are no Markdown."""

FORBIDDEN = frozenset(
    {"html", "exception", "write", "write_stream", "components", "ImageColumn", "MarkdownColumn", "LinkColumn"}
)


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def escaped(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ESCAPES
        and isinstance(function.value, ast.Name)
        and function.value.id == "untrusted"
    )


def foreign(node: ast.AST) -> Iterator[ast.Attribute]:
    """Foreign attributes below a node that no escape stands around."""
    if isinstance(node, ast.Call):
        if escaped(node):
            return
        if isinstance(node.func, ast.Attribute):
            yield from foreign(node.func.value)  # a method's name is no attribute of a record
        children: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Compare | ast.Lambda):
        return
    else:
        if isinstance(node, ast.Attribute) and node.attr in FOREIGN:
            yield node
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from foreign(child)


def leaks(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SINKS):
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id in {"words", "untrusted", "reviews", "reports"}:
            continue
        arguments = [*node.args, *(each.value for each in node.keywords if each.arg not in PLAIN_ARGUMENTS)]
        for argument in arguments:
            for found in foreign(argument):
                if isinstance(found.value, ast.Name) and found.value.id in OURS:
                    continue
                yield f"line {node.lineno}: {node.func.attr} gets .{found.attr} unescaped"


OURS = frozenset({"look", "prepared", "palette", "words", "info", "made"})
"""Records whose attributes we wrote ourselves: colours, a file we made, a profile's own figures."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_foreign_text_reaches_no_markdown_sink(path: Path) -> None:
    assert list(leaks(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_the_walk_sees_a_leak() -> None:
    for source in (
        "st.markdown(result.output.text)",
        "st.error(f'failed: {error.message}')",
        "st.button(provider.name)",
        "left.caption(_('by {who}').format(who=review.reviewer))",
        "st.expander(judgement.reason.strip())",
    ):
        assert list(leaks(ast.parse(source))), source
    assert list(leaks(ast.parse("st.markdown(untrusted.label(result.output.text))"))) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_raw_html_and_no_sink_that_loads_what_it_is_given(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword):
            assert node.arg != "unsafe_allow_html"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "st":
            assert node.attr not in FORBIDDEN, f"line {node.lineno}: st.{node.attr}"
        if isinstance(node, ast.Attribute) and node.attr.endswith("Column"):
            assert node.attr not in FORBIDDEN, f"line {node.lineno}: {node.attr}"
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            assert not any(name.startswith("streamlit.components") for name in names)
