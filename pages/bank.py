"""The questions: how they cover the clauses, each of them in full, their versions, and bringing in more."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.components import (
    bank_address,
    bank_case,
    bank_coverage,
    bank_facts,
    bank_import,
    bank_minima,
    bank_table,
    bank_versions,
    errors,
    pager,
)
from dashboard.components.bank_address import KEY, View
from dashboard.i18n import _, language
from engine.services import banks, catalog

SIZE = 50
VERSIONS = 100
PART_PX = 160
"""The chart takes three such parts, what is short two; where five do not fit, the chart takes its own row."""

# read
engine, user = session.engine(), session.user()
bank_address.take()
names = banks.names(engine, actor=user)

# draw
head = st.container(horizontal=True, vertical_alignment="center", gap="small")
head.title(_("Bank"), anchor=False, width="content")
if not names:
    st.info(_("There is no bank yet."), icon=":material/info:")
    st.stop()
with head:
    name = bank_address.draw_bank(names)
current = banks.get(engine, name, actor=user)
versions = banks.page(engine, name=name, actor=user, limit=VERSIONS).items
with head:
    info = bank_address.draw_version(versions, current)
    bank_facts.draw_export(info)
bank_facts.draw(info)
bank_address.draw_view(user)
at = {"actor": user, "version": info.sha256}
match bank_address.view():
    case View.COVERAGE:
        grid = st.grid(5, min_column_width=PART_PX)
        chart, side = grid.cell(column_span=3), grid.cell(column_span=2)
        with side:
            profile = bank_coverage.draw_profile(catalog.profiles(engine, actor=user))
        cells = banks.coverage(engine, name, profile=profile, language=language(), **at)
        with chart:
            bank_coverage.draw(cells)
            bank_minima.draw(banks.shortages(engine, name, profile=profile, **at), profile=profile)
        with side:
            bank_coverage.draw_short(cells)
    case View.CASES:
        with errors.shown():
            bank_address.draw_filters(banks.facets(engine, name, bank_address.where(), **at))
            number = pager.current(KEY("page"))
            found = banks.cases(engine, name, bank_address.where(), limit=SIZE, offset=(number - 1) * SIZE, **at)
            rows, detail = st.columns([1, 2], gap="medium")
            if not found.total:
                st.info(_("No case matches these filters."), icon=":material/filter_alt_off:")
            elif found.items:
                with rows:
                    st.session_state[KEY("id")] = bank_table.draw(
                        found.items,
                        selected=st.session_state.get(KEY("id")),
                        key=bank_address.table_key(info, number),
                    )
            with rows:
                pager.draw(KEY("page"), total=found.total, size=SIZE, on_change=bank_address.nothing_selected)
            if found.items:
                with detail, errors.shown():
                    case = banks.case(engine, name, st.session_state[KEY("id")], **at)
                    bank_case.draw(case, bank_case.material(case, info))
    case View.VERSIONS:
        bank_versions.draw(versions)
    case View.IMPORT:
        bank_import.draw()
bank_address.write(current=current)
