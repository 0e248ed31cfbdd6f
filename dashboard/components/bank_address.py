"""What the bank page looks at: bank, version, view, filters and case, all kept in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import streamlit as st

from dashboard import words
from dashboard.components import untrusted
from dashboard.i18n import _
from engine.domain.accounts import Permission, User
from engine.domain.banks import BankInfo, CaseFilter
from engine.domain.cases import Mode, Severity
from engine.domain.clauses import BY_ID, CLAUSES

NAMES = ("bank", "version", "view", "profile", "clause", "mode", "language", "severity", "q", "page", "id")
FILTERS = ("clause", "mode", "language", "severity", "q")
KEY = "bank.{}".format
ADDRESS = "bank.address"
"""What was last written into the address."""

SHORT = 12
"""Hexadecimal digits that stand for a SHA-256 where it is only told apart from a few others."""


class View(StrEnum):
    """The four things this page is for."""

    COVERAGE = "coverage"
    CASES = "cases"
    VERSIONS = "versions"
    IMPORT = "import"


def take() -> None:
    """Bring the widgets in line with the address when somebody came by a link, or went back.

    What we wrote ourselves on the last run is not news, so that a click on a filter wins over the address it changes.
    """
    last = st.session_state.get(ADDRESS)
    asked = {name: st.query_params[name] for name in NAMES if name in st.query_params}
    if not asked and last is not None:
        asked = last  # back from another page by its link: the view is as it was left
    if asked == last and KEY("view") in st.session_state:
        return
    for name in ("bank", "version", "profile", "language", "id"):
        st.session_state[KEY(name)] = asked.get(name)
    view, page = asked.get("view"), asked.get("page", "")
    st.session_state[KEY("view")] = View(view) if view in set(View) else View.COVERAGE
    st.session_state[KEY("clause")] = asked.get("clause") if asked.get("clause") in BY_ID else None
    st.session_state[KEY("mode")] = Mode(asked["mode"]) if asked.get("mode") in set(Mode) else None
    severity = asked.get("severity")
    st.session_state[KEY("severity")] = Severity(severity) if severity in set(Severity) else None
    st.session_state[KEY("q")] = asked.get("q", "")
    st.session_state[KEY("page")] = max(int(page), 1) if page.isascii() and page.isdigit() and len(page) < 10 else 1


def write(*, current: BankInfo) -> None:
    """Put the present view into the address, so that it can be sent to somebody."""
    now = {name: st.session_state.get(KEY(name)) for name in NAMES}
    now["version"] = None if now["version"] == current.sha256 else (now["version"] or "")[:SHORT]
    usual = {("page", 1), ("view", View.COVERAGE)}
    wanted = {name: str(value) for name, value in now.items() if value not in (None, "") and (name, value) not in usual}
    for name in NAMES:
        if name in wanted:
            if st.query_params.get(name) != wanted[name]:
                st.query_params[name] = wanted[name]
        elif name in st.query_params:
            del st.query_params[name]
    st.session_state[ADDRESS] = wanted


def view() -> View:
    return View(st.session_state[KEY("view")])


def where() -> CaseFilter:
    """What the filters ask for."""
    asked = {name: st.session_state.get(KEY(name)) for name in FILTERS}
    return CaseFilter(**asked | {"q": (asked["q"] or "").strip() or None})


def table_key(bank: BankInfo, page: int) -> str:
    """A table's own key for each list; a selection made in one does not leak into another."""
    asked = (bank.id, page, *(st.session_state.get(KEY(name)) for name in FILTERS))
    return "bank.table." + ".".join("" if value is None else str(value) for value in asked)


def first_page() -> None:
    """Another filter starts at its first page with nothing selected."""
    st.session_state[KEY("page")] = 1
    st.session_state[KEY("id")] = None


def nothing_selected() -> None:
    """Another page has other rows."""
    st.session_state[KEY("id")] = None


def _other_bank() -> None:
    st.session_state[KEY("version")] = None
    st.session_state[KEY("language")] = None
    first_page()


def show(*, clause: str, mode: Mode) -> None:
    """The cases of one cell, whatever was filtered for before."""
    for name in FILTERS:
        st.session_state[KEY(name)] = "" if name == "q" else None
    st.session_state[KEY("clause")], st.session_state[KEY("mode")] = clause, mode
    st.session_state[KEY("view")] = View.CASES
    first_page()


def choose(name: str) -> None:
    """Look at the newest version of a bank; for a callback."""
    st.session_state[KEY("bank")] = name
    st.session_state[KEY("view")] = View.CASES
    _other_bank()
    for each in FILTERS:
        st.session_state[KEY(each)] = "" if each == "q" else None


def draw_bank(names: Sequence[str]) -> str:
    """Which bank; select boxes draw plain text."""
    if st.session_state.get(KEY("bank")) not in names:
        st.session_state[KEY("bank")] = names[0]
    return st.selectbox(
        _("Bank"),
        names,
        format_func=untrusted.cell,
        key=KEY("bank"),
        on_change=_other_bank,
        label_visibility="collapsed",
    )


def version_name(info: BankInfo) -> str:
    """As it stands in a select box: version and first digits of its SHA-256."""
    return f"{untrusted.cell(info.version, limit=40)} · {info.sha256[:SHORT]}"


def draw_version(versions: Sequence[BankInfo], current: BankInfo) -> BankInfo:
    """Which version of the bank; the current one unless the address or a click says otherwise."""
    by_hash = {info.sha256: info for info in (*versions, current)}
    asked = st.session_state.get(KEY("version")) or ""
    found = next((sha256 for sha256 in by_hash if len(asked) >= SHORT and sha256.startswith(asked)), current.sha256)
    st.session_state[KEY("version")] = found
    chosen = st.selectbox(
        _("Version"),
        list(by_hash),
        format_func=lambda sha256: version_name(by_hash[sha256]),
        key=KEY("version"),
        on_change=first_page,
        label_visibility="collapsed",
    )
    return by_hash[chosen]


def draw_view(user: User) -> None:
    """What to look at; importing is offered to those who may."""
    names = {
        View.COVERAGE: _("Coverage"),
        View.CASES: _("Cases"),
        View.VERSIONS: _("Versions"),
        View.IMPORT: _("Import"),
    }
    offered = [each for each in View if each is not View.IMPORT or user.may(Permission.MANAGE_BANKS)]
    if st.session_state.get(KEY("view")) not in offered:
        st.session_state[KEY("view")] = View.COVERAGE
    st.segmented_control(
        _("View"),
        offered,
        format_func=names.__getitem__,
        key=KEY("view"),
        required=True,
        label_visibility="collapsed",
    )


def draw_filters(facets: Mapping[str, Mapping[str, int]]) -> None:
    """Clause, mode, language, severity and search, with how many cases each choice would leave, on one line."""
    tally = {name: facets.get(name, {}) for name in ("clause", "mode", "language", "severity")}
    languages = list(tally["language"])
    chosen = st.session_state.get(KEY("language"))
    if chosen is not None and chosen not in languages:
        languages.append(chosen)
    choices = (
        ("clause", _("Clause"), _("all clauses"), [each.id for each in CLAUSES], words.clause),
        ("mode", _("Mode"), _("all modes"), list(Mode), words.mode),
        ("language", _("Language"), _("all languages"), languages, untrusted.cell),
        ("severity", _("Severity"), _("all severities"), list(Severity), words.severity),
    )
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    for name, label, everything, options, word in choices:
        row.selectbox(
            label,
            options,
            index=None,
            format_func=lambda value, name=name, word=word: (
                f"{word(value)} · {words.count(tally[name].get(str(value), 0))}"
            ),
            placeholder=everything,
            key=KEY(name),
            on_change=first_page,
            label_visibility="collapsed",
        )
    row.text_input(
        _("Search"),
        placeholder=_("search titles and turns"),
        icon=":material/search:",
        max_chars=200,
        key=KEY("q"),
        on_change=first_page,
        label_visibility="collapsed",
    )
