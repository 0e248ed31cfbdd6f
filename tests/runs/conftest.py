"""A local server that does as it is told, and engines over a bank of plain cases."""

from __future__ import annotations

import pytest

from tests.support import engines
from tests.support.scripted_server import ScriptedServer


@pytest.fixture
def server():
    with ScriptedServer(capable=True) as running:
        yield running


@pytest.fixture
def installation(tmp_path):
    """Opens an engine over a bank of so many plain cases, again and again over the same database."""

    def opened(cases=20, **changes):
        bank = engines.write_bank(
            tmp_path / "bank", [engines.case(n) for n in range(cases)] if isinstance(cases, int) else cases
        )
        return engines.opened(tmp_path, bank_file=bank, **changes)

    return opened
