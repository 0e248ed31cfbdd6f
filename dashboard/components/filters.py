"""The filter row of the results, whose state lives in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import session, words
from dashboard.components import choice, run_address, run_title, verdict
from dashboard.i18n import _
from engine.domain.cases import Mode
from engine.domain.clauses import BY_ID, CLAUSES
from engine.domain.runs import ExecutionStatus, ResultFilter, Run

NAMES = ("run", "verdict", "clause", "mode", "status", "q", "page", "id")
"""What the address of the results page carries."""
KEY = "results.{}".format


def take_address(runs: Sequence[Run]) -> None:
    """Bring the widgets in line with the address when somebody came by a link, or went back.

    What we wrote ourselves on the last run is not news, so that a click on a filter wins over the address it changes.
    """
    last = st.session_state.get(session.RESULTS_ADDRESS)
    asked = {name: st.query_params[name] for name in NAMES if name in st.query_params}
    if not asked and last is not None:
        asked = last  # back from another page by its link: the view is as it was left
    drawn = all(KEY(name) in st.session_state for name in NAMES)  # leaving the page drops what its widgets held
    if asked == last and drawn:
        return
    known = {run.id for run in runs}
    run = run_address.number(asked.get("run"))
    st.session_state[KEY("run")] = run if run in known else next(iter(run.id for run in runs), None)
    st.session_state[KEY("verdict")] = asked.get("verdict") if asked.get("verdict") in verdict.ORDER else None
    st.session_state[KEY("clause")] = asked.get("clause") if asked.get("clause") in BY_ID else None
    st.session_state[KEY("mode")] = Mode(asked["mode"]) if asked.get("mode") in set(Mode) else None
    status = asked.get("status")
    st.session_state[KEY("status")] = ExecutionStatus(status) if status in set(ExecutionStatus) else None
    st.session_state[KEY("q")] = asked.get("q", "")
    st.session_state[KEY("page")] = max(run_address.number(asked.get("page")) or 1, 1)
    st.session_state[KEY("id")] = run_address.number(asked.get("id"))


def write_address() -> None:
    """Put the present view into the address, so that it can be sent to somebody."""
    now = {name: st.session_state.get(KEY(name)) for name in NAMES}
    wanted = {
        name: str(value) for name, value in now.items() if value not in (None, "") and (name, value) != ("page", 1)
    }
    for name in NAMES:
        if name in wanted:
            if st.query_params.get(name) != wanted[name]:
                st.query_params[name] = wanted[name]
        elif name in st.query_params:
            del st.query_params[name]
    st.session_state[session.RESULTS_ADDRESS] = wanted


def where() -> ResultFilter:
    """What the widgets ask for."""
    chosen = st.session_state.get(KEY("verdict"))
    return ResultFilter(
        verdict="none" if chosen == verdict.NONE else verdict.of(chosen),
        clause=st.session_state.get(KEY("clause")),
        mode=st.session_state.get(KEY("mode")),
        execution_status=st.session_state.get(KEY("status")),
        q=(st.session_state.get(KEY("q")) or "").strip() or None,
    )


def first_page() -> None:
    """Another filter starts at its first page with nothing selected."""
    st.session_state[KEY("page")] = 1
    st.session_state[KEY("id")] = None


def nothing_selected() -> None:
    """Another page has other rows."""
    st.session_state[KEY("id")] = None


def table_key(run: Run, total: int) -> str:
    """A table's own key for each view; a selection made in one does not leak into another.

    While a run goes on, rows come in between, so each number of rows is a view of its own.
    """
    names = ("page", "verdict", "clause", "mode", "status", "q")
    asked = (run.id, None if run.status.is_over else total, *(st.session_state.get(KEY(name)) for name in names))
    return "results.table." + ".".join("" if value is None else str(value) for value in asked)


def draw_run(runs: Sequence[Run]) -> None:
    """Which run; select boxes draw plain text."""
    by_id = {run.id: run for run in runs}
    choice.draw(
        _("Run"),
        list(by_id),
        key=KEY("run"),
        format_func=lambda chosen: run_title.text(by_id[chosen]),
        on_change=first_page,
    )


def draw(facets: Mapping[str, Mapping[str, int]]) -> None:
    """Verdict pills with their counts, then clause, mode, state and search; on one line where the screen has room."""
    tally = facets.get("verdict", {})
    by_clause, by_mode, by_status = (facets.get(name, {}) for name in ("clause", "mode", "execution_status"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.pills(
            _("Verdict"),
            verdict.ORDER,
            format_func=lambda value: f"{verdict.word(verdict.of(value))} {words.count(tally.get(value, 0))}",
            key=KEY("verdict"),
            on_change=first_page,
            label_visibility="collapsed",
            wrap=False,
        )
        choice.draw(
            _("Clause"),
            [each.id for each in CLAUSES],
            format_func=lambda value: f"{words.clause(value)} · {words.count(by_clause.get(value, 0))}",
            placeholder=_("all clauses"),
            key=KEY("clause"),
            on_change=first_page,
        )
        choice.draw(
            _("Mode"),
            list(Mode),
            format_func=lambda value: f"{words.mode(value)} · {words.count(by_mode.get(value, 0))}",
            placeholder=_("all modes"),
            key=KEY("mode"),
            on_change=first_page,
        )
        choice.draw(
            _("State"),
            list(ExecutionStatus),
            format_func=lambda value: f"{words.execution_status(value)} · {words.count(by_status.get(value, 0))}",
            placeholder=_("all states"),
            key=KEY("status"),
            on_change=first_page,
        )
        st.text_input(
            _("Search"),
            placeholder=_("search"),
            icon=":material/search:",
            max_chars=200,
            key=KEY("q"),
            on_change=first_page,
            label_visibility="collapsed",
        )
