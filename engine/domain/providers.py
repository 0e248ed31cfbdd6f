"""Configured model endpoints."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field, SecretStr

from engine.domain.base import Model, Timestamp


class ProviderKind(StrEnum):
    OPENAI = "openai"
    """Chat completions, also of compatible gateways."""
    AZURE = "azure"
    """Chat completions as Azure serves them: a deployment in the path, an api-version, the key in a header."""
    ANTHROPIC = "anthropic"
    """Messages."""
    OLLAMA = "ollama"
    """A local Ollama server's own chat route."""
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
    """On one whole call, connecting included."""
    connect_timeout_seconds: float | None = Field(default=None, gt=0, le=600)
    """On connecting alone; None leaves only the limit on the whole call."""
    stream: bool = False
    """Ask for the answer piece by piece; what is kept is the same."""
    use_proxy: bool = False
    """Go through the proxy that the server's environment names (HTTPS_PROXY, NO_PROXY)."""
    ca_file: str | None = Field(default=None, max_length=1000)
    """A PEM file on the server with the authorities that this endpoint's certificate may come from."""
    verify_tls: bool = True
    """Off accepts any certificate: it is audited and printed in the report."""
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
    connect_timeout_seconds: float | None = Field(default=None, gt=0, le=600)
    stream: bool | None = None
    use_proxy: bool | None = None
    ca_file: str | None = Field(default=None, max_length=1000)
    verify_tls: bool | None = None
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
    connect_timeout_seconds: float | None
    stream: bool
    use_proxy: bool
    ca_file: str | None
    verify_tls: bool
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
