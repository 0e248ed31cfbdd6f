"""Endpoints: stored without their key in sight, checked in words, changed and deleted with care."""

from __future__ import annotations

import socket
import time

import pytest
from pydantic import SecretStr

from engine.domain.accounts import Role
from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import ResultFilter, RunSpec
from engine.errors import ConflictError, InputError, NotFoundError, PermissionDenied, ProviderError, TooManyAttempts
from engine.providers.checks import CONNECT_S
from engine.services import providers, reports, runs
from tests.support import engines
from tests.support.certificates import Authority
from tests.support.engines import ADMIN
from tests.support.scripted_server import ScriptedServer, Step

KEY = "sk-canary-4711-abcd"


@pytest.fixture
def engine(tmp_path):
    with engines.opened(tmp_path, run_worker=False) as opened:
        yield opened


@pytest.fixture
def server():
    with ScriptedServer(models=("scripted", "other")) as running:
        yield running


def draft(base_url, **changes):
    values = {"name": "mine", "kind": ProviderKind.OPENAI, "base_url": base_url, "default_model": "scripted"}
    return ProviderDraft(**(values | changes))


def test_a_key_is_encrypted_from_the_first_day_and_only_its_end_is_shown(engine, server, tmp_path):
    made = providers.create(engine, draft(server.base_url, api_key=SecretStr(KEY)), actor=ADMIN)
    assert (made.api_key_set, made.api_key_hint) == (True, "abcd")
    assert providers.check(engine, made.id, actor=ADMIN).ok
    assert server.chats[-1].headers["authorization"] == f"Bearer {KEY}"
    engine.database.close()
    assert not [file.name for file in tmp_path.iterdir() if file.is_file() and KEY.encode() in file.read_bytes()]


def test_a_change_keeps_what_it_does_not_name_and_an_empty_key_removes_the_key(engine, server):
    made = providers.create(engine, draft(server.base_url, api_key=SecretStr(KEY)), actor=ADMIN)
    renamed = providers.change(engine, made.id, ProviderChange(name="yours", max_concurrency=3), actor=ADMIN)
    assert (renamed.name, renamed.max_concurrency, renamed.api_key_set) == ("yours", 3, True)
    assert renamed.base_url == made.base_url
    bare = providers.change(engine, made.id, ProviderChange(api_key=SecretStr("")), actor=ADMIN)
    assert (bare.api_key_set, bare.api_key_hint) == (False, "")
    moved = providers.change(engine, made.id, ProviderChange(base_url="http://127.0.0.1:9"), actor=ADMIN)
    assert moved.base_url == "http://127.0.0.1:9/v1"
    with pytest.raises(InputError) as bad:
        providers.change(engine, made.id, ProviderChange(base_url="ftp://x"), actor=ADMIN)
    assert bad.value.code == "bad_base_url"


def test_names_are_taken_once_and_unknown_ones_are_answered_with_what_there_is(engine, server):
    providers.create(engine, draft(server.base_url), actor=ADMIN)
    with pytest.raises(ConflictError) as taken:
        providers.create(engine, draft(server.base_url), actor=ADMIN)
    assert taken.value.code == "name_taken"
    assert providers.by_name(engine, "mine", actor=ADMIN).default_model == "scripted"
    with pytest.raises(NotFoundError, match="known: demo, mine"):
        providers.by_name(engine, "nobody", actor=ADMIN)


def test_a_deleted_provider_is_gone(engine, server):
    made = providers.create(engine, draft(server.base_url), actor=ADMIN)
    providers.delete(engine, made.id, actor=ADMIN)
    with pytest.raises(NotFoundError):
        providers.check(engine, made.id, actor=ADMIN)
    assert [each.name for each in providers.page(engine, actor=ADMIN)] == ["demo"]


def test_models_come_from_the_endpoint_or_else_from_the_settings(engine, server):
    made = providers.create(engine, draft(server.base_url), actor=ADMIN)
    listed = providers.models(engine, made.id, actor=ADMIN)
    assert (listed.source, [item.id for item in listed.items]) == ("provider", ["scripted", "other"])
    server.models = ()
    assert providers.models(engine, made.id, actor=ADMIN).source == "declared"
    demo = providers.by_name(engine, "demo", actor=ADMIN)
    assert [item.id for item in providers.models(engine, demo.id, actor=ADMIN).items] == ["demo-model", "demo-judge"]


def test_models_of_an_endpoint_that_is_down_are_an_error_in_words(engine):
    with ScriptedServer() as gone:
        made = providers.create(engine, draft(gone.base_url), actor=ADMIN)
    with pytest.raises(ProviderError, match="cannot be reached"):
        providers.models(engine, made.id, actor=ADMIN)


class TestCheckingBeforeSaving:
    def test_the_stored_key_is_lent_to_the_same_address_only(self, engine, server):
        made = providers.create(engine, draft(server.base_url, api_key=SecretStr(KEY)), actor=ADMIN)
        typed = draft(server.base_url, name="mine")
        assert providers.check_draft(engine, typed, provider_id=made.id, actor=ADMIN).ok
        assert server.chats[-1].headers["authorization"] == f"Bearer {KEY}"
        with ScriptedServer() as elsewhere:
            with pytest.raises(InputError) as refused:
                providers.check_draft(engine, draft(elsewhere.base_url), provider_id=made.id, actor=ADMIN)
            assert refused.value.code == "key_required"
            assert elsewhere.requests == []
            anew = draft(elsewhere.base_url, api_key=SecretStr("sk-new-key-000"))
            assert providers.check_draft(engine, anew, provider_id=made.id, actor=ADMIN).ok

    def test_what_is_wrong_is_said_in_words_and_nothing_is_stored(self, engine, server):
        server.always(Step(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}))
        report = providers.check_draft(engine, draft(server.base_url, api_key=SecretStr(KEY)), actor=ADMIN)
        assert not report.ok and report.error.code == "auth"
        assert KEY not in report.model_dump_json()
        server.always(Step(status=404, body={"error": {"message": "no such model", "code": "model_not_found"}}))
        unknown = providers.check_draft(engine, draft(server.base_url, default_model="nope"), actor=ADMIN)
        assert unknown.error.code == "not_found" and "scripted" in unknown.error.hint + unknown.error.message
        server.always(Step(hang=True))
        slow = providers.check_draft(engine, draft(server.base_url, timeout_seconds=0.3), actor=ADMIN)
        assert slow.error.code == "timeout"
        assert [each.name for each in providers.page(engine, actor=ADMIN)] == ["demo"]

    def test_who_may_not_manage_may_not_check_a_draft(self, engine, server):
        for role in (Role.VIEWER, Role.REVIEWER):
            with pytest.raises(PermissionDenied):
                providers.check_draft(engine, draft(server.base_url), actor=engines.user(role))
        assert server.requests == []


def test_private_addresses_are_open_only_where_listed(tmp_path):
    with engines.opened(tmp_path, run_worker=False, provider_allowed_hosts="10.0.0.0/8, gpu.lan") as engine:
        assert engine.settings.allowed_hosts == ("10.0.0.0/8", "gpu.lan")
        made = providers.create(engine, draft("http://10.1.2.3:8000"), actor=ADMIN)
        assert made.base_url == "http://10.1.2.3:8000/v1"
        with pytest.raises(InputError) as refused:
            providers.create(engine, draft("http://192.168.1.1", name="other"), actor=ADMIN)
        assert refused.value.code == "bad_base_url"


# -- how an endpoint is reached -----------------------------------------------------------------------------------


def exported(engine, run_id):
    """The run as Markdown."""
    return b"".join(reports.export(engine, run_id, ResultFilter(), actor=ADMIN).chunks).decode()


def actions(engine):
    return [entry.action for entry in reversed(engine.stores.audit.page(limit=50, offset=0).items)]


def test_c18_who_stops_checking_certificates_is_found_in_the_audit_trail(engine, server):
    """C18."""
    made = providers.create(engine, draft(server.base_url), actor=ADMIN)
    providers.change(engine, made.id, ProviderChange(name="yours"), actor=ADMIN)
    assert not {providers.UNVERIFIED, providers.VERIFIED} & set(actions(engine))
    providers.change(engine, made.id, ProviderChange(verify_tls=False), actor=ADMIN)
    providers.change(engine, made.id, ProviderChange(verify_tls=False), actor=ADMIN)
    providers.change(engine, made.id, ProviderChange(verify_tls=True), actor=ADMIN)
    providers.create(engine, draft(server.base_url, name="other", verify_tls=False), actor=ADMIN)
    found = actions(engine)
    assert (found.count(providers.UNVERIFIED), found.count(providers.VERIFIED)) == (2, 1)
    lead = engines.user(Role.LEAD)
    with pytest.raises(PermissionDenied):
        providers.change(engine, made.id, ProviderChange(verify_tls=False), actor=lead)


def test_c18_a_ca_file_is_checked_when_it_is_saved_and_used_when_checking(engine, tmp_path):
    """C18."""
    authority = Authority(tmp_path)
    with ScriptedServer(tls=authority.server("127.0.0.1")) as secure:
        made = providers.create(engine, draft(secure.base_url, ca_file=f" {authority.file} "), actor=ADMIN)
        assert made.ca_file == str(authority.file)
        assert providers.check(engine, made.id, actor=ADMIN).ok
        assert providers.check_draft(engine, draft(secure.base_url, ca_file=made.ca_file), actor=ADMIN).ok
        assert providers.check_draft(engine, draft(secure.base_url, verify_tls=False), actor=ADMIN).ok
        without = providers.change(engine, made.id, ProviderChange(ca_file=""), actor=ADMIN)
        assert without.ca_file is None
        report = providers.check(engine, made.id, actor=ADMIN)
        assert not report.ok and report.error is not None and report.error.code == "tls"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ca_file": "/no/such/file.pem"}, "bad_ca_file"),
        ({"ca_file": "relative.pem"}, "bad_ca_file"),
        ({"extra_headers": {"Host": "elsewhere"}}, "bad_header"),
        ({"extra_body": {"messages": []}}, "bad_extra_body"),
        ({"api_key": SecretStr("two words")}, "bad_api_key"),
    ],
)
def test_what_a_run_would_stumble_over_is_refused_when_it_is_saved(engine, server, changes, code):
    with pytest.raises(InputError) as caught:
        providers.create(engine, draft(server.base_url, **changes), actor=ADMIN)
    assert caught.value.code == code
    made = providers.create(engine, draft(server.base_url), actor=ADMIN)
    with pytest.raises(InputError) as caught:
        providers.change(engine, made.id, ProviderChange(**changes), actor=ADMIN)
    assert caught.value.code == code
    assert providers.by_name(engine, "mine", actor=ADMIN) == made


def test_a_ca_file_that_went_away_does_not_keep_a_provider_from_being_renamed(engine, tmp_path):
    authority = Authority(tmp_path)
    made = providers.create(engine, draft("https://models.example", ca_file=str(authority.file)), actor=ADMIN)
    authority.file.unlink()
    assert providers.change(engine, made.id, ProviderChange(name="yours"), actor=ADMIN).name == "yours"


def test_all_that_a_draft_says_reaches_the_endpoint_and_the_run(engine, server):
    wanted = draft(
        server.base_url,
        connect_timeout_seconds=3,
        stream=True,
        use_proxy=True,
        verify_tls=False,
        extra_headers={"X-Team": "red"},
        extra_body={"seed": 7},
    )
    assert providers.check_draft(engine, wanted, actor=ADMIN).ok
    asked = server.chats[-1]
    assert (asked.headers["x-team"], asked.json["seed"], asked.json["stream"]) == ("red", 7, True)
    frozen = providers.endpoint_of(engine, providers.create(engine, wanted, actor=ADMIN), None)
    assert (frozen.connect_timeout_s, frozen.stream, frozen.use_proxy, frozen.verify_tls) == (3, True, True, False)


def test_c18_a_run_over_an_unchecked_line_says_so(tmp_path):
    """C18: the run's warnings are printed in its report."""
    authority = Authority(tmp_path)
    with ScriptedServer(tls=authority.server("other.example"), capable=True) as secure:
        bank = engines.write_bank(tmp_path / "bank", [engines.case(1)])
        with engines.opened(tmp_path, bank_file=bank) as opened:
            made = providers.create(opened, draft(secure.base_url, verify_tls=False), actor=ADMIN)
            spec = RunSpec(profile="full", auto_judge=True, provider_id=made.id, judge_provider_id=made.id)
            run = engines.until_over(opened, runs.start(opened, spec, actor=ADMIN).id)
            assert run.completed_count == 1
            assert {providers.SUBJECT_UNVERIFIED, providers.JUDGE_UNVERIFIED} <= set(run.warnings)
            assert "is not verified" in exported(opened, run.id)


def test_a_token_in_an_extra_header_is_shown_to_nobody_who_could_not_set_it(engine, server):
    wanted = draft(server.base_url, extra_headers={"Authorization": "Bearer purple-canary"})
    made = providers.create(engine, wanted, actor=ADMIN)
    for role in (Role.VIEWER, Role.REVIEWER, Role.LEAD):
        seen = next(each for each in providers.page(engine, actor=engines.user(role)) if each.id == made.id)
        assert seen.extra_headers == {"Authorization": "[masked]"}
        assert seen == made.model_copy(update={"extra_headers": seen.extra_headers})
    assert made in providers.page(engine, actor=ADMIN)
    assert providers.check(engine, made.id, actor=engines.user(Role.REVIEWER)).ok
    assert server.chats[-1].headers["authorization"] == "Bearer purple-canary"


# -- no scanner of ports ------------------------------------------------------------------------------------------


def test_f3_a_person_checks_ten_times_a_minute_at_most(engine, server, monkeypatch):
    """F3."""
    made = providers.create(engine, draft(server.base_url), actor=ADMIN)
    reviewer = engines.user(Role.REVIEWER)
    for _ in range(10):
        providers.check(engine, made.id, actor=reviewer)
    with pytest.raises(TooManyAttempts) as caught:
        providers.check(engine, made.id, actor=reviewer)
    assert 0 < caught.value.retry_after_s <= 60
    assert len(server.chats) == 10
    assert providers.check(engine, made.id, actor=ADMIN).ok
    for _ in range(9):
        providers.check_draft(engine, draft(server.base_url), actor=ADMIN)
    with pytest.raises(TooManyAttempts):
        providers.check_draft(engine, draft(server.base_url), actor=ADMIN)
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 61)
    assert providers.check(engine, made.id, actor=reviewer).ok


def test_f3_a_closed_port_and_a_filtered_one_look_the_same(tmp_path, monkeypatch):
    """F3: elsewhere, that is; what stands for elsewhere here is a listed name that leads to this machine."""
    usual = socket.getaddrinfo

    def resolve(host, port, *rest, **more):
        return usual("127.0.0.1" if host == "gateway.example" else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with (
        engines.opened(tmp_path, run_worker=False, provider_allowed_hosts="gateway.example") as engine,
        socket.socket() as closed,
        socket.socket() as filtered,
    ):
        closed.bind(("127.0.0.1", 0))
        filtered.bind(("127.0.0.1", 0))
        filtered.listen()  # never says hello, as little as one whose packets are dropped
        found = {}
        for name, bound in (("closed", closed), ("filtered", filtered)):
            started = time.monotonic()
            asked = draft(f"https://gateway.example:{bound.getsockname()[1]}", name="one")
            report = providers.check_draft(engine, asked, actor=ADMIN)
            message = report.error.message.replace(str(bound.getsockname()[1]), "PORT")
            found[name] = (report.error.code, message, report.error.hint, report.latency_ms)
            assert time.monotonic() - started >= CONNECT_S
        assert found["closed"] == found["filtered"]
