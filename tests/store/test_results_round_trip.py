"""What goes in comes out, exactly."""

from __future__ import annotations

from engine.domain.runs import ResultFilter
from engine.domain.verdicts import Verdict
from tests.store.samples import answer, instance, judgement, make_run


def test_a_result_comes_back_exactly_as_it_was_stored(stores, writer):
    plan = [instance("case/variant-1", text="一二三 \x00 é \U0001f600")]
    run, (execution_id,) = make_run(stores, plan)
    trail = [judgement(None), judgement(Verdict.PASS)]
    writer.answered(execution_id, answer()).result(10)
    writer.judged(execution_id, 1, verdict=Verdict.PASS, judgements=trail).result(10)

    detail = stores.results.get(run.id, execution_id)

    stored = answer().model_copy(update={"automatic_verdict": Verdict.PASS, "judgements": tuple(trail)})
    assert detail.attempts_history == (stored,)
    assert detail.instance == plan[0]
    assert (detail.verdict, detail.automatic_verdict, detail.review) == (Verdict.PASS, Verdict.PASS, None)
    assert stores.results.page(run.id, ResultFilter(), limit=10, offset=0).items[0].output == answer().output
    assert list(stores.results.stream(run.id, ResultFilter())) == [detail]
