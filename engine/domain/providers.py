"""Configured model endpoints."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field, SecretStr

from engine.domain.base import Model, Timestamp


class ProviderKind(StrEnum):
    OPENAI = "openai"
    """Chat completions, also of compatible gateways."""
    DEMO = "demo"
    """Built in, simulated: no key, no network."""


class ProviderDraft(Model):
    """What a person types; the body of POST /providers."""

    name: str = Field(min_length=1, max_length=80)
    kind: ProviderKind
    base_url: str = Field(default="", max_length=2000)
    api_key: SecretStr | None = None
    default_model: str = Field(min_length=1, max_length=200)
    is_default: bool = False
    is_default_judge: bool = False
    max_concurrency: int = Field(default=8, ge=1, le=512)
    requests_per_minute: int | None = Field(default=None, ge=1)
    timeout_seconds: float | None = Field(default=None, gt=0, le=3600)
    extra_headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}


class ProviderChange(Model):
    """Any part of a draft; what is absent stays as it is. An `api_key` of "" removes the key."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    kind: ProviderKind | None = None
    base_url: str | None = Field(default=None, max_length=2000)
    api_key: SecretStr | None = None
    default_model: str | None = Field(default=None, min_length=1, max_length=200)
    is_default: bool | None = None
    is_default_judge: bool | None = None
    max_concurrency: int | None = Field(default=None, ge=1, le=512)
    requests_per_minute: int | None = Field(default=None, ge=1)
    timeout_seconds: float | None = Field(default=None, gt=0, le=3600)
    extra_headers: dict[str, str] | None = None
    extra_body: dict[str, Any] | None = None


class Provider(Model):
    """A configured endpoint as others may see it: never the key."""

    id: int
    name: str
    kind: ProviderKind
    base_url: str
    default_model: str
    is_default: bool
    is_default_judge: bool
    max_concurrency: int
    requests_per_minute: int | None
    timeout_seconds: float | None
    extra_headers: dict[str, str]
    extra_body: dict[str, Any]
    api_key_set: bool
    api_key_hint: str
    """The last four characters; empty for a key under 12 characters."""
    created_at: Timestamp


class CheckError(Model):
    code: str
    message: str
    hint: str


class CheckReport(Model):
    """What a connection check found."""

    ok: bool
    latency_ms: int | None
    model: str
    error: CheckError | None = None
