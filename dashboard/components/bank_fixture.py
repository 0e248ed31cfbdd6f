"""Pinned material of a case: the picture, or each field of a document with who may see it."""

from __future__ import annotations

import json

import streamlit as st

from dashboard import spoken
from dashboard.components import untrusted
from dashboard.i18n import _, language
from engine.domain.cases import Fixture

CONTENT = "content"
"""The one field of an image or a text."""


def draw(name: str, found: tuple[Fixture, bytes] | str, *, key: str) -> None:
    """A fixture by its name, or why it cannot be had."""
    with st.container(border=True, gap="xsmall"):
        if isinstance(found, str):
            st.caption(f"{_('fixture')} {untrusted.label(name)}")
            untrusted.say(spoken.said(found))
            return
        fixture, content = found
        st.markdown(untrusted.label(fixture.title.in_language(language())))
        st.caption(
            f"{_('fixture')} {untrusted.label(fixture.fixture_id)} · {untrusted.label(fixture.media_type)}"
            f" · SHA-256 {untrusted.label(fixture.sha256[:12])} · {untrusted.label(fixture.licence)}"
        )
        if fixture.is_image:
            st.caption(seen_by(fixture, CONTENT))
            st.image(content, width=420)
            return
        for number, (who, text) in enumerate(fields(fixture, content).items()):
            with st.container(gap="xxsmall"):
                st.caption(who)
                untrusted.draw(text, key=f"{key}.{number}", language="json" if _is_json(fixture) else None)


def _is_json(fixture: Fixture) -> bool:
    return fixture.media_type == "application/json"


def seen_by(fixture: Fixture, field: str) -> str:
    """Who may see a field, in words; the judge sees what the model sees, and more."""
    if field in fixture.access.model:
        return _("the model and the judge see this")
    return _("only the judge sees this") if field in fixture.access.judge else _("only reviewers see this")


def fields(fixture: Fixture, content: bytes) -> dict[str, str]:
    """What a document says, parted by who may see it; a JSON document by its top-level keys."""
    text = content.decode("utf-8-sig", "replace")
    if not _is_json(fixture):
        return {seen_by(fixture, CONTENT): text}
    parts: dict[str, dict[str, object]] = {}
    for name, value in json.loads(text).items():
        parts.setdefault(seen_by(fixture, name), {})[name] = value
    return {who: json.dumps(part, ensure_ascii=False, indent=2) for who, part in parts.items()}
