from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from engine.assembly import Engine
from engine.domain.accounts import User
from engine.services import accounts
from tests.dashboard.conftest import App
from tests.support import engines

PAGES = ("overview", "runs", "results", "review", "providers", "account")


def submit(test: AppTest, username: str, password: str) -> AppTest:
    test.text_input[0].input(username)
    test.text_input[1].input(password)
    return test.button[0].click().run()


def signed_in(test: AppTest) -> bool:
    return any(button.key == "session.sign_out" for button in test.sidebar.button)


def test_nobody_sees_anything_before_signing_in(engine: Engine, app: App) -> None:
    test = app(engine, signed_in=False)
    assert [each.label for each in test.text_input] == ["User name", "Password"]
    assert not test.title
    assert not test.dataframe


@pytest.mark.parametrize("page", PAGES)
def test_a_deep_link_survives_signing_in(engine: Engine, app: App, page: str) -> None:
    test = app(engine, signed_in=False, at=page)
    assert not test.title
    test = submit(test, "gly", "maxta2026")
    assert not test.exception
    assert test.title[0].value == page.capitalize()


def test_signing_in_asks_the_api_for_the_cookie_in_a_hidden_frame(engine: Engine, app: App) -> None:
    test = submit(app(engine, signed_in=False), "gly", "maxta2026")
    assert signed_in(test)
    address, _until = test.session_state[session.FRAME]
    assert address.startswith("/api/v1/auth/browser?code=")
    value = accounts.redeem_code(engine, address.partition("=")[2])
    opened = accounts.by_cookie(engine, value)
    assert opened is not None
    assert opened.user.username == "gly"


def test_a_wrong_password_is_a_sentence_and_says_the_same_for_an_unknown_user(engine: Engine, app: App) -> None:
    test = submit(app(engine, signed_in=False), "gly", "wrong")
    assert test.error[0].value == "User name or password is wrong."
    test = submit(test, "nobody", "wrong")
    assert test.error[0].value == "User name or password is wrong."
    assert not signed_in(test)


def test_an_empty_form_says_what_is_missing(engine: Engine, app: App) -> None:
    test = app(engine, signed_in=False).button[0].click().run()
    assert test.error[0].value == "Enter the user name and the password."


def test_a_password_keeps_its_spaces(engine: Engine, app: App) -> None:
    assert not signed_in(submit(app(engine, signed_in=False), "gly", " maxta2026 "))


def test_too_many_attempts_say_when_to_come_back(engine: Engine, app: App) -> None:
    test = app(engine, signed_in=False)
    for _attempt in range(7):
        test = submit(test, "gly", "wrong")
    assert "Too many attempts. Try again in" in test.error[0].value


def test_a_password_too_long_to_hash_is_a_sentence(engine: Engine, app: App) -> None:
    test = submit(app(engine, signed_in=False), "gly", "x" * 5000)
    assert test.error
    assert not signed_in(test)


def test_signing_out_ends_the_session_at_the_server(engine: Engine, app: App) -> None:
    test = app(engine)
    held = test.session_state[session.SIGNED_IN]
    test = test.button(key="session.sign_out").click().run()
    assert not signed_in(test)
    assert accounts.by_session(engine, held.session_id) is None
    assert test.session_state[session.FRAME][0].startswith("/api/v1/auth/browser/end?code=")


def test_a_session_revoked_elsewhere_is_out_at_its_next_action(engine: Engine, app: App) -> None:
    test = app(engine)
    held = test.session_state[session.SIGNED_IN]
    accounts.logout(engine, held.session_id, actor=held.user)
    test.session_state[session.CHECKED_AT] = 0
    test.run()
    assert not signed_in(test)
    assert "Your session has ended" in test.info[0].value


def revoke(engine: Engine, test: AppTest) -> AppTest:
    held = test.session_state[session.SIGNED_IN]
    accounts.logout(engine, held.session_id, actor=held.user)
    test.session_state[session.CHECKED_AT] = 0
    return test.run()


def test_what_was_typed_is_there_again_when_the_same_person_signs_in_after_the_session_ended(
    engine: Engine, app: App
) -> None:
    test = app(engine, at="providers")
    test.button(key="providers.add").click().run()
    test.text_input(key="provider_form.name").input("half filled").run()
    test = revoke(engine, test)
    assert not any(each.key == "provider_form.name" for each in test.text_input)
    test = submit(test, "gly", "maxta2026")
    assert test.text_input(key="provider_form.name").value == "half filled"


def test_nobody_else_finds_what_was_typed(engine: Engine, app: App) -> None:
    test = app(engine, at="runs")
    test.text_input(key="run_form.note").input("mine alone").run()
    test = revoke(engine, test)
    test.session_state[session.ENDED] = 999
    test = submit(test, "gly", "maxta2026")
    assert test.text_input(key="run_form.note").value == ""


def test_signing_out_forgets_what_was_typed(engine: Engine, app: App) -> None:
    test = app(engine, at="runs")
    test.text_input(key="run_form.note").input("mine alone").run()
    test = test.button(key="session.sign_out").click().run()
    test = submit(test, "gly", "maxta2026")
    assert test.text_input(key="run_form.note").value == ""


def test_a_reload_with_the_cookie_stays_signed_in(engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = accounts.open_session(engine, "gly", "maxta2026", client="127.0.0.1")
    value = accounts.redeem_code(engine, str(opened.code))
    monkeypatch.setattr(session, "cookie", lambda: value)
    assert signed_in(app(engine, signed_in=False))


def test_a_forged_cookie_is_nobody(engine: Engine, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "cookie", lambda: "forged")
    assert not signed_in(app(engine, signed_in=False))


def test_whoever_is_signed_in_goes_from_the_sign_in_page_to_the_overview(engine: Engine, app: App) -> None:
    assert app(engine, at="sign_in").title[0].value == "Overview"


def test_the_default_password_is_warned_of_until_it_is_changed(engine: Engine, app: App) -> None:
    test = app(engine, at="account")
    assert any("default password is unchanged" in each.value for each in test.markdown)
    test.text_input(key="password.old").input("maxta2026")
    test.text_input(key="password.new").input("a better password 7")
    test.text_input(key="password.again").input("a better password 7")
    test = click(test, "Change the password")
    assert not signed_in(test)
    assert test.success[0].value == "The password was changed. Sign in with the new one."
    test = submit(test, "gly", "a better password 7")
    assert signed_in(test)
    assert not any("default password is unchanged" in each.value for each in test.markdown)


def click(test: AppTest, label: str) -> AppTest:
    return next(button for button in test.button if button.label == label).click().run()


def test_two_new_passwords_that_differ_change_nothing(engine: Engine, app: App) -> None:
    test = app(engine, at="account")
    test.text_input(key="password.old").input("maxta2026")
    test.text_input(key="password.new").input("one of them 12345")
    test.text_input(key="password.again").input("another one 12345")
    assert click(test, "Change the password").error[0].value == "The two new passwords differ."


def test_a_wrong_current_password_is_said_where_it_was_typed(engine: Engine, app: App) -> None:
    test = app(engine, at="account")
    test.text_input(key="password.old").input("not it")
    test.text_input(key="password.new").input("one of them 12345")
    test.text_input(key="password.again").input("one of them 12345")
    test = click(test, "Change the password")
    assert test.error[0].value.startswith("The current password is wrong.")
    assert signed_in(test)


def test_in_production_the_default_password_allows_nothing_but_its_change(tmp_path: Any, app: App) -> None:
    with engines.opened(tmp_path, app_env="production") as engine:
        test = app(engine)
        assert test.title[0].value == "Account"


def test_a_server_without_an_engine_says_who_has_it(tmp_path: Any, app: App) -> None:
    with engines.opened(tmp_path), engines.opened(tmp_path) as second:
        test = app(second)
        assert "The engine runs elsewhere" in test.sidebar.warning[0].value


def test_the_language_follows_the_browser_and_the_switch(engine: Engine, app: App) -> None:
    test = app(engine, language="zh")
    assert test.title[0].value == "总览"
    assert "lang" not in test.query_params
    test.segmented_control(key="lang").set_value("en")
    test.run()
    assert test.title[0].value == "Overview"
    assert test.query_params["lang"] == "en"
    test.segmented_control(key="lang").set_value("zh")
    test.run()
    assert "lang" not in test.query_params


def test_the_language_of_the_address_counts_on_a_first_visit(engine: Engine, app: App) -> None:
    assert app(engine, lang="zh").title[0].value == "总览"
    assert app(engine, lang="tlh").title[0].value == "Overview"


def test_without_a_server_the_dashboard_says_how_to_start_it() -> None:
    session.detach()
    with pytest.raises(RuntimeError, match="magistrate serve"):
        session.engine()


def test_a_name_is_no_markdown_in_the_sidebar(engine: Engine, app: App) -> None:
    test = app(engine)
    held = test.session_state[session.SIGNED_IN]
    named: User = held.user.model_copy(update={"display_name": "![x](http://outside.invalid/x.png)"})
    test.session_state[session.SIGNED_IN] = held.model_copy(update={"user": named})
    test.session_state[session.CHECKED_AT] = float("inf")
    test.run()
    assert "![x]" not in test.sidebar.caption[0].value
