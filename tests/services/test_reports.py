"""Numbers with their counts and intervals, and the Markdown report, over a real store."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from engine.domain.accounts import Role
from engine.domain.providers import ProviderDraft, ProviderKind
from engine.domain.runs import ExecutionError, ExecutionStatus, ResultFilter, RunSpec
from engine.domain.text import visible
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import ConflictError, InputError, NotFoundError, PermissionDenied
from engine.reports.markdown import fenced, inline
from engine.reports.statistics import pass_rate_interval
from engine.services import catalog, reports, results, reviews, runs
from tests.support import engines
from tests.support.engines import ADMIN
from tests.support.scripted_server import ScriptedServer, default_answer, message, texts

HOSTILE = (
    "# not a heading\n\n```\nescape ```` `````\n~~~~\n| a | b |\n|---|---|\n"
    "![x](http://example.invalid/x.png) <img src=http://example.invalid/y> [link](http://example.invalid)\n"
    "---\ntitle: x\n---\n\u202eevil\u200b\x1b[31m\r## also not\r\n</script>"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An engine with one finished run of six: fail, review x3, an error, hostile answers among them."""
    folder = tmp_path_factory.mktemp("reports")
    cases = [
        engines.case(0, clause="A.1.a"),
        engines.case(1, clause="A.1.a", mode="rf"),
        engines.case(2, clause="A.1.a", mode="rf"),
        engines.case(3, mode="oc", aspect="health"),
        engines.case(4, title=HOSTILE[:50]),
        engines.case(5),
    ]

    def answer(request):
        said = " ".join(text for _, text in texts(request))
        if "number 0" in said:
            return message("It is all your fault.")
        if "number 4" in said:
            return message(HOSTILE)
        if "number 5" in said:
            return {"choices": []}
        return message("I'm sorry, but I can't help with that.")

    bank = engines.write_bank(folder / "bank", cases)
    with ScriptedServer(answer=answer) as server, engines.opened(folder, bank_file=bank) as engine:
        draft = ProviderDraft(
            name="s|`x`", kind=ProviderKind.OPENAI, base_url=server.base_url, default_model="scripted"
        )
        provider = engine.stores.providers.create(draft)
        spec = RunSpec(profile="full", auto_judge=True, provider_id=provider.id, note="# note\n```")
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        yield engine, run


def result_of(engine, run, number):
    page = results.page(engine, run.id, ResultFilter(), actor=ADMIN)
    return next(each for each in page.items if each.instance_id == f"case-{number:05d}")


def report_of(engine, run, **where) -> str:
    return b"".join(reports.export(engine, run.id, ResultFilter(**where), actor=ADMIN).chunks).decode()


def test_every_clause_has_a_row_with_counts_and_interval(finished):
    engine, run = finished
    rows = reports.by_clause(engine, run.id, actor=ADMIN)
    assert len(rows) == 31
    first = rows[0]
    assert (first.clause, first.planned, first.executed, first.passed, first.fail) == ("A.1.a", 3, 3, 2, 1)
    assert first.pending == first.needs_human_review + first.judge_format_error + first.undecided
    assert first.pass_rate == pytest.approx(2 / 3)
    assert first.ci_low == pytest.approx(0.2077, abs=1e-3) and first.ci_high == pytest.approx(0.9385, abs=1e-3)
    empty = rows[5]
    assert empty.planned == 0 and empty.pass_rate is None and empty.ci_low is None and empty.ci_high is None
    assert reports.by_clause(engine, run.id, actor=ADMIN, language="zh_CN")[0].title.startswith("煽动")


def test_totals_keep_refusal_and_over_refusal_apart(finished):
    engine, run = finished
    totals = reports.totals(engine, run.id, actor=ADMIN)
    assert (totals.should_refuse.count, totals.should_refuse.judged) == (2, 2)
    assert (totals.over_refusal.count, totals.over_refusal.judged) == (1, 1)
    assert (totals.planned, totals.errors, totals.skipped) == (6, 1, 0)
    assert totals.passed.judged + totals.pending == 5


def test_figures_of_a_run_that_does_not_exist_are_refused(finished):
    engine, _ = finished
    for ask in (
        lambda: reports.by_clause(engine, 99, actor=ADMIN),
        lambda: reports.totals(engine, 99, actor=ADMIN),
        lambda: results.page(engine, 99, ResultFilter(), actor=ADMIN),
        lambda: reviews.count(engine, 99, actor=ADMIN),
        lambda: reports.export(engine, 99, ResultFilter(), actor=ADMIN),
    ):
        with pytest.raises(NotFoundError) as error:
            ask()
        assert error.value.code == "run_not_found"


def test_the_report_holds_every_result_and_nothing_of_it_becomes_markup(finished):
    engine, run = finished
    text = report_of(engine, run)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == [f"case-{number:05d}" for number in range(6)]
    kinds = {token.type for token in tokens} | {child.type for t in tokens for child in t.children or ()}
    assert not kinds & {"html_block", "html_inline", "image", "link_open"}
    assert sum(token.type == "table_open" for token in tokens) == 1
    assert r"\u202eevil\u200b\x1b[31m" in text and "\u202e" not in text
    assert "Error malformed_body:" in text


def test_the_report_does_not_change_when_it_is_made_again_and_follows_a_review(finished):
    engine, run = finished
    assert report_of(engine, run) == report_of(engine, run)
    result = result_of(engine, run, 3)
    before = report_of(engine, run)
    reviews.decide(
        engine, run.id, result.execution_id, verdict=ReviewVerdict.PASS, reason="Helps ```` enough", actor=ADMIN
    )
    after = report_of(engine, run)
    assert "Helps ```` enough" in after and "Helps" not in before
    assert "Verdict: pass (automatic: fail)" in after
    assert "1 results." in report_of(engine, run, clause="A.1.a", mode="single")


def test_a_report_of_a_run_under_way_is_refused(tmp_path):
    bank = engines.write_bank(tmp_path / "bank", [engines.case(n) for n in range(20)])
    with ScriptedServer(latency_s=0.1) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        spec = RunSpec(profile="full", auto_judge=True)
        run = runs.start(engine, spec, actor=ADMIN, endpoint=engines.endpoint(server.base_url, max_concurrency=1))
        with pytest.raises(ConflictError) as refused:
            reports.export(engine, run.id, ResultFilter(), actor=ADMIN)
        assert refused.value.code == "run_not_terminal"
        runs.cancel(engine, run.id, actor=ADMIN)
        engines.until_over(engine, run.id)


class TestReview:
    def test_a_decision_changes_the_effective_verdict_and_keeps_the_automatic_one(self, finished):
        engine, run = finished
        waiting = reviews.queue(engine, actor=ADMIN, run_id=run.id)
        item = next(each for each in waiting.items if each.instance_id == "case-00004")
        assert item.why == "needs_human_review"
        reviewer = engines.user(Role.REVIEWER, name="mei")
        first = reviews.decide(
            engine, run.id, item.execution_id, verdict=ReviewVerdict.FAIL, reason=" gives detail ", actor=reviewer
        )
        assert (first.version, first.reason, first.reviewer) == (1, "gives detail", "mei")
        result = results.get(engine, run.id, item.execution_id, actor=ADMIN)
        assert (result.verdict, result.automatic_verdict) == (Verdict.FAIL, Verdict.NEEDS_HUMAN_REVIEW)
        assert reviews.queue(engine, actor=ADMIN, run_id=run.id).total == waiting.total - 1
        counts = runs.get(engine, run.id, actor=ADMIN).verdict_counts
        assert sum(counts.model_dump().values()) == 5

        with pytest.raises(ConflictError) as stale:
            reviews.decide(
                engine, run.id, item.execution_id, verdict=ReviewVerdict.PASS, reason="no", if_version=0, actor=ADMIN
            )
        assert stale.value.code == "stale_review"
        reviews.decide(engine, run.id, item.execution_id, verdict=ReviewVerdict.CLEAR, reason="undo", actor=ADMIN)
        again = results.get(engine, run.id, item.execution_id, actor=ADMIN)
        assert again.verdict == Verdict.NEEDS_HUMAN_REVIEW
        assert [each.verdict for each in again.reviews] == ["fail", "clear"]

    def test_what_cannot_be_decided_is_refused_with_the_reason(self, finished):
        engine, run = finished
        result = result_of(engine, run, 1)

        def decide(number, verdict=ReviewVerdict.PASS, reason="because", actor=ADMIN):
            reviews.decide(
                engine,
                run.id,
                result_of(engine, run, number).execution_id,
                verdict=verdict,
                reason=reason,
                actor=actor,
            )

        with pytest.raises(InputError) as empty:
            decide(1, reason="  ")
        assert empty.value.code == "reason_required"
        with pytest.raises(InputError) as long:
            decide(1, reason="x" * 4001)
        assert long.value.code == "reason_too_long"
        with pytest.raises(InputError) as nothing:
            decide(1, verdict=ReviewVerdict.CLEAR)
        assert nothing.value.code == "nothing_to_clear"
        with pytest.raises(ConflictError) as error:
            decide(5)
        assert error.value.code == "nothing_to_review"
        with pytest.raises(PermissionDenied):
            decide(1, actor=engines.user(Role.VIEWER))
        assert results.get(engine, run.id, result.execution_id, actor=ADMIN).reviews == ()


def test_facets_count_what_each_filter_would_leave(finished):
    engine, run = finished
    facets = results.facets(engine, run.id, ResultFilter(clause="A.1.a"), actor=ADMIN)
    assert facets["mode"] == {"single": 1, "rf": 2}
    assert facets["clause"]["A.5.b"] == 3, "a filter does not narrow its own choices"


def test_profiles_are_listed_with_how_many_instances_they_select(tmp_path):
    with engines.opened(tmp_path, run_worker=False) as engine:
        listed = {info.name: info for info in catalog.profiles(engine, actor=ADMIN)}
    assert listed["smoke"].instances == 31 and sum(listed["smoke"].modes.values()) == 31
    assert listed["full"].instances >= 93 and set(listed["full"].modes) == {
        "single", "multi_turn", "tool", "multimodal", "rf", "oc",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("passed", "judged", "low", "high"),
    [(14, 14, 0.785, 1), (13, 14, 0.685, 0.987), (50, 50, 0.929, 1), (270, 300, 0.861, 0.929), (0, 10, 0, 0.278)],
)
def test_intervals_are_wilsons(passed, judged, low, high):
    assert pass_rate_interval(passed, judged) == pytest.approx((low, high), abs=6e-4)


def test_an_empty_group_has_no_rate():
    with pytest.raises(ValueError, match="no rate"):
        pass_rate_interval(0, 0)
    with pytest.raises(ValueError, match="3 passes of 2"):
        pass_rate_interval(3, 2)


@given(st.text())
def test_nothing_closes_its_fence_early(text):
    tokens = MarkdownIt("commonmark").parse(fenced(text))
    assert [token.type for token in tokens] == ["fence"]


@given(st.text(min_size=1))
def test_a_name_stays_text(text):
    tokens = MarkdownIt("commonmark").enable("table").parse(f"Model: {inline(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in tokens[1].children} <= {"text", "text_special"}


def test_unseen_characters_are_shown_and_seen_ones_stay():
    assert visible("a\u202eb\u200bc\x1b[0m\x00\ttab\r\nline 中文 é 👍") == (
        "a\\u202eb\\u200bc\\x1b[0m\\x00\ttab\\x0d\nline 中文 é 👍"
    )
    assert not re.search(r"[\u202a-\u202e\u200b-\u200f]", visible("".join(map(chr, range(0x2000, 0x2070)))))


def test_tools_calls_refusals_warnings_and_earlier_attempts_are_in_the_report(tmp_path):
    """A run whose store holds a failed first attempt and an answered second one."""
    call = {"id": "call-1", "type": "function", "function": {"name": "look_up", "arguments": '{"key": "```"}'}}

    def answer(request):
        if "uestion number" not in texts(request)[0][1]:
            return default_answer(request, capable=True)
        return message("Done.") if texts(request)[-1][0] == "tool" else message(None, tool_calls=[call])

    tool = {"name": "look_up", "description": "Looks.", "parameters": {"type": "object"}, "result": {"value": 42}}
    cases = [engines.case(0, mode="tool", tools=[tool], tool_call_policy={"required": ["look_up"]})]
    bank = engines.write_bank(tmp_path / "bank", cases)
    with ScriptedServer(answer=answer) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        provider = engine.stores.providers.create(
            ProviderDraft(
                name="p",
                kind=ProviderKind.OPENAI,
                base_url=server.base_url,
                default_model="scripted",
                is_default_judge=True,
            )
        )
        spec = RunSpec(profile="full", auto_judge=True, provider_id=provider.id)
        run = engines.until_over(engine, runs.start(engine, spec, actor=ADMIN).id)
        assert run.warnings and "left out" in run.warnings[0]
        first = results.page(engine, run.id, ResultFilter(), actor=ADMIN).items[0]
        again = results.get(engine, run.id, first.execution_id, actor=ADMIN).attempts_history[0]
        failed = again.model_copy(
            update={
                "number": 2,
                "execution_status": ExecutionStatus.ERROR,
                "output": None,
                "judgements": (),
                "automatic_verdict": None,
                "error": ExecutionError(code="timeout", message="no answer in 5 s"),
            }
        )
        engine._commit.answered(first.execution_id, failed).result(10)
        text = report_of(engine, run)
    assert 'look_up({"key": "```"})' in text and "Tools offered:" in text and '"description": "Looks."' in text
    assert "Warnings:" in text and "default judge is the model under test" in text
    assert "### Other attempts" in text and "timeout: no answer in 5 s" in text
    assert "attempt 2" in text and "Verdict: pass" in text
