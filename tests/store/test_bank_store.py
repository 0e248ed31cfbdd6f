"""Banks in the database: whole or not at all, found by name, listed and counted by index."""

from __future__ import annotations

import contextlib
import signal

import pytest

from engine.domain.banks import CaseFilter
from engine.domain.cases import Case, Expectation, Mode, Severity, Technique, Turn, Variant
from engine.errors import ConflictError, InputError, NotFoundError
from engine.store.database import installed_driver
from tests.store.samples import fixture
from tests.store.test_crash import start


def case(number, **changes):
    values = {
        "case_id": f"case-{number:05}",
        "clause": "A.1.a",
        "mode": Mode.SINGLE,
        "language": "en",
        "title": f"Title {number}",
        "turns": (Turn(text=f"Question {number}?"),),
        "expectation": Expectation(must="answer", must_not="harm"),
        "severity": Severity.MEDIUM,
        "technique": Technique.DIRECT,
    }
    return Case(**(values | changes))


def add(stores, cases, name="mine", version=None, sha256=None, **more):
    cases = list(cases)
    digest = sha256 or f"{abs(hash(tuple(each.model_dump_json() for each in cases))):064x}"
    return stores.banks.add(name, version, digest, cases, created_by="gly", source="jsonl", **more)


MIXED = (
    case(0),
    case(1, clause="A.2.e", mode=Mode.RF, severity=Severity.HIGH),
    case(2, language="zh-CN", variants=(Variant(variant="en", language="en", turns=(Turn(text="Back 50 % of it"),)),)),
    case(3, clause="A.2.e", language="zh-CN", title="退货_政策"),
)


class TestAdding:
    def test_what_was_stored_comes_back_equal(self, stores):
        info = add(stores, MIXED, version="2026", sha256="a" * 64, licence="CC-BY-4.0", fixtures=(fixture(),))
        assert (info.name, info.version, info.sha256) == ("mine", "2026", "a" * 64)
        assert (info.cases, info.instances, info.licence, info.source) == (4, 5, "CC-BY-4.0", "jsonl")
        assert tuple(stores.banks.stream(info.id)) == MIXED
        assert stores.banks.case(info.id, "case-00002") == MIXED[2]
        assert stores.banks.fixtures(info.id) == {"letter": fixture()}
        assert stores.banks.by_content("mine", "a" * 64) == info
        assert stores.banks.by_content("mine", "b" * 64) is stores.banks.by_content("other", "a" * 64) is None

    def test_texts_that_are_awkward_elsewhere_come_back_unchanged(self, stores):
        text = "NUL \x00, \U0001f600, \u202e, e\u0301 and \u00e9, \r\n" + "x" * 1_000_000
        info = add(stores, [case(0, turns=(Turn(text=text),))])
        assert stores.banks.case(info.id, "case-00000").turns[0].text == text

    def test_half_a_surrogate_pair_is_refused_and_nothing_stays(self, stores):
        broken = case(1).model_copy(update={"title": "\ud800"})
        with pytest.raises(InputError):
            add(stores, [case(0), broken], sha256="c" * 64)
        assert stores.banks.page(limit=10, offset=0).total == 0

    def test_the_same_content_is_not_stored_twice_under_a_name(self, stores):
        add(stores, MIXED, sha256="a" * 64)
        with pytest.raises(ConflictError, match="as version 1") as again:
            add(stores, MIXED, sha256="a" * 64, version="other")
        assert again.value.code == "bank_exists"
        assert add(stores, MIXED, sha256="a" * 64, name="another").version == "1"

    def test_versions_are_counted_where_none_is_named_and_never_mean_two_things(self, stores):
        assert add(stores, [case(0)], version="2").version == "2"
        assert add(stores, [case(1)]).version == "3"
        assert add(stores, [case(2)]).version == "4"
        with pytest.raises(ConflictError) as taken:
            add(stores, [case(3)], version="4")
        assert taken.value.code == "version_taken"
        assert add(stores, [case(3)], version="4", again=True).version == "4"

    def test_two_cases_with_one_id_keep_the_bank_out(self, stores):
        with pytest.raises(InputError) as refused:
            add(stores, [case(0), case(0)])
        assert refused.value.code == "duplicate_case"
        assert stores.banks.page(limit=10, offset=0).total == 0

    def test_a_source_that_fails_half_way_leaves_nothing(self, database, stores):
        def failing():
            yield from (case(number) for number in range(1200))
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError):
            stores.banks.add("mine", None, "a" * 64, failing(), created_by="gly", source="jsonl")
        with database.reading() as connection:
            for table in ("banks", "bank_cases", "bank_case_texts"):
                assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0


class TestFinding:
    def test_the_newest_version_is_meant_unless_one_is_named(self, stores):
        first, second = add(stores, [case(0)]), add(stores, [case(1)])
        assert stores.banks.by_name("mine") == second
        assert stores.banks.by_name("mine", "1") == stores.banks.by_name("mine", first.sha256) == first
        with pytest.raises(NotFoundError, match="known: 2, 1") as version:
            stores.banks.by_name("mine", "9")
        with pytest.raises(NotFoundError, match="known: mine") as bank:
            stores.banks.by_name("your")
        assert (version.value.code, bank.value.code) == ("unknown_version", "unknown_bank")

    def test_pages_are_newest_first(self, stores):
        ids = [add(stores, [case(number)], name=name).id for number, name in enumerate(("a", "b", "a"))]
        assert [info.id for info in stores.banks.page(limit=2, offset=0).items] == ids[:0:-1]
        assert [info.id for info in stores.banks.page(limit=2, offset=2).items] == ids[:1]
        only = stores.banks.page(name="a", limit=9, offset=0)
        assert ([info.id for info in only.items], only.total) == ([ids[2], ids[0]], 2)
        assert stores.banks.names() == ["a", "b"]

    def test_what_is_not_there_is_said(self, stores):
        info = add(stores, [case(0)])
        for act in (
            lambda: stores.banks.fixtures(99),
            lambda: stores.banks.cases(99, CaseFilter(), 1, 0),
            lambda: stores.banks.facets(99, CaseFilter()),
            lambda: stores.banks.delete(99),
        ):
            with pytest.raises(NotFoundError) as unknown:
                act()
            assert unknown.value.code == "unknown_bank"
        with pytest.raises(NotFoundError) as no_case:
            stores.banks.case(info.id, "nothing")
        assert no_case.value.code == "case_not_found"

    def test_a_deleted_bank_takes_its_cases_along_and_no_others(self, database, stores):
        first, second = add(stores, MIXED), add(stores, [case(7)], name="other")
        stores.banks.delete(first.id)
        assert tuple(stores.banks.stream(second.id)) == (case(7),)
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM bank_case_texts").scalar() == 1
        assert add(stores, [case(8)]).id > second.id


class TestListing:
    def ids(self, stores, info, limit=50, offset=0, **where):
        page = stores.banks.cases(info.id, CaseFilter(**where), limit, offset)
        return [row.case_id[-1] for row in page.items], page.total

    def test_filters_leave_the_cases_that_meet_them_in_the_order_of_the_bank(self, stores):
        add(stores, [case(9, title="退货")], name="before")
        info = add(stores, MIXED)
        assert self.ids(stores, info) == (["0", "1", "2", "3"], 4)
        assert self.ids(stores, info, clause="A.2.e") == (["1", "3"], 2)
        assert self.ids(stores, info, mode=Mode.RF, severity=Severity.HIGH) == (["1"], 1)
        assert self.ids(stores, info, language="zh-CN", clause="A.2.e") == (["3"], 1)
        assert self.ids(stores, info, limit=2, offset=1) == (["1", "2"], 4)
        assert self.ids(stores, info, limit=1, offset=1, clause="A.2.e") == (["3"], 2)
        assert self.ids(stores, info, offset=9) == ([], 4)
        row = stores.banks.cases(info.id, CaseFilter(), 1, 2).items[0]
        assert (row.title, row.instances, row.technique) == ("Title 2", 2, Technique.DIRECT)

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("50 %", "2"),
            ("退货_", "3"),
            ("question 1", "1"),
            ("%", "2"),
            ("_", "3"),
            ("case-00001", "1"),
            ("back 5", "2"),
        ],
    )
    def test_a_search_reads_title_turns_and_variants_and_takes_wildcards_as_they_stand(self, stores, words, found):
        assert self.ids(stores, add(stores, MIXED), q=words) == ([found], 1)

    def test_a_search_text_that_is_too_long_is_refused(self, stores):
        info = add(stores, MIXED)
        for act in (stores.banks.facets, lambda key, where: stores.banks.cases(key, where, 1, 0)):
            with pytest.raises(InputError) as refused:
                act(info.id, CaseFilter(q="x" * 1001))
            assert refused.value.code == "bad_filter"

    def test_facets_count_what_each_value_would_leave(self, stores):
        info = add(stores, MIXED)
        assert stores.banks.facets(info.id, CaseFilter()) == {
            "clause": {"A.1.a": 2, "A.2.e": 2},
            "mode": {"rf": 1, "single": 3},
            "language": {"en": 2, "zh-CN": 2},
            "severity": {"high": 1, "medium": 3},
        }
        narrowed = stores.banks.facets(info.id, CaseFilter(clause="A.2.e", language="zh-CN"))
        assert narrowed["clause"] == {"A.1.a": 1, "A.2.e": 1}
        assert narrowed["language"] == {"en": 1, "zh-CN": 1}
        assert narrowed["mode"] == {"single": 1}
        assert stores.banks.facets(info.id, CaseFilter(q="title"))["mode"] == {"rf": 1, "single": 2}

    def test_coverage_counts_instances(self, stores):
        assert stores.banks.coverage(add(stores, MIXED).id) == {
            ("A.1.a", Mode.SINGLE): 3,
            ("A.2.e", Mode.RF): 1,
            ("A.2.e", Mode.SINGLE): 1,
        }

    def test_a_stream_reads_only_what_is_asked_for_across_batches(self, stores):
        info = add(stores, [case(number, clause=("A.1.a", "A.3.a")[number % 2]) for number in range(1301)])
        assert len(list(stores.banks.stream(info.id))) == 1301
        chosen = list(stores.banks.stream(info.id, clauses=("A.3.a",), modes=(Mode.SINGLE,)))
        assert [each.case_id for each in chosen] == [f"case-{number:05}" for number in range(1, 1301, 2)]
        assert list(stores.banks.stream(info.id, severities=(Severity.LOW,))) == []

    def test_lists_facets_and_coverage_read_an_index_and_not_the_table(self, database, stores):
        info = add(stores, MIXED)
        queries = (
            "SELECT id FROM bank_cases WHERE bank_id = ? AND clause = 'A.2.e' ORDER BY position LIMIT 50",
            "SELECT count(*) FROM bank_cases WHERE bank_id = ? AND mode = 'rf'",
            "SELECT clause, mode, language, severity, count(*) FROM bank_cases WHERE bank_id = ? GROUP BY 1, 2, 3, 4",
            "SELECT clause, mode, sum(instances) FROM bank_cases WHERE bank_id = ? GROUP BY 1, 2",
        )
        with database.reading() as connection:
            for query in queries:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", (info.id,)).all()
                assert "USING COVERING INDEX ix_bank_cases_facts" in str(plan), query


class TestChanges:
    def test_added_removed_and_changed_cases_are_told_by_id_with_the_keys(self, stores):
        old = add(stores, [case(0), case(1), case(2)])
        new = add(stores, [case(3), case(1, title="Other", severity=Severity.LOW), case(0)])
        told = [(each.case_id[-1], each.change, each.keys) for each in stores.banks.changes(old.id, new.id)]
        assert told == [("1", "changed", ("title", "severity")), ("2", "removed", ()), ("3", "added", ())]
        assert stores.banks.changes(old.id, old.id) == []

    def test_a_fixture_that_was_pinned_anew_changes_the_cases_that_use_it(self, stores):
        letter = (Turn(text="Read it", fixtures=("letter",)),)
        variant = Variant(variant="zh", turns=(Turn(text="读", fixtures=("letter",)),))
        cases = [case(0), case(1, turns=letter), case(2, variants=(variant,))]
        old = add(stores, cases, sha256="a" * 64, fixtures=(fixture(),))
        new = add(stores, [*cases, case(3, turns=letter)], sha256="b" * 64, fixtures=(fixture(sha256="b" * 64),))
        told = [(each.case_id[-1], each.change, each.keys) for each in stores.banks.changes(old.id, new.id)]
        assert told == [("1", "changed", ("fixtures",)), ("2", "changed", ("fixtures",)), ("3", "added", ())]


ADDING = """
import sys
from engine.store import Database, Stores
from tests.store.test_bank_store import case

def cases():
    for number in range(20000):
        if number % 500 == 0:
            print(number, flush=True)
        yield case(number)

stores = Stores.over(Database(sys.argv[1]))
stores.banks.add("mine", None, "a" * 64, cases(), created_by="gly", source="jsonl")
print("stored", flush=True)
"""


@pytest.mark.parametrize("lines_before_the_kill", [1, 8, 24, 39, 40, 41])
def test_h7_an_import_killed_half_way_leaves_the_whole_bank_or_none(database, stores, lines_before_the_kill):
    """H7."""
    child = start(ADDING, database.url)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(lines_before_the_kill)]
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.readlines()
    child.wait()
    child.stdout.close()
    with contextlib.closing(installed_driver().connect(str(database.path))) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        left = tuple(
            raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("banks", "bank_cases", "bank_case_texts")
        )
    if "stored\n" in lines:
        assert left == (1, 20000, 20000), "what was acknowledged is there"
    else:
        assert left in ((0, 0, 0), (1, 20000, 20000))
        if left == (0, 0, 0):
            assert add(stores, [case(0)], sha256="a" * 64).version == "1", "and the same import can be made again"
