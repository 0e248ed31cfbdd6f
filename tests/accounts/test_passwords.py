"""How passwords are kept and checked (RELIABILITY E1, E2, E4)."""

from __future__ import annotations

import base64
import threading
import unicodedata

import pytest

from engine.accounts import passwords
from engine.accounts.passwords import Passwords, check_length, check_strength
from engine.errors import InputError, TooManyAttempts

FAST = 1000


@pytest.fixture(scope="module")
def quick() -> Passwords:
    return Passwords(rounds=FAST)


def test_a_record_names_its_algorithm_rounds_and_a_salt_of_its_own() -> None:
    hasher = Passwords()
    records = [hasher.hash("correct horse battery") for _ in range(2)]
    salts = set()
    for record in records:
        algorithm, rounds, salt, digest = record.split("$")
        assert algorithm == "pbkdf2_sha256"
        assert int(rounds) >= 600_000
        assert len(base64.b64decode(salt)) >= 16
        assert len(base64.b64decode(digest)) == 32
        salts.add(salt)
    assert len(salts) == 2
    assert hasher.verify("correct horse battery", records[0])
    assert not hasher.is_outdated(records[0])


def test_the_right_password_and_only_it_is_accepted(quick: Passwords) -> None:
    record = quick.hash("correct horse battery")
    assert quick.verify("correct horse battery", record)
    for wrong in ("correct horse batter", "correct horse battery ", "Correct horse battery", ""):
        assert not quick.verify(wrong, record)


def test_a_user_that_does_not_exist_is_checked_at_full_cost_and_never_right(quick: Passwords, monkeypatch) -> None:
    spent: list[int] = []
    derive = passwords._derive

    def counting(encoded: bytes, *, salt: bytes, rounds: int, length: int) -> bytes:
        spent.append(rounds)
        return derive(encoded, salt=salt, rounds=rounds, length=length)

    record = quick.hash("correct horse battery")
    monkeypatch.setattr(passwords, "_derive", counting)
    assert not quick.verify("wrong", record)
    assert not quick.verify("wrong", None)
    assert spent == [FAST, FAST]


def test_a_record_made_with_fewer_rounds_or_a_short_salt_is_outdated(quick: Passwords) -> None:
    weaker = Passwords(rounds=FAST // 2).hash("correct horse battery")
    assert quick.verify("correct horse battery", weaker)
    assert quick.is_outdated(weaker)
    algorithm, rounds, _, digest = quick.hash("x").split("$")
    assert quick.is_outdated("$".join((algorithm, rounds, base64.b64encode(b"short").decode(), digest)))
    assert not Passwords(rounds=FAST // 2).is_outdated(quick.hash("x"))


@pytest.mark.parametrize("record", ["", "md5$1$AAAA$AAAA", "pbkdf2_sha256$many$AAAA$AAAA", "pbkdf2_sha256$1$!$AAAA"])
def test_an_unreadable_record_is_said_and_lets_nobody_in(quick: Passwords, record: str) -> None:
    with pytest.raises(InputError) as caught:
        quick.verify("anything", record)
    assert caught.value.code == "bad_record"


@pytest.mark.parametrize(
    "password",
    ["x" * 64, "x" * 1024, "密码很安全吗🙂🙂", "trailing space ", "\ud800 lone surrogate", "nul\x00inside"],
)
def test_long_unicode_and_odd_passwords_work_and_nothing_is_cut_off(quick: Passwords, password: str) -> None:
    record = quick.hash(password)
    assert quick.verify(password, record)
    assert not quick.verify(password[:-1], record)
    assert not quick.verify("!" + password[1:], record)


def test_the_same_letters_typed_on_another_keyboard_are_the_same_password(quick: Passwords) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Élégance-2026") for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert quick.verify(decomposed, quick.hash(composed))


@pytest.mark.parametrize("password", ["x" * 1025, "密" * 342, "x" * 1_000_000])
def test_a_password_over_the_cap_is_refused_before_any_hashing(quick: Passwords, monkeypatch, password: str) -> None:
    record = quick.hash("x")
    monkeypatch.setattr(passwords, "_derive", lambda *_a, **_k: pytest.fail("hashed"))
    for refuse in (check_length, quick.hash, lambda it: quick.verify(it, record)):
        with pytest.raises(InputError) as caught:
            refuse(password)
        assert caught.value.code == "password_too_long"


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short-1", "at least 10 characters"),
        ("Alexandra.K", "user name"),
        (" alexandra.k", "user name"),
        ("MaxTa2026 ", "default password"),
        ("abababababab", "different characters"),
    ],
)
def test_weak_passwords_are_refused_with_the_reason(password: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        check_strength(password, username="alexandra.k")
    assert caught.value.code == "weak_password"
    assert why in caught.value.message
    assert caught.value.fields


def test_a_good_password_is_taken() -> None:
    check_strength("correct horse battery", username="gly")


def test_verifications_take_turns_and_a_crowd_is_sent_away_instead_of_holding_every_thread() -> None:
    hasher = Passwords(rounds=FAST)
    entered, leave = threading.Event(), threading.Event()
    inside: list[int] = []
    most: list[int] = []

    def visit() -> None:
        with hasher.turn():
            inside.append(1)
            most.append(len(inside))
            entered.set()
            leave.wait(20)
            inside.pop()

    crowd = [threading.Thread(target=visit) for _ in range(passwords.WAITING_AT_MOST)]
    crowd[0].start()
    assert entered.wait(20)
    for thread in crowd[1:]:
        thread.start()
    refused: TooManyAttempts | None = None
    while refused is None:  # until all 32 have their places
        try:
            hasher._places.acquire(blocking=False) and hasher._places.release()
            if hasher._places._value == 0:
                with hasher.turn():
                    pytest.fail("there was no place left")
        except TooManyAttempts as error:
            refused = error
    assert refused.retry_after_s > 0
    leave.set()
    for thread in crowd:
        thread.join(20)
    assert max(most) == 1
    with hasher.turn():
        pass
