"""Configured model endpoints."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from engine.api.bodies import StrictRoute
from engine.api.dependencies import EngineDep, Limit, Offset, ProviderId, UserDep
from engine.api.problems import GUARDED, documented
from engine.domain.base import Model, Page
from engine.domain.providers import CheckReport, Provider, ProviderChange, ProviderDraft
from engine.services import providers
from engine.services.providers import ModelList

UNUSABLE = "invalid_input bad_base_url bad_api_key bad_header bad_extra_body bad_ca_file bad_proxy"

router = APIRouter(route_class=StrictRoute, prefix="/providers", tags=["providers"], responses=GUARDED)


class CheckRequest(Model):
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The provider's default model when absent."""


@router.get("", summary="List providers")
def page(engine: EngineDep, user: UserDep, limit: Limit = 50, offset: Offset = 0) -> Page[Provider]:
    """Never the keys: only whether one is set, and its last four characters."""
    every = providers.page(engine, actor=user)
    return Page[Provider](items=tuple(every[offset : offset + limit]), total=len(every))


@router.post(
    "",
    summary="Add a provider",
    status_code=201,
    responses=documented((409, "name_taken"), 413, (422, UNUSABLE)),
)
def create(draft: ProviderDraft, engine: EngineDep, user: UserDep) -> Provider:
    return providers.create(engine, draft, actor=user)


@router.patch(
    "/{provider_id}",
    summary="Change a provider",
    responses=documented((404, "provider_not_found"), (409, "name_taken provider_in_use"), 413, (422, UNUSABLE)),
)
def change(provider_id: ProviderId, change: ProviderChange, engine: EngineDep, user: UserDep) -> Provider:
    """What is absent stays as it is; an empty `api_key` removes the key."""
    return providers.change(engine, provider_id, change, actor=user)


@router.delete(
    "/{provider_id}",
    summary="Remove a provider",
    status_code=204,
    responses=documented((404, "provider_not_found"), (409, "provider_in_use")),
)
def delete(provider_id: ProviderId, engine: EngineDep, user: UserDep) -> None:
    """`409 provider_in_use` while a run that is not over uses it."""
    providers.delete(engine, provider_id, actor=user)


@router.post(
    "/{provider_id}/check",
    summary="Check the connection",
    responses=documented((404, "provider_not_found"), 413, (429, "too_many_attempts")),
)
def check(provider_id: ProviderId, engine: EngineDep, user: UserDep, body: CheckRequest | None = None) -> CheckReport:
    """One small call; ten a minute. A provider that is down is an answer (`ok: false`), not an error of ours."""
    return providers.check(engine, provider_id, model=body.model if body else None, actor=user)


@router.get(
    "/{provider_id}/models",
    summary="Which models it offers",
    responses=documented((404, "provider_not_found"), (502, "provider_unreachable")),
)
def models(provider_id: ProviderId, engine: EngineDep, user: UserDep) -> ModelList:
    return providers.models(engine, provider_id, actor=user)
