"""Configured endpoints."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from engine.domain.providers import ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import RunStatus
from engine.errors import ConflictError, NotFoundError
from tests.store.samples import make_run


def provider(name="gateway", **more):
    return ProviderDraft(
        **{
            "name": name,
            "kind": ProviderKind.OPENAI,
            "base_url": "http://127.0.0.1:1/v1",
            "default_model": "m",
            "extra_headers": {"X-Team": "安全"},
            "extra_body": {"seed": 1, "deep": [None, True]},
            "requests_per_minute": 60,
            "timeout_seconds": 2.5,
            **more,
        }
    )


def test_a_provider_is_stored_as_drafted_without_its_key(stores):
    draft = provider(api_key=SecretStr("sk-secret-1234"))
    made = stores.providers.create(draft, key_ciphertext=b"\x00encrypted", hint="1234")
    shared = set(type(draft).model_fields) - {"api_key"}
    assert {name: getattr(made, name) for name in shared} == {name: getattr(draft, name) for name in shared}
    assert (made.api_key_set, made.api_key_hint) == (True, "1234")
    assert stores.providers.key_ciphertext(made.id) == b"\x00encrypted"
    assert stores.providers.get(made.id) == stores.providers.by_name("gateway") == made
    assert stores.providers.page() == [made]
    assert stores.providers.by_name("nobody") is None


def test_a_name_belongs_to_one_provider(stores):
    stores.providers.create(provider("a"))
    second = stores.providers.create(provider("b"))
    for act in (
        lambda: stores.providers.create(provider("a")),
        lambda: stores.providers.change(second.id, ProviderChange(name="a")),
    ):
        with pytest.raises(ConflictError) as taken:
            act()
        assert taken.value.code == "name_taken"
    assert [item.name for item in stores.providers.page()] == ["a", "b"]


def test_there_is_at_most_one_default_and_one_default_judge(stores):
    assert stores.providers.default() is None
    assert stores.providers.default_judge() is None
    first = stores.providers.create(provider("a", is_default=True, is_default_judge=True))
    second = stores.providers.create(provider("b", is_default=True))
    assert (stores.providers.default(), stores.providers.default_judge().id) == (second, first.id)
    stores.providers.change(second.id, ProviderChange(is_default_judge=True))
    stores.providers.change(first.id, ProviderChange(is_default=True))
    assert [(item.is_default, item.is_default_judge) for item in stores.providers.page()] == [
        (True, False),
        (False, True),
    ]
    stores.providers.change(first.id, ProviderChange(is_default=False))
    assert stores.providers.default() is None


def test_a_failed_change_does_not_move_the_default(stores):
    first = stores.providers.create(provider("a", is_default=True))
    second = stores.providers.create(provider("b"))
    with pytest.raises(ConflictError):
        stores.providers.change(second.id, ProviderChange(name="a", is_default=True))
    assert stores.providers.default() == first


def test_a_change_changes_what_it_names(stores):
    made = stores.providers.create(provider(), key_ciphertext=b"old", hint="old!")
    changed = stores.providers.change(
        made.id, ProviderChange(kind=ProviderKind.DEMO, extra_headers={}, requests_per_minute=None, base_url=None)
    )
    expected = {"kind": ProviderKind.DEMO, "extra_headers": {}, "requests_per_minute": None}
    assert changed == made.model_copy(update=expected)
    assert stores.providers.change(made.id, ProviderChange()) == changed
    assert stores.providers.key_ciphertext(made.id) == b"old"
    keyed = stores.providers.change(made.id, ProviderChange(api_key=SecretStr("n")), key_ciphertext=b"new", hint="")
    assert (keyed.api_key_set, stores.providers.key_ciphertext(made.id)) == (True, b"new")
    bare = stores.providers.change(made.id, ProviderChange(api_key=SecretStr("")))
    assert (bare.api_key_set, stores.providers.key_ciphertext(made.id)) == (False, None)


def test_a_provider_in_use_is_neither_changed_nor_deleted(stores):
    made = stores.providers.create(provider())
    run, _ = make_run(stores, provider_id=made.id)
    for act in (
        lambda: stores.providers.change(made.id, ProviderChange(default_model="n")),
        lambda: stores.providers.delete(made.id),
    ):
        with pytest.raises(ConflictError) as used:
            act()
        assert used.value.code == "provider_in_use"
    stores.runs.set_status(run.id, RunStatus.COMPLETED)
    stores.providers.delete(made.id)
    assert stores.runs.get(run.id).provider_id == made.id
    assert stores.providers.create(provider()).id > made.id


def test_an_unknown_provider_is_not_found(stores):
    for ask in (
        stores.providers.get,
        stores.providers.delete,
        stores.providers.key_ciphertext,
        lambda number: stores.providers.change(number, ProviderChange(name="x")),
    ):
        with pytest.raises(NotFoundError) as missing:
            ask(9)
        assert missing.value.code == "provider_not_found"
