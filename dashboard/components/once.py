"""One submit of a form is one act, however often and however late the button is clicked again."""

from __future__ import annotations

import time
import uuid
from typing import NamedTuple

import streamlit as st

HOLD_S = 5.0
"""So long after an act the same content is still the same act: a second click may have waited behind the first."""


class Submit(NamedTuple):
    content: str
    key: str
    done_at: float | None


def key(slot: str, content: str) -> str:
    """The idempotency key of what is asked for: another one once the content changes or the last act is long done."""
    held: Submit | None = st.session_state.get(slot)
    old = held is not None and held.done_at is not None and time.monotonic() - held.done_at > HOLD_S
    if held is None or old or held.content != content:
        held = st.session_state[slot] = Submit(content, uuid.uuid4().hex, None)
    return held.key


def done(slot: str) -> None:
    """The act is done; from now on its key is kept for `HOLD_S`."""
    held: Submit | None = st.session_state.get(slot)
    if held is not None:
        st.session_state[slot] = held._replace(done_at=time.monotonic())
