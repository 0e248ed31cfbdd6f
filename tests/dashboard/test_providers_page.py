from __future__ import annotations

import re

import pytest
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.components import provider_form
from engine.assembly import Engine
from engine.domain.accounts import Role
from engine.domain.providers import CheckError, CheckReport, ProviderDraft, ProviderKind
from engine.services import providers
from tests.dashboard.conftest import App
from tests.dashboard.hostile import CORPUS, OUTSIDE
from tests.dashboard.test_pages import AsRole, click, labels, texts
from tests.support import engines


def form(test: AppTest, **values: object) -> AppTest:
    for name, value in values.items():
        test.text_input(key=provider_form.KEY(name)).input(value)
    return test


def dismiss(test: AppTest) -> None:
    """The page without the dialog, as Escape leaves it."""
    del test.session_state[session.PROVIDER_DIALOG]
    test.run()


def test_the_demo_provider_checks_out_in_words(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "provider_card.check.1")
    assert "answers" in test.success[0].value
    assert "simulated" in texts(test)


def test_a_provider_is_added_with_its_key_and_the_key_is_never_shown(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="some-model", api_key="sk-very-secret-key-1234")
    click(test, provider_form.KEY("save"))
    stored = next(each for each in providers.page(engine, actor=engines.ADMIN) if each.name == "local")
    assert stored.api_key_set
    assert stored.base_url == "http://127.0.0.1:9/v1"
    assert "sk-very-secret" not in texts(test)
    assert "1234" in texts(test)


def test_a_check_before_saving_says_what_is_wrong_and_keeps_the_form(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="some-model")
    click(test, provider_form.KEY("check"))
    assert test.error[0].value.startswith("**The address cannot be reached.** Check the address and the port")
    assert test.text_input(key=provider_form.KEY("name")).value == "local"
    assert len(providers.page(engine, actor=engines.ADMIN)) == 1


def test_a_preset_fills_in_the_address(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    test.pills(key=provider_form.KEY("preset")).set_value("Ollama").run()
    assert test.text_input(key=provider_form.KEY("base_url")).value == provider_form.PRESETS["Ollama"][0]
    assert test.text_input(key=provider_form.KEY("name")).value == "Ollama"


def test_a_form_that_lacks_something_names_it(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    click(test, provider_form.KEY("save"))
    assert test.error[0].value == "Fill in: Name, Default model"
    click(test, provider_form.KEY("check"))
    assert test.error[0].value == "Fill in: Name, Default model"


def test_an_address_that_cannot_be_used_and_a_taken_name_are_sentences(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="x", base_url="file:///etc/passwd", model="m")
    click(test, provider_form.KEY("save"))
    assert test.error[0].value.startswith("The address cannot be used.")
    assert len(test.error[0].value.split("  \n")) == 2
    form(test, name="demo", base_url="http://127.0.0.1:9/v1", model="m")
    click(test, provider_form.KEY("save"))
    assert test.error[0].value.startswith("This name is taken.")


def test_editing_keeps_the_stored_key_unless_a_new_one_is_typed(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="one", api_key="sk-very-secret-key-1234")
    click(test, provider_form.KEY("save"))
    number = next(each.id for each in providers.page(engine, actor=engines.ADMIN) if each.name == "local")
    click(test, f"provider_card.check.{number}")
    click(test, f"provider_card.edit.{number}")
    assert "1234" in test.text_input(key=provider_form.KEY("api_key")).placeholder
    form(test, model="two")
    test.number_input(key=provider_form.KEY("rpm")).set_value(30)
    click(test, provider_form.KEY("save"))
    stored = next(each for each in providers.page(engine, actor=engines.ADMIN) if each.id == number)
    assert (stored.default_model, stored.requests_per_minute, stored.api_key_set) == ("two", 30, True)
    assert "30 a minute" in texts(test)


def test_a_report_is_gone_as_soon_as_what_was_checked_is_another(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="some-model", api_key="one")
    click(test, provider_form.KEY("check"))
    assert len(test.error) == 1
    form(test, name="renamed").run()
    assert len(test.error) == 1
    form(test, api_key="another").run()
    assert not test.error


def test_a_form_closed_unsaved_is_there_again_and_can_be_discarded(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="half", model="typed", api_key="sk-not-to-be-kept")
    test.toggle(key=provider_form.KEY("is_default")).set_value(True).run()
    dismiss(test)
    click(test, "provider_card.edit.1")
    assert test.text_input(key=provider_form.KEY("name")).value == "demo"
    assert provider_form.KEY("discard") not in [each.key for each in test.button]
    dismiss(test)
    click(test, "providers.add")
    assert test.text_input(key=provider_form.KEY("name")).value == "half"
    assert test.toggle(key=provider_form.KEY("is_default")).value is True
    assert test.text_input(key=provider_form.KEY("api_key")).value == ""
    click(test, provider_form.KEY("discard"))
    assert test.text_input(key=provider_form.KEY("name")).value == ""
    dismiss(test)
    click(test, "providers.add")
    assert test.text_input(key=provider_form.KEY("name")).value == ""
    assert provider_form.KEY("discard") not in [each.key for each in test.button]


def test_a_saved_form_starts_empty_the_next_time(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="some-model")
    click(test, provider_form.KEY("save"))
    click(test, "providers.add")
    assert test.text_input(key=provider_form.KEY("name")).value == ""


def test_deleting_asks_first_and_names_the_provider(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "provider_card.delete.1")
    assert "demo" in texts(test)
    assert len(providers.page(engine, actor=engines.ADMIN)) == 1
    click(test, "provider_card.confirm")
    assert providers.page(engine, actor=engines.ADMIN) == []


def test_a_demo_provider_can_be_added_again(engine: Engine, app: App) -> None:
    engine.stores.providers.delete(1)
    test = click(app(engine, at="providers"), "providers.add")
    test.segmented_control(key=provider_form.KEY("kind")).set_value(ProviderKind.DEMO)
    test.run()
    form(test, name="demo again", model="demo-model")
    test.toggle(key=provider_form.KEY("is_default")).set_value(True)
    test.toggle(key=provider_form.KEY("is_default_judge")).set_value(True)
    click(test, provider_form.KEY("save"))
    stored = providers.page(engine, actor=engines.ADMIN)[0]
    assert (stored.kind, stored.is_default, stored.is_default_judge) == (ProviderKind.DEMO, True, True)


@pytest.mark.parametrize(
    ("role", "allowed"), [(Role.VIEWER, set()), (Role.REVIEWER, {"Check"}), (Role.ADMIN, {"Check", "Edit", "Delete"})]
)
def test_a_role_sees_the_buttons_it_may_press(
    engine: Engine, app: App, as_role: AsRole, role: Role, allowed: set[str]
) -> None:
    test = app(engine, at="providers")
    as_role(test, role)
    test.session_state["session.checked_at"] = float("inf")
    test.run()
    assert {"Check", "Edit", "Delete"} & set(labels(test)) == allowed


def test_hostile_names_stay_text_on_every_page(engine: Engine, app: App) -> None:
    for number, text in enumerate(CORPUS[:12]):
        draft = ProviderDraft(
            name=f"{text[:60]} {number}",
            kind=ProviderKind.OPENAI,
            base_url="http://127.0.0.1:9/v1",
            api_key=SecretStr("k" * 20),
            default_model=text[:100],
        )
        providers.create(engine, draft, actor=engines.ADMIN)
    for page in ("providers", "runs"):
        drawn = texts(app(engine, at=page))
        for live in (r"!\[image", r"(?<!\\)\[link", r"(?<!\\)<img", r"(?<!\\)<script", re.escape(f"]({OUTSIDE}")):
            assert not re.search(live, drawn), (page, live)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (CheckReport(ok=True, latency_ms=None, model="m"), "m answers"),
        (CheckReport(ok=False, latency_ms=None, model="m"), "gave no reason"),
        (
            CheckReport(
                ok=False, latency_ms=3, model="m", error=CheckError(code="auth", message="401", hint="look at the key")
            ),
            "The key is refused.",
        ),
        (
            CheckReport(ok=False, latency_ms=3, model="m", error=CheckError(code="novel", message="odd", hint="")),
            "odd",
        ),
    ],
)
def test_every_outcome_of_a_check_is_a_sentence(
    engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch, found: CheckReport, said: str
) -> None:
    monkeypatch.setattr(providers, "check", lambda *_args, **_more: found)
    test = click(app(engine, at="providers"), "provider_card.check.1")
    drawn = " ".join(each.value for each in [*test.success, *test.error]).replace("\\", "")
    assert said in drawn
