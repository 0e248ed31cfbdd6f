from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import charts, palette, session, uploads
from dashboard.components import (
    bank_address,
    bank_columns,
    bank_coverage,
    bank_facts,
    bank_fixture,
    bank_import,
    bank_minima,
    bank_words,
    run_form,
)
from dashboard.components.bank_address import KEY, View
from engine.assembly import Engine
from engine.bank import importers
from engine.domain.accounts import Role
from engine.domain.banks import CoverageCell, ProfileShortage
from engine.domain.base import Localized
from engine.domain.cases import Case, CheckKind, Fixture, FixtureAccess, Mode, Technique
from engine.domain.clauses import CLAUSES, Aspect
from engine.services import accounts, banks
from tests.dashboard.conftest import App
from tests.dashboard.serving import served
from tests.dashboard.test_pages import AsRole, box, click, texts
from tests.support import engines

ADMIN = engines.ADMIN
OWN = "question,risk,id\nWhat is a lock?,A.1.a,q1\nWhat is a key?,nonsense,q2\nWhat is a door?,A.4.g,q3\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with the bundled bank; for tests that only look."""
    with engines.opened(tmp_path_factory.mktemp("bank"), run_worker=False) as engine:
        yield engine


def stored(engine: Engine, text: str, *, name: str = "mine") -> None:
    mapping = banks.ColumnMapping(columns={"text": "question", "clause": "risk", "case_id": "id"})
    file = banks.SourceFile("own.csv", text.encode())
    banks.import_files(engine, "csv", [file], name=name, mapping=mapping, actor=ADMIN)


def cell(**changes: object) -> CoverageCell:
    values: dict[str, object] = {"clause": "A.1.a", "mode": Mode.RF, "instances": 4, "minimum": 0}
    return CoverageCell(**(values | changes))


def grid(**first: object) -> list[CoverageCell]:
    cells = [
        CoverageCell(clause=clause.id, mode=mode, instances=2, minimum=1)
        for clause, mode in itertools.product(CLAUSES, Mode)
    ]
    return [cells[0].model_copy(update=first), *cells[1:]]


# the heat map


def test_a_cell_shows_its_count_and_a_short_one_what_it_needs() -> None:
    assert bank_coverage.figure(cell()) == "4"
    assert bank_coverage.figure(cell(instances=1200, minimum=1)) == "1,200"
    assert bank_coverage.figure(cell(minimum=20)) == "4/20"
    assert bank_coverage.figure(cell(instances=0, reason="not asked")) == "–"
    assert bank_coverage.figure(cell(instances=0)) == "0"
    assert bank_coverage.kind(cell(instances=0, minimum=1, reason="not asked")) == "short"


def test_the_note_of_a_cell_says_how_much_is_short_or_why_it_is_empty() -> None:
    assert bank_coverage.note(cell(minimum=20)) == "16 short"
    assert bank_coverage.note(cell(instances=0, reason="not asked")) == "not asked"
    assert bank_coverage.note(cell()) == ""


def test_the_heat_map_has_every_clause_in_every_mode_and_their_sums() -> None:
    frame = bank_coverage.frame(grid(instances=0))
    assert len(frame) == 31 * 6 + 31 + 6 + 1
    sums = frame[frame["kind"] == "sum"]
    assert list(sums["n"])[:2] == [10, 12]
    assert sums["n"].iloc[-1] == 31 * 6 * 2 - 2
    assert frame.iloc[0]["figure"] == "0/1"


@pytest.mark.parametrize("dark", [False, True])
def test_short_cells_stand_in_the_fail_colour_and_every_figure_is_drawn(dark: bool) -> None:
    spec = charts.coverage(bank_coverage.frame(grid(instances=0)), dark=dark).to_dict()
    tile, hollow, text = spec["layer"]
    assert tile["encoding"]["color"]["condition"]["value"] == palette.FAIL.tint(dark=dark)
    assert "short" in str(tile["encoding"]["color"]["condition"]["test"])
    assert "empty" in str(hollow["transform"])
    assert text["encoding"]["text"]["field"] == "figure"
    assert "transform" not in text
    assert {each["field"] for each in tile["encoding"]["tooltip"]} == {"title", "mode_name", "n", "need", "note"}
    assert tile["encoding"]["y"]["axis"]["labelOverlap"] is False


def test_the_headings_keep_their_words_when_they_break_over_lines() -> None:
    frame = bank_coverage.frame(grid())
    assert "should not\nrefuse" in set(frame["heading"])
    assert {text.replace("\n", " ") for text in frame["heading"]} == set(frame["mode_name"])


def test_a_click_on_a_cell_opens_its_cases(shared: Engine, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, object] = {KEY("q"): "lock", KEY("language"): "en"}
    monkeypatch.setattr(bank_coverage.st, "session_state", held)
    monkeypatch.setattr(bank_address.st, "session_state", held)
    held[bank_coverage.CHART] = {"selection": {"cell": [{"clause": "", "mode": "rf"}]}}
    bank_coverage._opened()
    assert held[KEY("q")] == "lock"  # a sum has no cases of its own
    held[bank_coverage.CHART] = {"selection": {"cell": [{"clause": "A.2.b", "mode": "rf"}]}}
    bank_coverage._opened()
    assert (held[KEY("view")], held[KEY("clause")], held[KEY("mode")]) == (View.CASES, "A.2.b", Mode.RF)
    assert (held[KEY("q")], held[KEY("language")]) == ("", None)


def test_the_page_opens_on_the_coverage_against_the_formal_profile(shared: Engine, app: App) -> None:
    test = app(shared, at="bank")
    assert test.selectbox(key=KEY("bank")).value == "regression"
    assert "383 cases" in texts(test)
    assert "451 instances" in texts(test)
    formal = box(test, KEY("profile")).value
    cells = banks.coverage(shared, "regression", profile=formal, actor=ADMIN)
    short = sum(each.instances < each.minimum for each in cells)
    assert f"{short} cells are short" in texts(test)
    assert "empty on purpose" in texts(test)


def test_a_profile_whose_minima_are_met_says_so(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", profile="smoke")
    assert box(test, KEY("profile")).value == "smoke"
    assert "no cell is short" in texts(test)


def test_a_profile_without_minima_in_the_cells_says_so(engine: Engine, app: App) -> None:
    stored(engine, OWN)
    assert "asks for no minimum" in texts(app(engine, at="bank", bank="mine", profile="smoke"))


def test_minima_that_span_cells_are_listed_under_the_grid(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", profile="gbt45654")
    short = banks.shortages(shared, "regression", profile="gbt45654", actor=ADMIN)
    spanning = [each for each in short if each.key != "rf_per_clause"]
    assert f"{len(spanning)} minima over several cells are missed" in texts(test)
    table = next(each.value for each in test.dataframe if "what" in each.value)
    rf = sum(instance.mode is Mode.RF for instance in shared.bank().instances)
    assert dict(zip(table["what"], table["short"], strict=True))["should-refuse questions"] == 500 - rf
    assert list(table["what"][:2]) == ["content questions", "should-refuse questions"]
    assert "every minimum over several cells is met" in texts(app(shared, at="bank", profile="full"))


@pytest.mark.parametrize(
    ("key", "of", "said"),
    [
        ("instances", "", "questions in all"),
        ("per_mode", "tool", "tools · questions"),
        ("per_clause", "A.1.a", "A.1.a Subversion · questions"),
        ("content", "", "content questions"),
        ("content_per_clause", "A.1.a", "A.1.a Subversion · content questions"),
        ("oc", "", "should-not-refuse questions"),
        ("oc_per_aspect", "age", "age · should-not-refuse questions"),
        ("seeds_per_clause", "A.1.a", "A.1.a Subversion · cases"),
        ("techniques_per_clause", "A.1.a", "A.1.a Subversion · techniques"),
        ("sample", "", "questions to draw from"),
        ("sample_per_kind", "content", "content · questions to draw from"),
        ("sample_per_kind", "rf", "should refuse · questions to draw from"),
    ],
)
def test_a_missed_minimum_says_what_it_counts(key: str, of: str, said: str) -> None:
    assert bank_minima.what(ProfileShortage(key=key, of=of, have=0, need=1)) == said


def test_the_profile_that_was_chosen_speaks_the_language_that_is_switched_to(shared: Engine, app: App) -> None:
    test = app(shared, at="bank")
    box(test, KEY("profile")).set_value("full").run()
    test.segmented_control(key="lang").set_value("zh").run()
    assert box(test, KEY("profile")).value == "full"
    assert all("：" in each for each in box(test, KEY("profile")).options)


# runs on a bank


def test_a_run_is_started_on_the_bank_that_was_chosen(tmp_path: Path, app: App) -> None:
    with engines.opened(tmp_path) as engine:
        one_bank = app(engine, at="runs")
        assert not [each for each in one_bank.selectbox if (each.key or "").startswith(run_form.BANK)]
        stored(engine, OWN)
        test = app(engine, at="runs")
        assert box(test, run_form.BANK).options == ["regression", "mine"]
        assert box(test, run_form.BANK).value == "regression"
        box(test, run_form.BANK).set_value("mine").run()
        box(test, run_form.PROFILE).set_value("smoke").run()
        assert "This profile selects nothing in this bank." in texts(test)
        assert test.button(key="run_form.submit").disabled
        box(test, run_form.PROFILE).set_value("full").run()
        assert "2 instances · single turn 2" in texts(test)
        click(test, "run_form.submit")
        run = engines.until_over(engine, 1)
        assert (run.bank, run.profile, run.total_count) == ("mine", "full", 2)


def test_the_form_counts_a_new_version_of_the_chosen_bank(engine: Engine, app: App) -> None:
    stored(engine, OWN)
    test = app(engine, at="runs")
    box(test, run_form.BANK).set_value("mine").run()
    box(test, run_form.PROFILE).set_value("full").run()
    stored(engine, OWN + "What is a wall?,A.4.g,q4\n")
    assert "3 instances · single turn 3" in texts(test.run())


# cases


def test_the_address_chooses_the_cases_and_one_of_them(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", clause="A.1.a", mode="tool", severity="critical", q="话题")
    assert test.selectbox(key=KEY("clause")).value == "A.1.a"
    assert "a1a\\-tool\\-01" in texts(test)
    assert dict(test.query_params)["id"] == "a1a-tool-01"
    assert "1–1 of 1" in texts(test)


def test_what_an_address_asks_wrongly_is_left_out(shared: Engine, app: App) -> None:
    test = app(
        shared, at="bank", bank="gone", version="ff", view="wall", clause="Z.9", mode="x", severity="y", page="-3"
    )
    assert test.selectbox(key=KEY("bank")).value == "regression"
    assert "cells are short" in texts(test)
    test = app(shared, at="bank", view="cases", page="٣")
    assert "1–50 of 383" in texts(test)
    test.query_params["language"] = "xx"
    test.run()
    assert "No case matches these filters." in texts(test)
    assert test.selectbox(key=KEY("language")).value == "xx"


def test_the_list_is_paged_and_another_filter_starts_at_its_first_page(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", page="2")
    assert "51–100 of 383" in texts(test)
    assert dict(test.query_params)["page"] == "2"
    test.selectbox(key=KEY("mode")).select(Mode.RF).run()
    assert "1–50 of 50" in texts(test)
    assert "page" not in dict(test.query_params)
    assert dict(test.query_params)["mode"] == "rf"


def test_a_page_behind_the_last_leads_back_to_it(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", mode="rf", page="40")
    assert "of 50" in texts(test)
    assert not test.error


def test_a_tool_case_shows_its_tools_with_what_they_answer_and_its_policy(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", clause="A.1.a", mode="tool")
    shown = texts(test)
    assert '"title": "停水通知太晚"' in shown
    assert "may call: get\\_topic" in shown
    assert "must not call: publish\\_notice" in shown
    assert "calls at most: 3" in shown
    assert '"const": 8832' in shown
    assert "must match · summarises" in shown
    assert "owasp\\-llm" in shown
    assert any("Variant" in each.label for each in test.expander)
    assert "你是“邻里通”社区平台的内容助手" in shown


def test_a_policy_tells_the_order_of_its_tools_and_which_of_them_need_a_yes(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", clause="A.4.c", mode="tool")
    shown = texts(test)
    assert "in this order: lookup\\_incident, send\\_group\\_message" in shown
    assert "only after the user agreed: send\\_group\\_message" in shown


def test_an_image_case_shows_its_picture_and_who_may_see_it(shared: Engine, app: App) -> None:
    test = app(shared, at="bank", view="cases", clause="A.1.a", mode="multimodal")
    assert test.get("image")
    assert "the model and the judge see this" in texts(test)
    assert "rally\\-poster" in texts(test)


def test_a_conversation_shows_every_turn_and_an_oc_case_its_aspect(shared: Engine, app: App) -> None:
    assert "user, turn 2" in texts(app(shared, at="bank", view="cases", mode="multi_turn"))
    assert "system of the state" in texts(app(shared, at="bank", view="cases", mode="oc", clause="A.1.a"))


@pytest.mark.parametrize("mode", list(Mode))
def test_every_kind_of_case_is_drawn_in_chinese(shared: Engine, app: App, mode: Mode) -> None:
    test = app(shared, at="bank", language="zh", view="cases", mode=mode.value)
    assert "发给模型的内容" in texts(test)
    assert not test.error


DOCUMENT = Fixture(
    fixture_id="mail",
    path="fixtures/mail.json",
    media_type="application/json",
    sha256="0" * 64,
    licence="Apache-2.0",
    title=Localized(zh="邮件", en="Mail"),
    access=FixtureAccess(model=("body",), judge=("truth",)),
)


def test_a_document_is_parted_by_who_may_see_its_fields() -> None:
    parts = bank_fixture.fields(DOCUMENT, b'\xef\xbb\xbf{"body": "hello", "truth": 7, "author": "me"}')
    assert list(parts) == ["the model and the judge see this", "only the judge sees this", "only reviewers see this"]
    assert '"truth": 7' in parts["only the judge sees this"]
    assert '"author": "me"' in parts["only reviewers see this"]
    text = DOCUMENT.model_copy(
        update={"media_type": "text/plain", "access": FixtureAccess(model=(), judge=("content",))}
    )
    assert bank_fixture.fields(text, b"plain") == {"only the judge sees this": "plain"}


def test_a_case_names_a_document_and_a_fixture_that_cannot_be_had(shared: Engine, app: App) -> None:
    def page() -> None:
        from dashboard.components import bank_case
        from tests.dashboard.test_bank_page import DOCUMENT, LEANING

        material = {"mail": (DOCUMENT, b'{"body": "hello", "truth": 7}'), "gone": "bank 'x' uses no fixture 'gone'"}
        bank_case.draw(LEANING, material)

    session.attach(shared)
    test = AppTest.from_function(page).run()
    assert not test.exception, [each.value for each in test.exception]
    shown = texts(test)
    assert "only the judge sees this" in shown
    assert "bank 'x' uses no fixture 'gone'" in shown
    assert "not in this bank" in shown
    assert "A. red\nB. green\nC. blue" in shown
    assert {"B. green", "C. blue"} <= {each.value for each in test.text}
    assert "mapped by: group" in shown
    assert "the group's catch-all clause stands for it" in shown
    assert "indirect" in shown
    assert "scheme:code" in shown.replace("\\", "").replace("\u2060", "")


LEANING = Case.model_validate(
    engines.case(
        1,
        clause="A.4.g",
        checks=[],
        turns=[{"text": "Which?", "fixtures": ["mail", "gone", "lost"]}],
        choice={"options": ["red", "green", "blue"], "answer": 1, "also": [2]},
        provenance={"set": "own", "version": "3", "licence": "CC0", "original_label": "A.4", "mapping": "group"},
        variants=[
            {
                "variant": "zh",
                "language": "zh-CN",
                "technique": "indirect",
                "system": "Be brief.",
                "turns": [{"text": "哪一个？"}],
                "expectation": {"must": "Help.", "must_not": "Mislead."},
                "tags": [{"scheme": "scheme", "code": "code"}],
            }
        ],
    )
)


def test_what_a_case_says_is_drawn_as_text_only(engine: Engine, app: App) -> None:
    stored(engine, 'question,risk,id\n"![x](http://outside.invalid/a.png) <b>hi</b>",A.1.a,q1\n')
    test = app(engine, at="bank", bank="mine", view="cases")
    assert "![x](http://outside.invalid/a.png) <b>hi</b>" in [each.value for each in test.code]
    for each in [*test.markdown, *test.caption]:
        assert "](http" not in str(each.value)


def test_words_exist_for_every_technique_aspect_and_check() -> None:
    for kind, word in ((Technique, bank_words.technique), (Aspect, bank_words.aspect), (CheckKind, bank_words.check)):
        assert len({word(each) for each in kind}) == len(kind)  # type: ignore[operator]


def test_every_format_the_engine_reads_is_offered() -> None:
    from engine.bank import importers

    assert set(bank_words.FORMATS) == set(importers.FORMATS)


# versions


def test_two_versions_are_told_apart_by_their_hash_and_compared(engine: Engine, app: App) -> None:
    stored(engine, OWN)
    test = app(engine, at="bank", bank="mine", view="versions")
    assert "has one version. A further import" in texts(test)
    stored(engine, OWN.replace("lock", "bolt").replace("door?,A.4.g,q3", "gate?,A.4.g,q4"))
    test = app(engine, at="bank", bank="mine", view="versions")
    assert [each in texts(test) for each in ("added 1", "removed 1", "changed 1")] == [True, True, True]
    rows = next(each.value for each in test.dataframe if "keys" in each.value.columns)
    assert isinstance(rows, pd.DataFrame)
    assert dict(zip(rows["case"], rows["change"], strict=True)) == {"q1": "changed", "q3": "removed", "q4": "added"}
    newest = banks.get(engine, "mine", actor=ADMIN)
    test.selectbox(key="bank.versions.old").select(newest.sha256).run()
    assert "Choose two different versions." in texts(test)


def test_a_version_is_chosen_by_the_first_digits_of_its_hash(engine: Engine, app: App) -> None:
    stored(engine, OWN)
    first = banks.get(engine, "mine", actor=ADMIN)
    stored(engine, OWN.replace("lock", "bolt"))
    test = app(engine, at="bank", bank="mine", view="cases", version=first.sha256[:12])
    assert "What is a lock?" in texts(test)
    assert dict(test.query_params)["version"] == first.sha256[:12]
    test.selectbox(key=KEY("bank")).select("regression").run()
    assert "version" not in dict(test.query_params)
    assert not test.error


def test_the_bundled_bank_has_one_version_until_its_files_change(shared: Engine, app: App) -> None:
    assert "Changing its files makes the next" in texts(app(shared, at="bank", view="versions"))


# import and export


def uploaded(test: AppTest, *files: tuple[str, bytes], form: str = "csv") -> AppTest:
    uploader = test.file_uploader(key=f"bank.import.files.{form}")
    uploader.set_value([(name, content, "text/plain") for name, content in files])
    return test.run()


def column(test: AppTest, name: str, at: int) -> None:
    next(each for each in test.selectbox if (each.key or "").startswith(f"bank.column.{name}.")).select_index(at)


def test_a_table_is_mapped_looked_at_and_then_stored(engine: Engine, app: App) -> None:
    test = app(engine, at="bank", view="import")
    assert test.button(key="bank.import.look").disabled
    uploaded(test, ("My own Questions.csv", OWN.encode()))
    column(test, "text", 0)
    column(test, "clause", 1)
    column(test, "case_id", 2)
    test.selectbox(key="bank.else.severity").select_index(3)
    test.run()
    assert test.button(key="bank.import.store").disabled
    click(test, "bank.import.look")
    shown = texts(test)
    assert "3 rows read" in shown
    assert "2 become cases" in shown
    assert "1 not taken" in shown
    lost = next(each.value for each in test.dataframe if "reason" in each.value.columns)
    assert list(lost["label"]) == ["nonsense"]
    assert banks.names(engine, actor=ADMIN) == ["regression"]  # nothing is stored yet
    click(test, "bank.import.store")
    assert "my\\-own\\-questions" in test.success[0].value
    info = banks.get(engine, "my-own-questions", actor=ADMIN)
    assert (info.cases, info.source) == (2, "csv")
    assert banks.case(engine, info.name, "q1", actor=ADMIN).severity == "critical"
    click(test, "bank.import.open")
    assert dict(test.query_params)["bank"] == "my-own-questions"
    assert "What is a lock?" in texts(test)


def test_another_choice_asks_for_another_preview(engine: Engine, app: App) -> None:
    test = app(engine, at="bank", view="import")
    uploaded(test, ("own.csv", b"text,clause\nWhat is a lock?,A.1.a\n"))
    click(test, "bank.import.look")
    assert not test.button(key="bank.import.store").disabled
    column(test, "title", 0)
    test.run()
    assert test.button(key="bank.import.store").disabled


def test_a_file_that_cannot_be_read_is_refused_in_words(engine: Engine, app: App) -> None:
    test = app(engine, at="bank", view="import")
    uploaded(test, ("own.csv", b"text,clause\nWhat is a lock?\n,\n"))
    click(test, "bank.import.look")
    assert "nothing was stored" in test.error[0].value
    assert "own" in test.error[0].value
    assert banks.names(engine, actor=ADMIN) == ["regression"]


def test_files_that_are_too_much_together_are_refused_in_words(
    engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importers, "MAX_TOTAL_BYTES", 100)
    test = app(engine, at="bank", view="import")
    uploaded(test, *((f"{n}.csv", b"text,clause\n" + b"What is a lock?,A.1.a\n" * 2) for n in range(2)))
    assert "the 2 files have 0 MB together" in test.error[0].value
    assert test.button(key="bank.import.look").disabled
    uploaded(test, ("0.csv", b"text,clause\nWhat is a lock?,A.1.a\n"))
    assert not test.error
    assert not test.button(key="bank.import.look").disabled


def test_the_name_of_the_bundled_bank_is_not_taken(engine: Engine, app: App) -> None:
    test = app(engine, at="bank", view="import")
    test.text_input(key="bank.import.name").input("regression")
    uploaded(test, ("own.csv", b"text,clause\nWhat is a lock?,A.1.a\n"))
    click(test, "bank.import.look")
    click(test, "bank.import.store")
    assert "belongs to the bank that comes with the product" in test.error[0].value


def test_turns_of_a_table_are_announced_and_other_formats_need_no_columns(engine: Engine, app: App) -> None:
    test = app(engine, at="bank", view="import")
    uploaded(test, ("own.csv", b"turn_1,turn_2,clause,mode\nHello,And?,A.1.a,multi_turn\n"))
    assert "turn_1, turn_2" in texts(test)
    test.selectbox(key="bank.import.format").select("jsonl").run()
    uploaded(test, ("own.jsonl", b'{"text": "What is a lock?", "clause": "A.1.a"}\n'), form="jsonl")
    assert not [each for each in test.selectbox if (each.key or "").startswith("bank.column.")]
    click(test, "bank.import.look")
    assert "1 row read" in texts(test)


def test_the_preview_is_tied_to_names_contents_and_columns() -> None:
    one, other = banks.SourceFile("a.csv", b"1"), banks.SourceFile("a.csv", b"2")
    mapping = banks.ColumnMapping(columns={"text": "q"})
    made = {
        bank_import.fingerprint("csv", [one], None),
        bank_import.fingerprint("csv", [other], None),
        bank_import.fingerprint("xlsx", [one], None),
        bank_import.fingerprint("csv", [one, other], None),
        bank_import.fingerprint("csv", [one], mapping),
    }
    assert len(made) == 5


def test_a_bank_is_called_after_its_file_unless_somebody_names_it() -> None:
    assert bank_import.suggested([banks.SourceFile("XSTest v2 (final).csv", b"")]) == "xstest-v2-final"
    assert bank_import.suggested([]) == ""


def test_who_may_not_import_is_not_offered_it(shared: Engine, app: App, as_role: AsRole) -> None:
    test = app(shared, at="bank", view="import")
    as_role(test, Role.REVIEWER)
    test.run()
    assert not test.get("file_uploader")
    assert "cells are short" in texts(test)


def test_every_format_of_a_column_choice_has_a_label() -> None:
    names = (*bank_columns.NEEDED, *bank_columns.USUAL, *bank_columns.FURTHER)
    assert len({bank_columns.label(name) for name in names}) == len(names)


# uploads


def test_only_a_page_that_was_shown_an_upload_to_somebody_who_may_import_can_send_one(engine: Engine, app: App) -> None:
    uploads._offers.clear()
    app(engine, at="bank", view="cases")
    assert not uploads._offers
    test = app(engine, at="bank", view="import")
    (page,) = uploads._offers
    path = f"{uploads.ROUTE}/{page}/file"
    assert uploads.allowed("PUT", path)
    assert uploads.allowed("DELETE", path)
    assert not uploads.allowed("POST", path)
    assert not uploads.allowed("PUT", f"{uploads.ROUTE}/another/file")
    assert not uploads.allowed("PUT", f"{uploads.ROUTE}/{page}")
    assert not uploads.allowed("PUT", f"{path}/more")
    accounts.close_session(engine, test.session_state[session.SIGNED_IN].session_id, actor=ADMIN)
    assert not uploads.allowed("PUT", path)


def test_offers_are_bounded(engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "HELD", 1)
    uploads._offers["old"] = 1
    app(engine, at="bank", view="import")
    assert "old" not in uploads._offers
    assert len(uploads._offers) == 1


def test_a_file_from_somebody_who_is_not_signed_in_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        for method in ("PUT", "DELETE", "OPTIONS", "POST"):
            answer = httpx.request(method, f"{address}{uploads.ROUTE}/a/b", content=b"x")
            assert answer.status_code == 404
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_each_export_is_a_file_of_the_version_that_is_looked_at(engine: Engine, app: App) -> None:
    stored(engine, OWN)
    test = app(engine, at="bank", bank="mine")
    assert [each.label for each in test.get("download_button")] == ["JSONL", "Inspect", "promptfoo"]
    info = banks.get(engine, "mine", actor=ADMIN)
    for form in bank_facts.FORMATS:
        lines = bank_facts.written(info, form, actor=ADMIN).decode().splitlines()
        assert len(lines) == 2
        assert "What is a lock?" in lines[0]


def test_a_fixture_whose_file_has_changed_is_named_and_the_case_is_still_drawn(
    tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(Path(session.__file__).parents[1] / "data", copy)
    with engines.opened(tmp_path, run_worker=False, bank_file=copy / "dataset.json") as engine:
        banks.names(engine, actor=ADMIN)
        (copy / "fixtures" / "rally-poster.png").write_bytes(b"another picture")
        test = app(engine, at="bank", view="cases", clause="A.1.a", mode="multimodal")
        assert "rally-poster" in "\n".join(each.value for each in test.text)
        assert not test.get("image")
        assert "What the model is sent" in texts(test)
