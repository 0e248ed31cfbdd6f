"""Users, sessions, codes, failed sign-ins, idempotency keys and the audit trail."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine

from engine.domain.accounts import Role
from engine.errors import ConflictError, NotFoundError
from engine.store import KeyStatus, LoginFailures
from engine.store.audit_store import START
from tests.store.samples import MOMENT, make_run

LATER = MOMENT + timedelta(hours=8)


@pytest.fixture
def admin(stores):
    return stores.users.create("gly", password_hash="pbkdf2$1", role=Role.ADMIN, must_change_password=True)


def open_session(stores, user, name="r0", **more):
    return stores.sessions.create(
        user.id, refresh_hash=name, access_expires=MOMENT + timedelta(hours=1), refresh_expires=LATER, **more
    )


def at_once(times, act):
    together = threading.Barrier(times)

    def one(number):
        together.wait()
        return act(number)

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(one, range(times)))


def test_a_user_is_found_by_name_and_id(stores, admin):
    assert (admin.display_name, admin.role, admin.is_active, admin.must_change_password) == (
        "gly",
        Role.ADMIN,
        True,
        True,
    )
    assert stores.users.by_name("gly") == stores.users.by_id(admin.id) == admin
    assert stores.users.by_name("nobody") is None
    assert stores.users.password_hash(admin.id) == "pbkdf2$1"
    for ask in (stores.users.by_id, stores.users.password_hash, stores.users.password_changed_at, stores.users.delete):
        with pytest.raises(NotFoundError) as missing:
            ask(99)
        assert missing.value.code == "user_not_found"


def test_a_name_belongs_to_one_user(stores, admin):
    with pytest.raises(ConflictError) as taken:
        stores.users.create("gly", password_hash="x", role=Role.VIEWER)
    assert taken.value.code == "username_taken"
    stores.users.create("ann", password_hash="x", role=Role.VIEWER, display_name="Ann")
    page = stores.users.page(limit=1, offset=0)
    assert ([user.display_name for user in page.items], page.total) == (["Ann"], 2)


def test_passwords_change_with_their_time_and_hashes_are_upgraded_without(stores, admin):
    with time_machine.travel(MOMENT, tick=False):
        stores.users.set_password(admin.id, "pbkdf2$2")
    stores.users.upgrade_hash(admin.id, "pbkdf2$3")
    assert stores.users.password_hash(admin.id) == "pbkdf2$3"
    assert stores.users.password_changed_at(admin.id) == MOMENT
    assert not stores.users.by_id(admin.id).must_change_password
    stores.users.set_password(admin.id, "pbkdf2$4", must_change=True)
    assert stores.users.by_id(admin.id).must_change_password


def test_the_last_active_admin_stays(stores, admin):
    for act in (
        lambda: stores.users.set_role(admin.id, Role.LEAD),
        lambda: stores.users.set_active(admin.id, False),
        lambda: stores.users.change(admin.id, role=Role.VIEWER, is_active=True),
        lambda: stores.users.delete(admin.id),
    ):
        with pytest.raises(ConflictError) as last:
            act()
        assert last.value.code == "last_admin"
    assert stores.users.by_id(admin.id) == admin
    second = stores.users.create("ann", password_hash="x", role=Role.ADMIN)
    assert stores.users.change(admin.id, role=Role.VIEWER, display_name="G").display_name == "G"
    assert stores.users.set_display_name(admin.id, "Gly").role is Role.VIEWER
    assert stores.users.change(admin.id) == stores.users.by_id(admin.id)
    stores.users.delete(admin.id)
    assert [user.id for user in stores.users.page(limit=5, offset=0).items] == [second.id]


def test_a_session_is_found_by_id_cookie_and_any_token_it_ever_had(stores, admin):
    session = open_session(stores, admin, cookie_hash="c0")
    assert stores.sessions.get(session.id) == session
    assert stores.sessions.by_cookie_hash("c0") == stores.sessions.by_refresh_hash("r0") == session
    assert stores.sessions.by_cookie_hash("c1") is None
    assert stores.sessions.by_refresh_hash("r1") is None
    for number in (1, 2):
        assert rotate(stores, session, number)
    newest = stores.sessions.get(session.id)
    assert (newest.refresh_hash, newest.previous_refresh_hash, newest.generation) == ("r2", "r1", 2)
    assert (newest.replay_key, newest.replay_ciphertext, newest.replay_until) == ("key 2", b"answer 2", LATER)
    for token in ("r0", "r1", "r2"):
        assert stores.sessions.by_refresh_hash(token) == newest
    with pytest.raises(NotFoundError):
        stores.sessions.get(99)
    with pytest.raises(NotFoundError) as nobody:
        stores.sessions.create(99, refresh_hash="x", access_expires=MOMENT, refresh_expires=LATER)
    assert nobody.value.code == "user_not_found"
    assert "answer 2" not in repr(newest)


def rotate(stores, session, number, *, new=None):
    return stores.sessions.rotate(
        session.id,
        expected_current_hash=f"r{number - 1}",
        new_hash=new or f"r{number}",
        replay_key=f"key {number}",
        replay_ciphertext=f"answer {number}".encode(),
        replay_until=LATER,
        access_expires=MOMENT,
        refresh_expires=LATER,
    )


def test_of_simultaneous_rotations_one_wins(stores, admin):
    session = open_session(stores, admin)
    won = at_once(10, lambda number: rotate(stores, session, 1, new=f"new {number}"))
    assert won.count(True) == 1
    assert stores.sessions.get(session.id).generation == 1
    assert stores.sessions.get(session.id).refresh_hash == f"new {won.index(True)}"


def test_a_revoked_session_neither_rotates_nor_slides_and_keeps_no_replay(stores, admin):
    session = open_session(stores, admin)
    assert stores.sessions.slide(session.id, LATER + timedelta(hours=1))
    assert stores.sessions.get(session.id).refresh_expires == LATER + timedelta(hours=1)
    assert stores.sessions.set_cookie(session.id, "c9")
    assert rotate(stores, session, 1)
    assert stores.sessions.revoke(session.id, reason="refresh_reused")
    assert not stores.sessions.revoke(session.id)
    assert not rotate(stores, session, 2)
    assert not stores.sessions.slide(session.id, LATER)
    ended = stores.sessions.get(session.id)
    assert ended.revoked_at is not None
    assert (ended.revoke_reason, ended.replay_key, ended.replay_ciphertext) == ("refresh_reused", None, None)


def test_all_sessions_of_a_user_end_but_one(stores, admin):
    other = stores.users.create("ann", password_hash="x", role=Role.VIEWER)
    mine = [open_session(stores, admin, f"mine {number}").id for number in range(3)]
    theirs = open_session(stores, other, "theirs").id
    assert stores.sessions.revoke_all(admin.id, except_id=mine[1]) == [mine[0], mine[2]]
    assert stores.sessions.revoke_all(admin.id, reason="password_changed") == [mine[1]]
    assert stores.sessions.revoke_all(admin.id) == []
    assert stores.sessions.get(theirs).revoked_at is None
    stores.users.delete(other.id)
    with pytest.raises(NotFoundError):
        stores.sessions.get(theirs)
    assert stores.sessions.by_refresh_hash("theirs") is None


def test_expired_sessions_are_forgotten(stores, admin):
    session = open_session(stores, admin)
    assert stores.sessions.remove_expired(LATER) == 0
    assert stores.sessions.remove_expired(LATER + timedelta(seconds=1)) == 1
    with pytest.raises(NotFoundError):
        stores.sessions.get(session.id)


def test_a_one_time_code_is_taken_once_and_in_time(stores, admin):
    session = open_session(stores, admin)
    for name in ("good", "late", "raced"):
        stores.sessions.put_code(name, session.id, LATER)
    assert stores.sessions.take_code("good", MOMENT) == session
    assert stores.sessions.take_code("good", MOMENT) is None
    taken = at_once(8, lambda _: stores.sessions.take_code("raced", MOMENT))
    assert [item for item in taken if item is not None] == [session]
    assert stores.sessions.take_code("late", LATER) is None
    assert stores.sessions.take_code("unheard of", MOMENT) is None


def test_failed_sign_ins_are_counted_by_account(stores):
    assert stores.sessions.failures("gly") == LoginFailures(count=0, last_at=None)
    at_once(8, lambda _: stores.sessions.add_failure("gly"))
    assert stores.sessions.add_failure("gly", MOMENT) == LoginFailures(count=9, last_at=MOMENT)
    assert stores.sessions.failures("ann").count == 0
    assert stores.sessions.remove_failures(MOMENT) == 0
    stores.sessions.clear_failures("gly")
    assert stores.sessions.failures("gly").count == 0
    stores.sessions.add_failure("ann", MOMENT)
    assert stores.sessions.remove_failures(LATER) == 1


def test_an_idempotency_key_is_claimed_once_and_answers_again(stores):
    begin = stores.idempotency.begin
    states = [state.status for state in at_once(8, lambda _: begin(1, "reviews", "k", "body"))]
    assert (states.count(KeyStatus.NEW), states.count(KeyStatus.IN_PROGRESS)) == (1, 7)
    assert begin(1, "reviews", "k", "other body").status is KeyStatus.CONFLICT
    assert begin(2, "reviews", "k", "other body").status is KeyStatus.NEW
    assert begin(1, "providers", "k", "other body").status is KeyStatus.NEW
    run, _ = make_run(stores)
    stores.idempotency.finish(1, "reviews", "k", response='{"id": 1}', run_id=run.id)
    done = begin(1, "reviews", "k", "body")
    assert (done.status, done.response, done.run_id) == (KeyStatus.DONE, '{"id": 1}', run.id)
    stores.idempotency.abandon(1, "reviews", "k")
    assert begin(1, "reviews", "k", "body") == done


def test_an_abandoned_key_is_free_at_once_and_a_forgotten_one_after_a_while(stores):
    begin = stores.idempotency.begin
    with time_machine.travel(MOMENT, tick=False):
        begin(1, "reviews", "k", "body")
        stores.idempotency.abandon(1, "reviews", "k")
        assert begin(1, "reviews", "k", "corrected body").status is KeyStatus.NEW
    with time_machine.travel(MOMENT + timedelta(minutes=3), tick=False):
        assert begin(1, "reviews", "k", "corrected body").status is KeyStatus.NEW
        stores.idempotency.finish(1, "reviews", "k", response="{}")
    with time_machine.travel(MOMENT + timedelta(hours=24, minutes=3), tick=False):
        assert begin(1, "reviews", "k", "yet another body").status is KeyStatus.NEW


def fill_audit(stores, rows=5):
    return [
        stores.audit.append(
            actor="gly",
            action="run.start",
            object=f"run {number}",
            request_id=None if number % 2 else "r-1",
            detail={"路径": "a|b", "n": number},
        )
        for number in range(rows)
    ]


def test_the_audit_trail_is_a_chain(stores):
    rows = fill_audit(stores)
    assert rows[0].prev_hash == START
    assert [row.prev_hash for row in rows[1:]] == [row.hash for row in rows[:-1]]
    page = stores.audit.page(limit=2, offset=1)
    assert (list(page.items), page.total) == ([rows[3], rows[2]], 5)
    assert stores.audit.verify() is None


def test_simultaneous_audit_rows_keep_the_chain(stores):
    at_once(16, lambda number: stores.audit.append(actor="t", action="a", object=str(number)))
    assert stores.audit.page(limit=1, offset=0).total == 16
    assert stores.audit.verify() is None


@pytest.mark.parametrize(
    "column", ["actor", "action", "object", "outcome", "detail", "at", "prev_hash", "hash", "request_id"]
)
def test_a_changed_audit_row_is_named(stores, database, column):
    fill_audit(stores)
    with database.writing() as connection:
        value = "2001-01-01 00:00:00.000000" if column == "at" else "forged"
        connection.exec_driver_sql(f"UPDATE audit SET {column} = ? WHERE id = 3", (value,))
    assert stores.audit.verify() == 3


@pytest.mark.parametrize("row", [1, 3, 5])
def test_a_deleted_audit_row_is_named(stores, database, row):
    fill_audit(stores)
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM audit WHERE id = ?", (row,))
    assert stores.audit.verify() == row


def test_an_empty_audit_trail_is_whole_and_an_emptied_one_is_not(stores, database):
    assert stores.audit.verify() is None
    fill_audit(stores)
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM audit")
    assert stores.audit.verify() == 1
