"""What went wrong, in the reader's language: every code the engine uses, and every reason a run gives."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import faults
from engine import assembly
from engine.providers import faults as provider_faults

ENGINE = Path(assembly.__file__).parent
WHERE = "http://model.example/v1"
NO_SECRETS = provider_faults.Secrets()


def drawn(locale: str) -> AppTest:
    def script() -> None:
        from dashboard.components import fault

        fault.draw("auth", "![x](http://outside.invalid) 401", hint="Check the key.")
        fault.draw("not_found", "no model 'm'", hint="It offers: a, *b*.")
        fault.draw("novel", "odd", hint="Look at it.")
        fault.draw_run("http://model.example/v1 refuses the key (401): it cannot be reached.")
        fault.draw_run("the server was stopped; resume to go on")
        fault.draw_run("something *else*")
        fault.draw_item("timeout", "http://model.example/v1 gave no whole answer within 5 s", count="3")
        fault.draw_item("novel", "odd")

    test = AppTest.from_function(script, default_timeout=30)
    test.context = {"locale": locale}
    test.run()
    assert not test.exception
    return test


def test_the_meaning_and_the_way_out_come_first_and_the_technical_message_after_them() -> None:
    said = [each.value for each in drawn("en").error]
    assert said[0].startswith("**The key is refused.** Check the key, and whether it may use this model.  \n:small[")
    assert "![x](" not in said[0]
    assert "It offers: a, \\*b\\*" in said[1]
    assert said[2].startswith("**novel**  \nLook at it\\.  \n:small[odd]")
    assert said[3].startswith("**The key is refused.**")
    assert said[4] == "The server was stopped; resume to go on\\."
    assert said[5] == "something \\*else\\*"


def test_in_chinese_nothing_but_the_detail_is_english() -> None:
    test = drawn("zh-CN")
    firsts = [each.value.split(":small[")[0] for each in test.error]
    for first in (firsts[0], firsts[3], firsts[4]):
        assert not re.search(r"[A-Za-z]{3}", first), first
    assert test.markdown[0].value.startswith("3 × **")
    assert not re.search(r"[A-Za-z]{3}", test.markdown[0].value)


def used_codes() -> set[str]:
    """Error codes of provider errors and of broken items, as the engine's source writes them."""
    found = set()
    for path in [*(ENGINE / "providers").glob("*.py"), *(ENGINE / "runs").glob("*.py")]:
        source = path.read_text(encoding="utf-8")
        for call in re.findall(r"(?:ProviderError|ExecutionError)\(.*?\n? *code=\"(\w+)\"", source, flags=re.DOTALL):
            found.add(call)
        found.update(re.findall(r"named\(\s*\"(\w+)\"", source))
        found.update(re.findall(r"_broken\(\w+, \"(\w+)\"", source))
    return found


def test_every_code_of_a_failed_call_has_words() -> None:
    codes = used_codes()
    assert {"auth", "timeout", "tls", "internal_error", "bad_request"} <= codes
    assert {code for code in codes if faults.of(code) is None} == set()


STATUSES = (302, 400, 401, 403, 404, 408, 429, 500, 503)
ERRORS = [
    *(provider_faults.from_status(status, {}, b"", where=WHERE, secrets=NO_SECRETS) for status in STATUSES),
    provider_faults.timed_out(5, where=WHERE),
    provider_faults.too_large(9_000_000, where=WHERE),
    provider_faults.malformed("no choices", where=WHERE),
    provider_faults.from_exception(ssl.SSLCertVerificationError("self-signed"), where=WHERE),
    provider_faults.from_exception(ssl.SSLError("wrong version"), where=WHERE),
    provider_faults.from_exception(ConnectionResetError(), where=WHERE),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.message)
def test_the_reason_a_run_gives_is_recognised_by_its_message(error: provider_faults.ProviderError) -> None:
    assert faults.told(f"{error.message}. {error.hint}") == faults.of(error.code)


def test_what_the_provider_said_behind_our_words_changes_nothing() -> None:
    body = b'{"error": {"message": "your address cannot be reached and gave up waiting"}}'
    error = provider_faults.from_status(401, {}, body, where=WHERE, secrets=NO_SECRETS)
    assert faults.told(error.message) == faults.of("auth")


def test_an_error_that_is_no_providers_is_not_taken_for_one() -> None:
    assert faults.told("anything else") is None
