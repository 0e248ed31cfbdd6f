"""Pages of a list that the database cuts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from dashboard import words
from dashboard.i18n import _
from engine.domain.base import Page

Row = TypeVar("Row")


def current(key: str) -> int:
    """The page a reader is on, from 1."""
    return int(st.session_state.get(key) or 1)


def read(key: str, size: int, rows: Callable[..., Page[Row]]) -> Page[Row]:
    """The page a reader is on; where the list has become too short for it, the last one there is.

    `rows` is called with `limit` and `offset`.
    """
    found = rows(limit=size, offset=(current(key) - 1) * size)
    if found.items or not found.total:
        return found
    st.session_state[key] = math.ceil(found.total / size)
    return rows(limit=size, offset=(current(key) - 1) * size)


def draw(key: str, *, total: int, size: int, on_change: Callable[[], None] | None = None) -> None:
    """What is shown of how many, and the way to the other pages."""
    pages = max(1, math.ceil(total / size))
    number = min(current(key), pages)
    first, last = min((number - 1) * size + 1, total), min(number * size, total)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            _("{first}–{last} of {total}").format(
                first=words.count(first), last=words.count(last), total=words.count(total)
            ),
            width="content",
        )
        if pages > 1:
            st.session_state[key] = number
            st.pagination(pages, key=key, max_visible_pages=7, on_change=on_change or "rerun")
