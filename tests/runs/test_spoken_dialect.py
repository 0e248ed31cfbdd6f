"""A run speaks to its endpoint as probing found that it wants to be spoken to, whatever the kind."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.runs import RunSpec
from engine.services import runs
from tests.support import engines
from tests.support.dialects import FACES, Face, FacedServer
from tests.support.scripted_server import Step, texts


class NoTemperatureNoSystem(FacedServer):
    """Refuses `temperature` and system text by name, one at a time."""

    def __init__(self, face: Face) -> None:
        super().__init__(face, capable=True)

    def received(self, request: Any) -> Step:
        usual = super().received(request)
        sent = request.json if request.method == "POST" else {}
        if "temperature" in {**sent, **sent.get("options", {})}:
            return self._refusal("temperature")
        if sent and any(role == "system" for role, _text in texts(self.face.request(sent))):
            return self._refusal("system")
        return usual

    def _refusal(self, name: str) -> Step:
        words = f"Unsupported: '{name}' is not supported with this model."
        return Step(status=400, body=self.face.error(words, code="unsupported_parameter", param=name))


@pytest.mark.parametrize("kind", sorted(FACES))
def test_c15_a_run_sends_what_is_accepted_and_says_what_it_left_out(kind, tmp_path):
    """C15."""
    face = FACES[kind]
    cases = [engines.case(1), engines.case(2, system="Be brief.")]
    bank = engines.write_bank(tmp_path / "bank", cases)
    extra = {"options": {"temperature": 0.3}} if kind == "ollama" else {"temperature": 0.3}
    with NoTemperatureNoSystem(face) as server, engines.opened(tmp_path, bank_file=bank) as engine:
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
