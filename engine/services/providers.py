"""Manage and try model endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

from pydantic import SecretStr

from engine import providers as endpoints
from engine.accounts import vault
from engine.assembly import Engine
from engine.domain.accounts import Permission, User
from engine.domain.base import Model
from engine.domain.chat import ChatModel, Connection
from engine.domain.providers import CheckReport, Provider, ProviderChange, ProviderDraft, ProviderKind
from engine.domain.runs import EndpointSettings
from engine.errors import InputError, NotFoundError, ProviderError
from engine.providers.checks import CONNECT_S, discreet_check
from engine.providers.faults import MASK
from engine.providers.network import checked_ca_file

CHECK_TIMEOUT_S = 20.0
"""A check answers while a person waits; a run has the provider's own time-out."""

UNVERIFIED, VERIFIED = "provider.verify_tls_off", "provider.verify_tls_on"
"""Actions of the audit trail, beside the change itself: who stopped checking certificates must be easy to find."""

_REACH = frozenset({"kind", "base_url", "api_key", "ca_file", "verify_tls", "use_proxy", "extra_headers", "extra_body"})
"""What decides whether an endpoint can be asked at all."""

SUBJECT_UNVERIFIED = "the certificate of the model's endpoint is not verified; its answers may come from someone else"
JUDGE_UNVERIFIED = "the certificate of the judge's endpoint is not verified; its verdicts may come from someone else"

Answer = TypeVar("Answer")


class ModelName(Model):
    id: str


class ModelList(Model):
    """Models to choose from; `declared` when the endpoint does not list its own."""

    items: tuple[ModelName, ...]
    source: Literal["provider", "declared"]


def presets() -> tuple[endpoints.Preset, ...]:
    """Well-known endpoints to start from."""
    return endpoints.PRESETS


def page(engine: Engine, *, actor: User) -> list[Provider]:
    """All configured providers, by name; never a key. What extra headers hold is for those who may set them."""
    actor.require(Permission.READ)
    found = engine.stores.providers.page()
    return found if actor.may(Permission.MANAGE_PROVIDERS) else [_masked(provider) for provider in found]


def by_name(engine: Engine, name: str, *, actor: User) -> Provider:
    """Raises NotFoundError `provider_not_found`, naming what there is."""
    actor.require(Permission.READ)
    provider = engine.stores.providers.by_name(name)
    if provider is None:
        known = ", ".join(each.name for each in engine.stores.providers.page()) or "none"
        raise NotFoundError(f"no provider named {name!r}; known: {known}", code="provider_not_found")
    return provider


def create(engine: Engine, draft: ProviderDraft, *, actor: User) -> Provider:
    """Store an endpoint; its key is encrypted before it is stored.

    Raises:
        InputError: `bad_base_url`, `bad_api_key`, `bad_header`, `bad_extra_body`, `bad_ca_file`, `bad_proxy`.
        ConflictError: `name_taken`.
    """
    actor.require(Permission.MANAGE_PROVIDERS)
    sound = draft.model_copy(update=_checked_parts(engine, draft.kind, draft.base_url, draft.ca_file))
    _require_usable(engine, _settings_of_draft(engine, sound, provider_id=None), sound.api_key)
    ciphertext, key_hint = _sealed(engine, draft.api_key)
    provider = engine.stores.providers.create(sound, key_ciphertext=ciphertext, hint=key_hint)
    engine.record(actor, "provider.create", f"provider:{provider.id}", name=provider.name)
    if not provider.verify_tls:
        engine.record(actor, UNVERIFIED, f"provider:{provider.id}", name=provider.name)
    return provider


def change(engine: Engine, provider_id: int, wanted: ProviderChange, *, actor: User) -> Provider:
    """Change what is given; runs that were started keep the settings they were frozen with.

    Raises:
        NotFoundError, InputError, ConflictError: `name_taken`, `provider_in_use`.
    """
    actor.require(Permission.MANAGE_PROVIDERS)
    current = engine.stores.providers.get(provider_id)
    kind = wanted.kind or current.kind
    if wanted.kind is not None or wanted.base_url is not None:
        url = wanted.base_url if wanted.base_url is not None else current.base_url
        wanted = wanted.model_copy(update={"base_url": _base_url(engine, kind, url)})
    if wanted.ca_file is not None:
        wanted = wanted.model_copy(update={"ca_file": _ca_file(wanted.ca_file)})
    if not _REACH.isdisjoint(wanted.model_fields_set):
        _require_usable(engine, endpoint_of(engine, _changed(current, wanted), None), wanted.api_key)
    ciphertext, key_hint = _sealed(engine, wanted.api_key)
    provider = engine.stores.providers.change(provider_id, wanted, key_ciphertext=ciphertext, hint=key_hint)
    fields = sorted(wanted.model_fields_set)
    engine.record(actor, "provider.change", f"provider:{provider_id}", fields=fields)
    if provider.verify_tls is not current.verify_tls:
        act = VERIFIED if provider.verify_tls else UNVERIFIED
        engine.record(actor, act, f"provider:{provider_id}", name=provider.name)
    return provider


def delete(engine: Engine, provider_id: int, *, actor: User) -> None:
    """Raises NotFoundError, or ConflictError `provider_in_use`. Finished runs keep its name and settings."""
    actor.require(Permission.MANAGE_PROVIDERS)
    current = engine.stores.providers.get(provider_id)
    engine.stores.providers.delete(provider_id)
    engine.record(actor, "provider.delete", f"provider:{provider_id}", name=current.name)


def check(engine: Engine, provider_id: int, *, model: str | None = None, actor: User) -> CheckReport:
    """Ask the endpoint something short and say in words what is wrong. Never raises for a provider that is down.

    Raises:
        NotFoundError: `provider_not_found`.
        TooManyAttempts: a person may check ten times a minute.
    """
    actor.require(Permission.CHECK_PROVIDERS)
    provider = engine.stores.providers.get(provider_id)
    engine.checks.spend(actor.username)
    report = _checked(engine, _hasty(endpoint_of(engine, provider, model)), engine.stored_key(provider_id))
    engine.record(actor, "provider.check", f"provider:{provider_id}", found="ok" if report.ok else "not ok")
    return report


def check_draft(engine: Engine, draft: ProviderDraft, *, provider_id: int | None = None, actor: User) -> CheckReport:
    """The same before saving; `provider_id` lends its stored key when the draft has none.

    Raises:
        InputError: `bad_base_url`, or the stored key would go to another address than the one it was stored for.
        TooManyAttempts: a person may check ten times a minute.
    """
    actor.require(Permission.MANAGE_PROVIDERS)
    draft = draft.model_copy(update=_checked_parts(engine, draft.kind, draft.base_url, draft.ca_file))
    key = draft.api_key
    if key is None and provider_id is not None:
        stored = engine.stores.providers.get(provider_id)
        if draft.base_url == stored.base_url:
            key = engine.stored_key(provider_id)
        elif stored.api_key_set:
            raise InputError("the address was changed: type the key again to check it", code="key_required")
    engine.checks.spend(actor.username)
    settings = _settings_of_draft(engine, draft, provider_id=provider_id)
    return _checked(engine, _hasty(settings), key)


def models(engine: Engine, provider_id: int, *, actor: User) -> ModelList:
    """What the endpoint lists, else the model it was configured with.

    Raises:
        ProviderError: the endpoint cannot be reached (`provider_unreachable` at the REST face).
    """
    actor.require(Permission.READ)
    provider = engine.stores.providers.get(provider_id)
    key = engine.stored_key(provider_id)
    try:
        names = _run(_listed(engine.client(_hasty(endpoint_of(engine, provider, None)), key=key, patient=False)))
    except ProviderError as error:
        if error.code not in ("not_found", "bad_request", "malformed_body"):
            raise
        names = []  # reachable, but it has no list
    if names:
        return ModelList(items=tuple(ModelName(id=name) for name in names), source="provider")
    return ModelList(items=(ModelName(id=provider.default_model),), source="declared")


def _checked(engine: Engine, settings: EndpointSettings, key: SecretStr | None) -> CheckReport:
    return _run(_check_and_close(engine.client(settings, key=key, patient=False), settings))


async def _check_and_close(client: Connection, settings: EndpointSettings) -> CheckReport:
    try:
        return await discreet_check(client, settings.model, base_url=settings.base_url)
    finally:
        await client.close()


async def _listed(client: ChatModel) -> list[str]:
    try:
        return await client.models()
    finally:
        await client.close()


def _run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Services are called from threads that have no event loop of their own."""
    return asyncio.run(work)


def endpoint_of(engine: Engine, provider: Provider, model: str | None) -> EndpointSettings:
    """A provider's settings as a run is frozen with them; `model` None takes its default model."""
    return EndpointSettings(
        provider_id=provider.id,
        name=provider.name,
        kind=provider.kind,
        base_url=provider.base_url,
        model=model or provider.default_model,
        max_concurrency=provider.max_concurrency,
        requests_per_minute=provider.requests_per_minute,
        timeout_s=provider.timeout_seconds or engine.settings.request_timeout_seconds,
        connect_timeout_s=provider.connect_timeout_seconds,
        stream=provider.stream,
        use_proxy=provider.use_proxy,
        ca_file=provider.ca_file,
        verify_tls=provider.verify_tls,
        extra_headers=provider.extra_headers,
        extra_body=provider.extra_body,
    )


def unverified_warnings(subject: EndpointSettings, judge: EndpointSettings | None) -> tuple[str, ...]:
    """What a run must say when the certificate of an endpoint it asks is not checked."""
    found = (SUBJECT_UNVERIFIED if _is_unverified(subject) else "", JUDGE_UNVERIFIED if _is_unverified(judge) else "")
    return tuple(filter(None, found))


def _is_unverified(settings: EndpointSettings | None) -> bool:
    return settings is not None and not settings.verify_tls and settings.base_url.startswith("https://")


def _settings_of_draft(engine: Engine, draft: ProviderDraft, *, provider_id: int | None) -> EndpointSettings:
    return EndpointSettings(
        provider_id=provider_id,
        name=draft.name,
        kind=draft.kind,
        base_url=draft.base_url,
        model=draft.default_model,
        max_concurrency=draft.max_concurrency,
        requests_per_minute=draft.requests_per_minute,
        timeout_s=draft.timeout_seconds or engine.settings.request_timeout_seconds,
        connect_timeout_s=draft.connect_timeout_seconds,
        stream=draft.stream,
        use_proxy=draft.use_proxy,
        ca_file=draft.ca_file,
        verify_tls=draft.verify_tls,
        extra_headers=draft.extra_headers,
        extra_body=draft.extra_body,
    )


def _changed(current: Provider, wanted: ProviderChange) -> Provider:
    """The provider as it would be; a null means "as it is" where the field has none."""
    given = wanted.model_dump(exclude={"api_key"}, exclude_unset=True)
    kept = {name: value for name, value in given.items() if value is not None or name in ("ca_file",)}
    return current.model_copy(update=kept)


def _require_usable(engine: Engine, settings: EndpointSettings, key: SecretStr | None) -> None:
    """Raises InputError for what a run would stumble over: key, headers, body, CA file, proxy. Connects to nothing."""
    engine.client(settings, key=key, patient=False)


def _hasty(settings: EndpointSettings) -> EndpointSettings:
    """The same for a check: one call, answered while a person waits."""
    return settings.model_copy(
        update={
            "max_concurrency": 1,
            "requests_per_minute": None,
            "timeout_s": min(settings.timeout_s, CHECK_TIMEOUT_S),
            "connect_timeout_s": min(settings.connect_timeout_s or CONNECT_S, CONNECT_S),
        }
    )


def _checked_parts(engine: Engine, kind: ProviderKind, url: str, ca_file: str | None) -> dict[str, str | None]:
    return {"base_url": _base_url(engine, kind, url), "ca_file": _ca_file(ca_file)}


def _base_url(engine: Engine, kind: ProviderKind, url: str) -> str:
    if kind is ProviderKind.DEMO:
        return ""
    return endpoints.check_base_url(url, engine.settings.allowed_hosts, kind=kind)


def _masked(provider: Provider) -> Provider:
    """Without the values of extra headers: tokens travel in them as well."""
    return provider.model_copy(update={"extra_headers": dict.fromkeys(provider.extra_headers, MASK)})


def _ca_file(path: str | None) -> str | None:
    """A checked path; nothing typed is no file."""
    return checked_ca_file(path) if path is not None and path.strip() else None


def _sealed(engine: Engine, key: SecretStr | None) -> tuple[bytes | None, str]:
    if key is None or not key.get_secret_value():
        return None, ""
    return engine.vault.seal(key), vault.hint(key)
