"""A select box whose choice survives a change of its labels: another language, other counts.

Streamlit's browser part remembers the chosen label, not the option behind it. Once labels change, it goes on showing
and sending the old one, and the choice falls back to the default without a word. So each set of labels gets a widget of
its own, and the choice itself lives beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import streamlit as st

Option = TypeVar("Option")


def widget_key(key: str, labels: Sequence[str]) -> str:
    """The widget's own key for these labels."""
    return f"{key}.{hashlib.sha256(chr(0).join(labels).encode('utf-8', 'replace')).hexdigest()[:8]}"


def _take(key: str, own: str, then: Callable[[], None] | None) -> None:
    st.session_state[key] = st.session_state[own]
    if then is not None:
        then()


def draw(
    label: str,
    options: Sequence[Option],
    *,
    key: str,
    format_func: Callable[[Option], str],
    default: Option | None = None,
    placeholder: str | None = None,
    on_change: Callable[[], None] | None = None,
    hide_label: bool = True,
    width: Literal["stretch"] | int = "stretch",
) -> Option | None:
    """Draw the box and return the choice, which stands in the session state under `key`.

    With a `placeholder` the box may be empty; without one the choice is `default`, or the first option.
    """
    chosen: Option | None = st.session_state.get(key)
    if chosen not in options:
        chosen = default if placeholder is not None or default in options else next(iter(options), None)
        st.session_state[key] = chosen
    own = widget_key(key, [format_func(option) for option in options])
    if own not in st.session_state or st.session_state[own] != chosen:
        st.session_state[own] = chosen
    st.selectbox(
        label,
        options,
        index=None if placeholder is not None else 0,
        format_func=format_func,
        placeholder=placeholder,
        key=own,
        on_change=_take,
        args=(key, own, on_change),
        label_visibility="collapsed" if hide_label else "visible",
        width=width,
    )
    return chosen
