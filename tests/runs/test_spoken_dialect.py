"""A run speaks to its endpoint as probing found that it wants to be spoken to, whatever the kind."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from engine.domain.runs import Run, RunSpec
from engine.providers.probing import CAPABILITIES
from engine.services import runs
from tests.support import engines
from tests.support.dialects import FACES, Face, FacedServer
from tests.support.running import SPEC, provider, rows, start
from tests.support.scripted_server import ScriptedServer, Step, texts


class Fussy(FacedServer):
    """Refuses these parameters by name, and system text where told, one at a time in this order."""

    def __init__(self, face: Face, *refused: str, judging: bool = False) -> None:
        super().__init__(face, capable=not judging, judging=judging)
        self.refused = refused

    def received(self, request: Any) -> Step:
        usual = super().received(request)
        sent = request.json if request.method == "POST" else {}
        for name in self.refused:
            if self._has(name, sent):
                words = f"Unsupported: '{name}' is not supported with this model."
                return Step(status=400, body=self.face.error(words, code="unsupported_parameter", param=name))
        return usual

    def _has(self, name: str, sent: dict[str, Any]) -> bool:
        if name == "system":
            return bool(sent) and any(role == "system" for role, _text in texts(self.face.request(sent)))
        return name in {**sent, **sent.get("options", {})}


def extra_body(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"options": parameters} if kind == "ollama" else parameters


def items(server: FacedServer) -> list[dict[str, Any]]:
    """The bank's questions as they were sent, options among the rest; probes left out."""
    sent = [request.json for request in server.chats if b"uestion number" in request.content]
    return [{**body, **body.get("options", {})} for body in sent]


@pytest.mark.parametrize("kind", sorted(FACES))
def test_c15_a_run_sends_what_is_accepted_and_says_what_it_left_out(kind, tmp_path):
    """C15."""
    face = FACES[kind]
    cases = [engines.case(1), engines.case(2, system="Be brief.")]
    bank = engines.write_bank(tmp_path / "bank", cases)
    extra = extra_body(kind, temperature=0.3)
    with Fussy(face, "temperature", "system") as server, engines.opened(tmp_path, bank_file=bank) as engine:
        endpoint = engines.endpoint(server.base_url, kind=kind, extra_body=extra)
        started = runs.start(engine, RunSpec(profile="full", auto_judge=False), endpoint=endpoint, actor=engines.ADMIN)
        run = engines.until_over(engine, started.id)
        asked = [texts(face.request(request.json)) for request in server.chats]
    assert (run.status, run.completed_count, run.error_count, run.skipped_count) == ("completed", 2, 0, 0)
    assert run.capabilities["system_message"] is True
    told = " ".join(run.warnings)
    assert "the endpoint refuses temperature; it is not sent" in run.warnings
    assert "refuses system messages" in told
    folded = [("user", f"Be brief.\n\n{cases[1]['turns'][0]['text']}")]
    assert folded in asked


def refusals(run: Run) -> list[str]:
    return [text for text in run.warnings if "refuses" in text]


CHAIN = ("top_p", "temperature", "seed", "verbosity", "system")
"""The last three are named only when probing is over."""


@pytest.mark.parametrize("kind", sorted(FACES))
def test_c15_whatever_is_refused_one_after_the_other_ends_up_left_out_and_written_into_the_run(kind, tmp_path):
    """C15."""
    cases = [engines.case(0), *(engines.case(number, system="Be brief.") for number in range(1, 9))]
    bank = engines.write_bank(tmp_path / "bank", cases)
    extra = extra_body(kind, temperature=0.3, top_p=0.9, seed=7, verbosity="low", mirostat=2)
    with Fussy(FACES[kind], *CHAIN) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        run = engines.until_over(engine, start(engine, server.base_url, kind=kind, extra_body=extra).id)
        assert (run.status, run.completed_count, run.error_count, run.skipped_count) == ("completed", 9, 0, 0)
        assert all(run.capabilities.values())
        told = [f"the endpoint refuses {name}; it is not sent" for name in CHAIN[:-1]]
        told.append("the endpoint refuses system messages; their text is sent before the first user message")
        assert refusals(run) == told, "each once, in the order of finding out"
        assert set(engine.stores.runs.dialect(run.id).left_out) == set(CHAIN)
        probes = itertools.takewhile(lambda request: b"uestion number" not in request.content, server.chats)
        assert len(list(probes)) == 3 * len(CAPABILITIES), "they travel twice at most"
        assert len(items(server)) <= 9 + 3 * 8, "nobody is refused for what is known, and eight ask at once"
        assert [result.attempts for result in rows(engine, run.id)] == [1] * 9

        before = len(items(server))
        again = runs.retry_one(engine, run.id, rows(engine, run.id)[-1].execution_id, actor=engines.ADMIN)
        assert engines.until_over(engine, again.id).status == "completed"
        (asked,) = items(server)[before:]
    assert asked.keys().isdisjoint(CHAIN) and asked["mirostat"] == 2, "remembered, and the rest is still sent"


def test_c15_an_endpoint_that_refuses_to_stream_last_is_asked_for_the_whole(tmp_path):
    """C15."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(0)])
    extra = {"temperature": 0.3, "top_p": 0.9}
    with (
        Fussy(FACES["openai"], "top_p", "temperature", "stream") as server,
        engines.opened(tmp_path, bank_file=bank) as engine,
    ):
        run = engines.until_over(engine, start(engine, server.base_url, extra_body=extra, stream=True).id)
    assert (run.status, run.completed_count) == ("completed", 1)
    assert set(run.capabilities.values()) == {None}, "probing ended before it could tell"
    assert "the endpoint refuses to stream; answers are asked for whole" in run.warnings


def test_c15_a_length_limit_refused_under_both_names_is_told_as_it_ends_up(tmp_path):
    """C15."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(0)])
    chain = ("max_tokens", "top_p", "max_completion_tokens")
    with Fussy(FACES["openai"], *chain) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        extra = {"max_tokens": 50, "top_p": 0.9}
        run = engines.until_over(engine, start(engine, server.base_url, extra_body=extra).id)
    assert run.completed_count == 1
    assert sorted(refusals(run)) == [f"the endpoint refuses {name}; it is not sent" for name in sorted(chain)]


@pytest.mark.parametrize(("name", "calls"), [("tools", 1), ("logprobs", 2), ("temperature", 2)])
def test_what_no_leaving_out_helps_against_is_the_items_own_error(name, calls, tmp_path):
    """`tools` are the question itself; what was never sent, or stays refused, is asked once without it and no more."""
    tool = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}, "result": {}}
    cases = [engines.case(0), engines.case(1, mode="tool", tools=[tool], tool_call_policy={"required": ["look"]})]
    bank = engines.write_bank(tmp_path / "bank", cases)
    error = FACES["openai"].error(f"'{name}' is not supported.", code="unsupported_parameter", param=name)

    with FacedServer(FACES["openai"], capable=True) as server, engines.opened(tmp_path, bank_file=bank) as engine:
        usual = server.received

        def received(request: Any) -> Step:
            step = usual(request)
            hit = b"uestion number 1:" in request.content
            return Step(status=400, body=error) if hit else step

        server.received = received  # type: ignore[method-assign]
        extra = {"temperature": 0.3}
        run = engines.until_over(engine, start(engine, server.base_url, extra_body=extra).id)
        assert (run.status, run.completed_count, run.error_count) == ("completed", 1, 1)
        assert refusals(run) == [] and engine.stores.runs.dialect(run.id).left_out == ()
        (failed,) = rows(engine, run.id, execution_status="error")
        assert failed.error is not None and failed.error.code == "bad_request"
        assert sum(b"uestion number 1:" in request.content for request in server.chats) == calls


def test_a_judge_that_refuses_what_it_is_asked_with_still_judges_and_the_run_says_how(tmp_path):
    """A judge is asked with a temperature and system text; not every model takes them."""
    bank = engines.write_bank(tmp_path / "bank", [engines.case(number) for number in range(6)])
    refused = ("top_p", "temperature", "system")
    with (
        ScriptedServer(capable=True) as server,
        Fussy(FACES["openai"], *refused, judging=True) as judge,
        engines.opened(tmp_path, bank_file=bank) as engine,
    ):
        subject = provider(engine, server.base_url, name="subject")
        other = provider(engine, judge.base_url, name="judge", extra_body={"top_p": 0.9, "seed": 7})
        spec = SPEC.model_copy(update={"provider_id": subject.id, "judge_provider_id": other.id})
        run = engines.until_over(engine, runs.start(engine, spec, actor=engines.ADMIN).id)
        assert (run.status, run.verdict_counts.none, run.verdict_counts.passed) == ("completed", 0, 6)
        told = [f"for the judge: the endpoint refuses {name}; it is not sent" for name in refused[:2]]
        folded = "the endpoint refuses system messages; their text is sent before the first user message"
        assert refusals(run) == [*told, f"for the judge: {folded}"]
        assert judge.chats[-1].json["seed"] == 7
        assert len(judge.chats) <= 6 + 3 * 6

        runs.judge(engine, run.id, judge_provider_id=subject.id, judge_model="another", actor=engines.ADMIN)
        assert refusals(engines.until_over(engine, run.id)) == [], "that is not said of another judge"
