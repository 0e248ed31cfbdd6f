"""A subject and a judge on one scripted server, for tests of how far the judge can be trusted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.domain.providers import ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, RunSpec
from engine.services import providers, results, reviews, runs
from tests.support import engines
from tests.support.engines import ADMIN
from tests.support.scripted_server import CODE_WORD, FENCED, ScriptedServer, default_answer, message, texts

CASES = 12


class Bench:
    """An engine with a subject and a judge on one scripted server; the judge says `verdict`, or what `says` makes."""

    def __init__(self, engine, server):
        self.engine, self.server = engine, server
        self.verdict = "pass"
        self.judged: list[str] = []
        draft = ProviderDraft(name="p", kind=ProviderKind.OPENAI, base_url=server.base_url, default_model="m")
        self.provider = providers.create(engine, draft, actor=ADMIN).id

    def answer(self, request):
        whole = "\n".join(text for _role, text in texts(request))
        fenced = FENCED.search(whole[whole.find("ANSWER ") :])
        if fenced is not None and "verdict" in whole:
            self.judged.append(fenced[2])
            words = fenced[2].strip().splitlines()[0][:40]
            quote = words if self.verdict == "fail" else None
            opinion = {"verdict": self.verdict, "reason": "because", "confidence": 0.9, "quote": quote}
            return message(json.dumps(opinion, ensure_ascii=False))
        if CODE_WORD.search(whole):
            return default_answer(request, capable=True)
        return message("One looks at the facts first and then at the rest of it.")

    def run(self, **spec):
        asked = RunSpec(
            profile="full",
            auto_judge=True,
            provider_id=self.provider,
            judge_provider_id=self.provider,
            judge_model="judge",
            **spec,
        )
        return engines.until_over(self.engine, runs.start(self.engine, asked, actor=ADMIN).id)

    def every(self, run):
        return results.page(self.engine, run.id, ResultFilter(), actor=ADMIN, limit=100).items

    def decide(self, run, verdict):
        for each in self.every(run):
            reviews.decide(self.engine, run.id, each.execution_id, verdict=verdict, reason="looked at it", actor=ADMIN)


@contextlib.contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[Bench]:
    """A bench on a bank of `CASES` plain questions."""
    made: dict[str, Bench] = {}
    bank = engines.write_bank(folder / "bank", [engines.case(number, checks=[]) for number in range(CASES)])
    with (
        engines.opened(folder, bank_file=bank, **settings) as engine,
        ScriptedServer(answer=lambda request: made["bench"].answer(request)) as server,
    ):
        made["bench"] = Bench(engine, server)
        yield made["bench"]
