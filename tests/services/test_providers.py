"""Endpoints: stored without their key in sight, checked in words, changed and deleted with care."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from engine.domain.accounts import Role
from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.errors import ConflictError, InputError, NotFoundError, PermissionDenied, ProviderError
from engine.services import providers
from tests.support import engines
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
