"""What the engine remarks on a run, in the reader's language: what an endpoint refuses, what could not be done."""

from __future__ import annotations

from dashboard import spoken
from dashboard.components import untrusted


def of(text: str) -> str:
    """A warning of a run as Markdown text."""
    return untrusted.label(spoken.sentence(text), limit=500)
