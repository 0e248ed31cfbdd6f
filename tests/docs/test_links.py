"""Links lead somewhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from docs_reader import Document, is_outside, read_document


def test_every_link_inside_the_repository_leads_to_an_existing_file(documents: list[Document], root: Path) -> None:
    dead = [
        f"{document.path.relative_to(root)}: {link}"
        for document in documents
        for link in document.links
        if not is_outside(link) and not (document.path.parent / unquote(link.partition("#")[0])).exists()
    ]
    assert dead == []


def test_every_link_to_a_heading_names_a_heading_that_exists(documents: list[Document], root: Path) -> None:
    dead = []
    for document in documents:
        for link in document.links:
            name, _, anchor = link.partition("#")
            if is_outside(link) or not anchor:
                continue
            target = read_document(document.path.parent / unquote(name)) if name else document
            if unquote(anchor) not in target.anchors:
                dead.append(f"{document.path.relative_to(root)}: {link}")
    assert dead == []


def test_a_dead_link_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page: one\n\n[a](gone.md) `[b](code.md)`\n\n```\n[c](fenced.md)\n```\n\n![d](x.png)\n")
    document = read_document(page)
    assert document.links == ["gone.md", "x.png"]
    assert document.anchors == {"a-page-one"}
