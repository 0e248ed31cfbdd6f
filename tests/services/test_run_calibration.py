"""How far a run's verdicts can be trusted, and judges measured on a labelled file through the service."""

from __future__ import annotations

import contextlib

import pytest

from engine.domain.accounts import Role
from engine.domain.calibration import Basis, Confusion, Uncorrected
from engine.domain.runs import ClauseCounts, RunSpec
from engine.domain.verdicts import ReviewVerdict, Verdict
from engine.errors import InputError, NotFoundError, PermissionDenied
from engine.reports import calibration as figures
from engine.reports.agreement import corrected_rate
from engine.reports.statistics import pass_rate_interval
from engine.services import calibration, reviews, runs
from engine.services.calibration import Columns, Judge, SourceFile
from engine.settings import ROOT
from tests.support import engines, judge_bench
from tests.support.engines import ADMIN
from tests.support.judge_bench import CASES

CONTROLS = ROOT / "data" / "control_cases.json"
COLUMNS = Columns(text="answer", label="human")
SHEET = "answer,human\n" + "".join(
    f'"{text} Number {number}.",{label}\n'
    for number in range(3)
    for text, label in (("I cannot help with that.", "no"), ("First boil the water.", "yes"))
)


@pytest.fixture
def bench(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(judge_bench.opened(tmp_path, **settings))


def decide(made, run, verdicts):
    """The first results of the run get these verdicts, in plan order."""
    for each, verdict in zip(made.every(run), verdicts, strict=False):
        reviews.decide(made.engine, run.id, each.execution_id, verdict=verdict, reason="looked at it", actor=ADMIN)


def of(made, run):
    return calibration.of_run(made.engine, run.id, actor=ADMIN)


def test_a_clause_shows_its_pass_rate_beside_the_agreement_with_people(bench):
    made = bench(audit_share=1)
    run = made.run()
    decide(made, run, [ReviewVerdict.FAIL] * 3 + [ReviewVerdict.PASS] * 5)
    found = of(made, run)
    (row,) = found.clauses
    assert (row.clause, row.distrusted) == ("A.5.b", False)
    assert row.title.zh and row.title.en
    low, high = pass_rate_interval(CASES - 3, CASES)
    assert (row.passed.count, row.passed.judged, row.passed.ci_low, row.passed.ci_high) == (CASES - 3, CASES, low, high)
    assert (row.automatic.count, row.automatic.judged) == (CASES, CASES)
    assert row.agreement.confusion == Confusion(true_positive=5, false_positive=3)
    assert (row.agreement.n, row.agreement.accuracy, row.audited) == (8, 5 / 8, 8)
    assert found.pooled.agreement == row.agreement
    assert found.judge_model == "judge"


def test_the_judge_is_measured_over_every_run_and_the_verdicts_over_this_one(bench):
    made = bench()
    first = made.run()
    decide(made, first, [ReviewVerdict.FAIL] * 4)
    second = made.run()
    decide(made, second, [ReviewVerdict.PASS] * 2)
    found = of(made, second)
    assert found.clauses[0].agreement.confusion == Confusion(true_positive=2)
    assert found.clauses[0].judge.confusion == Confusion(true_positive=2, false_positive=4)
    assert found.pooled.judge.n == 6


def test_a_run_that_nobody_has_decided_on_says_why_it_has_no_corrected_rate(bench):
    made = bench()
    run = made.run()
    row = of(made, run).clauses[0]
    assert (row.corrected, row.basis, row.uncorrected) == (None, None, Uncorrected.NO_DECISIONS)
    assert (row.agreement.n, row.agreement.kappa, row.judge) == (0, None, None)
    decide(made, run, [ReviewVerdict.PASS] * 3)
    assert of(made, run).clauses[0].uncorrected is Uncorrected.ONE_CLASS


def test_answers_without_an_automatic_verdict_are_in_no_agreement(bench):
    made = bench(audit_share=1)
    made.verdict = "unsure"
    run = made.run()
    decide(made, run, [ReviewVerdict.PASS] * CASES)
    found = of(made, run)
    row = found.clauses[0]
    assert (row.passed.count, row.automatic.judged, row.agreement.n) == (CASES, 0, 0)
    assert row.uncorrected is Uncorrected.NO_VERDICTS
    assert (found.audit.drawn, found.audit.confident, found.audit.reviewed) == (CASES, 0, 0)
    assert found.audit.errors.share is None


def test_the_audit_counts_what_was_drawn_and_reviewed_and_the_errors_found(bench):
    made = bench(audit_share=0.5)
    run = made.run(seed=3)
    drawn = [item.execution_id for item in reviews.queue(made.engine, actor=ADMIN, run_id=run.id).items]
    assert 2 < len(drawn) < CASES
    other = next(each.execution_id for each in made.every(run) if each.execution_id not in drawn)
    decided = {drawn[0]: ReviewVerdict.FAIL, drawn[1]: ReviewVerdict.PASS, other: ReviewVerdict.FAIL}
    for execution_id, verdict in decided.items():
        reviews.decide(made.engine, run.id, execution_id, verdict=verdict, reason="looked", actor=ADMIN)
    found = of(made, run)
    assert (found.audit.share, found.audit.drawn, found.audit.confident) == (0.5, len(drawn), len(drawn))
    assert (found.audit.reviewed, found.audit.errors.count, found.audit.errors.judged) == (2, 1, 2)
    assert (found.audit.errors.ci_low, found.audit.errors.ci_high) == pass_rate_interval(1, 2)
    assert (found.pooled.agreement.n, found.pooled.audited) == (3, 2)


def measured(people, audited, automatic=(60, 100)):
    row = ClauseCounts.nothing("A.5.b")
    return figures.Measured({"A.5.b": row}, {"A.5.b": automatic}, {"A.5.b": people}, {"A.5.b": audited}, {})


def test_the_corrected_rate_rests_on_audited_decisions_once_there_are_ten():
    audited = Confusion(true_positive=6, false_positive=1, false_negative=0, true_negative=3)
    people = Confusion(true_positive=6, false_positive=20, false_negative=0, true_negative=30)
    (row,) = figures.by_clause(measured(people, audited), distrusted=())
    assert (row.basis, row.corrected) == (Basis.AUDITED, corrected_rate(60, 100, audited))
    fewer = audited.model_copy(update={"true_positive": 5})
    (row,) = figures.by_clause(measured(people, fewer), distrusted=())
    assert (row.basis, row.corrected) == (Basis.EVERY, corrected_rate(60, 100, people))
    assert figures.pooled(measured(people, fewer)).corrected == row.corrected


def test_a_judge_that_tells_nothing_apart_leaves_no_corrected_rate():
    blind = Confusion(true_positive=5, false_positive=5, false_negative=5, true_negative=5)
    (row,) = figures.by_clause(measured(blind, Confusion()), distrusted=())
    assert (row.corrected, row.uncorrected) == (None, Uncorrected.NO_BETTER_THAN_CHANCE)


def test_a_clause_without_anything_is_left_out_unless_the_judge_has_no_vote_there():
    nothing = figures.Measured({}, {}, {}, {}, {})
    assert figures.by_clause(nothing, distrusted=()) == ()
    (row,) = figures.by_clause(nothing, distrusted=("A.1.a",))
    assert (row.clause, row.distrusted, row.passed.share) == ("A.1.a", True, None)
    assert figures.pooled(nothing).uncorrected is Uncorrected.NO_VERDICTS


def test_control_cases_stand_with_what_the_judge_said_in_its_last_run(bench):
    made = bench(control_cases_file=CONTROLS)
    first = made.run()
    assert of(made, first).earlier_run is None
    made.verdict = "fail"
    second = made.run()
    found = of(made, second)
    assert (len(found.controls), found.earlier_run) == (8, first.id)
    assert all(each.has_moved and each.before is Verdict.PASS for each in found.controls)
    assert sum(each.is_met for each in found.controls) == 4
    assert not any(each.has_moved for each in of(made, first).controls)


def test_a_clause_on_which_the_judge_lost_its_vote_is_marked(bench):
    made = bench(judge_agreement_floor=0.8, judge_agreement_reviews=10)
    decide(made, made.run(), [ReviewVerdict.FAIL] * CASES)
    assert of(made, made.run()).clauses[0].distrusted


def test_a_run_without_a_judge_model_has_figures_of_its_verdicts_alone(bench):
    made = bench()
    spec = RunSpec(profile="full", auto_judge=True, provider_id=made.provider)
    run = engines.until_over(made.engine, runs.start(made.engine, spec, actor=ADMIN).id)
    found = of(made, run)
    assert (found.judge_model, found.controls, found.pooled.judge) == (None, (), None)
    with pytest.raises(NotFoundError):
        calibration.of_run(made.engine, 99, actor=ADMIN)


def test_a_viewer_may_look_and_a_reviewer_may_measure(bench):
    made = bench()
    run, file = made.run(), SourceFile("labels.csv", SHEET.encode())
    viewer, reviewer = engines.user(Role.VIEWER), engines.user(Role.REVIEWER)
    assert calibration.of_run(made.engine, run.id, actor=viewer).run_id == run.id
    with pytest.raises(PermissionDenied):
        calibration.measure(made.engine, Judge.REFUSAL, [file], COLUMNS, positive=["no"], actor=viewer)
    found = calibration.measure(made.engine, Judge.REFUSAL, [file], COLUMNS, positive=["no"], actor=reviewer)
    assert (found.n, found.kappa) == (6, 1)
    found = calibration.measure(made.engine, Judge.RULE, [file], COLUMNS, positive=["no"], actor=reviewer)
    assert found.n + found.unreadable == 6


def test_a_configured_provider_is_measured_and_its_calls_are_on_the_trail(bench):
    made = bench()
    made.verdict = "fail"
    file = SourceFile("labels.csv", SHEET.encode())
    asked = {"positive": ["no"], "provider_id": made.provider, "model": "judge", "actor": ADMIN}
    found = calibration.measure(made.engine, Judge.LLM, [file], COLUMNS, **asked)
    assert (found.n, found.confusion.true_positive, found.confusion.false_positive) == (6, 3, 3)
    assert len(made.judged) == 6
    entry = made.engine.stores.audit.page(limit=1, offset=0).items[0]
    assert (entry.action, entry.object) == ("judge.measure", f"provider:{made.provider}")
    assert entry.detail["rows"] == 6


def test_too_many_rows_for_a_judge_model_are_refused_before_any_is_asked(bench):
    made = bench()
    rows = "\n".join(f"answer {number},{'no' if number % 2 else 'yes'}" for number in range(calibration.MOST_ASKED + 1))
    file = SourceFile("labels.csv", f"answer,human\n{rows}\n".encode())
    with pytest.raises(InputError, match="2,001 rows") as refused:
        calibration.measure(
            made.engine, Judge.LLM, [file], COLUMNS, positive=["no"], provider_id=made.provider, actor=ADMIN
        )
    assert (refused.value.code, made.judged) == ("too_many_rows", [])
    with pytest.raises(InputError, match="needs a provider"):
        calibration.measure(
            made.engine,
            Judge.LLM,
            [SourceFile("labels.csv", SHEET.encode())],
            COLUMNS,
            positive=["no"],
            actor=ADMIN,
        )


def test_what_a_file_holds_is_said_with_the_values_of_each_column():
    found = calibration.contents([SourceFile("labels.csv", SHEET.encode())])
    assert (found.rows, found.values["human"], len(found.values["answer"])) == (6, ("no", "yes"), 6)
