"""Pages against a real engine: a scratch database, the built-in demo model at no latency, a real session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from engine.assembly import Engine
from engine.domain.accounts import Role
from engine.domain.runs import Run, RunSpec
from engine.services import accounts, runs
from tests.support import engines

ENTRY = Path(session.__file__).with_name("app.py")
PATIENCE_S = 60

App = Callable[..., AppTest]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Run]]:
    """An engine whose demo run is over; for tests that only look."""
    with engines.opened(tmp_path_factory.mktemp("finished")) as engine:
        run = runs.start(engine, RunSpec(profile="smoke", auto_judge=True), actor=engines.ADMIN)
        yield engine, engines.until_over(engine, run.id)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine with nothing in it but the first account and the demo provider."""
    with engines.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """Opens the dashboard as somebody who has signed in, in the language asked for.

    AppTest has no handshake, so what a browser would have sent with it is set here.
    """
    monkeypatch.setattr(session, "cookie", lambda: None)
    monkeypatch.setattr(session, "client", lambda: "127.0.0.1")

    def open_app(
        engine: Engine, *, language: str = "en", at: str = "", signed_in: bool = True, **query: str
    ) -> AppTest:
        session.attach(engine)
        test = AppTest.from_file(str(ENTRY), default_timeout=PATIENCE_S)
        test.context = {"locale": "zh-CN" if language == "zh" else "en-US", "timezone": "Asia/Shanghai"}
        if signed_in:
            test.session_state[session.SIGNED_IN] = accounts.open_session(
                engine, "gly", "maxta2026", client="127.0.0.1"
            )
        if at:
            test.run()
            test.switch_page(f"../pages/{at}.py")
        for name, value in query.items():
            test.query_params[name] = value
        test.run()
        assert not test.exception, [each.value for each in test.exception]
        return test

    yield open_app
    session.detach()


@pytest.fixture
def as_role() -> Iterator[Callable[[AppTest, Role], None]]:
    """Turns the person of an opened dashboard into one with another role, for this process only."""

    def change(test: AppTest, role: Role) -> None:
        held = test.session_state[session.SIGNED_IN]
        test.session_state[session.SIGNED_IN] = held.model_copy(
            update={"user": held.user.model_copy(update={"role": role})}
        )

    yield change
