from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.components import provider_form
from engine.assembly import Engine
from engine.domain.accounts import Role
from engine.domain.providers import CheckError, CheckReport, Provider, ProviderDraft, ProviderKind
from engine.providers import PROVIDERS, Preset
from engine.services import providers
from tests.dashboard.conftest import App
from tests.dashboard.hostile import CORPUS, OUTSIDE
from tests.dashboard.test_pages import AsRole, click, labels, texts
from tests.support import engines
from tests.support.certificates import Authority


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
    assert test.text_input(key=provider_form.KEY("base_url")).value == "http://127.0.0.1:11434"
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


# -- how an endpoint is reached -----------------------------------------------------------------------------------


def stored(engine: Engine, name: str) -> Provider:
    return next(each for each in providers.page(engine, actor=engines.ADMIN) if each.name == name)


def test_all_of_the_advanced_part_is_stored_shown_again_and_can_be_cleared(
    engine: Engine, app: App, tmp_path: Path
) -> None:
    authority = str(Authority(tmp_path).file)
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="m", ca_file=f" {authority} ")
    test.number_input(key=provider_form.KEY("connect_timeout")).set_value(2.5)
    test.toggle(key=provider_form.KEY("stream")).set_value(True)
    test.toggle(key=provider_form.KEY("use_proxy")).set_value(True)
    test.text_area(key=provider_form.KEY("headers")).set_value("X-Team: red: blue\n\n X-Other :1")
    test.text_area(key=provider_form.KEY("body")).set_value('{"seed": 7, "名": "值"}')
    click(test, provider_form.KEY("save"))
    made = stored(engine, "local")
    assert (made.connect_timeout_seconds, made.stream, made.use_proxy, made.ca_file) == (2.5, True, True, authority)
    assert made.extra_headers == {"X-Team": "red: blue", "X-Other": "1"}
    assert made.extra_body == {"seed": 7, "名": "值"}
    assert "streamed" in texts(test) and "through the proxy" in texts(test)

    click(test, f"provider_card.edit.{made.id}")
    assert test.text_area(key=provider_form.KEY("headers")).value == "X-Team: red: blue\nX-Other: 1"
    assert "值" in test.text_area(key=provider_form.KEY("body")).value
    assert test.text_input(key=provider_form.KEY("ca_file")).value == authority
    form(test, model="n")
    click(test, provider_form.KEY("save"))
    assert stored(engine, "local") == made.model_copy(update={"default_model": "n"})

    click(test, f"provider_card.edit.{made.id}")
    form(test, ca_file="")
    test.text_area(key=provider_form.KEY("headers")).set_value("")
    test.text_area(key=provider_form.KEY("body")).set_value("")
    test.toggle(key=provider_form.KEY("stream")).set_value(False)
    click(test, provider_form.KEY("save"))
    cleared = stored(engine, "local")
    assert (cleared.ca_file, cleared.extra_headers, cleared.extra_body, cleared.stream) == (None, {}, {}, False)


def test_certificates_that_are_not_verified_are_warned_about_before_and_marked_after(engine: Engine, app: App) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="https://127.0.0.1:9/v1", model="m")
    assert not test.warning
    test.toggle(key=provider_form.KEY("verify_tls")).set_value(False).run()
    assert "audited" in test.warning[0].value
    click(test, provider_form.KEY("save"))
    assert stored(engine, "local").verify_tls is False
    assert "certificate not verified" in texts(test)


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("headers", "X-Team", "Extra headers: write one a line"),
        ("headers", ": red", "Extra headers: write one a line"),
        ("headers", "Host: elsewhere", "An extra header cannot be sent."),
        ("body", "{", "Extra body: write one JSON object."),
        ("body", "[1]", "Extra body: write one JSON object."),
        ("body", '{"messages": []}', "The extra body cannot be sent."),
        ("body", '{"top_p": NaN}', "The extra body cannot be sent."),
        ("ca_file", "/no/such/file.pem", "The CA file cannot be used."),
    ],
)
def test_what_cannot_be_sent_is_said_and_nothing_is_stored(
    engine: Engine, app: App, field: str, typed: str, said: str
) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    form(test, name="local", base_url="http://127.0.0.1:9/v1", model="m")
    area = test.text_input if field == "ca_file" else test.text_area
    area(key=provider_form.KEY(field)).set_value(typed)
    click(test, provider_form.KEY("save"))
    assert test.error[0].value.startswith(said)
    assert len(providers.page(engine, actor=engines.ADMIN)) == 1


@pytest.mark.parametrize("kind", list(PROVIDERS))
def test_every_kind_is_offered(engine: Engine, app: App, kind: str) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    test.segmented_control(key=provider_form.KEY("kind")).set_value(ProviderKind(kind)).run()
    form(test, name="local", model="m")
    if kind != ProviderKind.DEMO:
        form(test, base_url="http://127.0.0.1:9")
    click(test, provider_form.KEY("save"))
    assert stored(engine, "local").kind == kind


@pytest.mark.parametrize("preset", [preset for preset in providers.presets() if preset.base_url.islower()])
def test_every_preset_can_be_saved_as_it_is(engine: Engine, app: App, preset: Preset) -> None:
    test = click(app(engine, at="providers"), "providers.add")
    test.pills(key=provider_form.KEY("preset")).set_value(preset.title).run()
    form(test, model="m")
    click(test, provider_form.KEY("save"))
    assert stored(engine, preset.title).kind is preset.kind
