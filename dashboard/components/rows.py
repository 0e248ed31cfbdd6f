"""A click anywhere in a row of a table selects the row, not only one on its check box."""

from __future__ import annotations

import streamlit as st


def take_cell(key: str) -> None:
    """Turn a selected cell into the selection of its row; the callback of a table with both selection modes."""
    selection = st.session_state[key]["selection"]
    if selection["cells"]:
        row, _column = selection["cells"][0]
        st.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
