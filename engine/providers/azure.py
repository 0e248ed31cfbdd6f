"""Chat completions as Azure serves them: a deployment in the path, an api-version in the query, the key in a header.

A deployment is a model under a name of one's own. Where the base URL names none, the provider's model is its name.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from pydantic import SecretStr

from engine.domain.chat import ChatRequest
from engine.domain.runs import EndpointSettings
from engine.errors import ProviderError
from engine.providers.addresses import ENDPOINT, checked, plain_path, query_of, refused
from engine.providers.openai_chat import OpenAIChat
from engine.providers.transport import RetryPolicy

API_VERSION = "2024-10-21"
"""Sent where the base URL names none."""

INFERENCE_API_VERSION = "2024-05-01-preview"
"""The same for the address that serves models of several makers."""

_DEPLOYMENT = re.compile(r".*/deployments/[^/]+")
_VERSIONED = re.compile(r".*/openai/v\d+")
_OTHER_APIS = ("/responses", "/completions", "/embeddings", "/assistants", "/images/generations")
_EXAMPLE = "https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT/chat/completions?api-version=" + API_VERSION


def build(
    settings: EndpointSettings,
    *,
    api_key: SecretStr | None,
    retry: RetryPolicy,
    allowed_hosts: tuple[str, ...] = (),
) -> AzureChat:
    """Raises InputError when address, key, headers or extra body cannot be used."""
    return AzureChat(
        settings,
        api_key=api_key,
        retry=retry,
        base_url=base_url(settings.base_url, allowed_hosts),
        allowed_hosts=allowed_hosts,
    )


def base_url(url: str, allowed_hosts: tuple[str, ...] = ()) -> str:
    """The address in the one form that is stored and used; applying it twice changes nothing.

    The portal shows several: the resource alone, its `/openai/v1`, or the whole target of a deployment with its
    api-version. An api-version is added where the form needs one and the address has none.

    Raises:
        InputError: code `bad_base_url`.
    """
    origin, parsed = checked(url, allowed_hosts)
    path = plain_path(parsed).removesuffix(ENDPOINT)
    for other in _OTHER_APIS:
        if path.endswith(other):
            raise refused(f"the base URL ends in {other}, another API; write the deployment's target URI: {_EXAMPLE}")
    if re.search(r"/api/projects/[^/]+$", path):
        raise refused(f"the base URL is that of a project; write the deployment's target URI: {_EXAMPLE}")
    if _VERSIONED.fullmatch(path):
        return f"{origin}{path}{query_of(parsed)}"
    if not _DEPLOYMENT.fullmatch(path) and not path.endswith(("/openai", "/models")):
        path = f"{path}/openai"
    query = query_of(parsed)
    if "api-version" not in parsed.params:
        version = INFERENCE_API_VERSION if path.endswith("/models") else API_VERSION
        query = f"{query}{'&' if query else '?'}api-version={version}"
    return f"{origin}{path}{query}"


class AzureChat(OpenAIChat):
    """A ChatModel behind a deployment."""

    def _own_headers(self, key: str) -> dict[str, str]:
        return {"api-key": key} if key else {}

    def _path(self, request: ChatRequest) -> str:
        if self._endpoint.path.endswith("/openai"):
            return f"/deployments/{quote(request.model, safe='')}{ENDPOINT}"
        return ENDPOINT

    async def models(self) -> list[str]:
        """Raises ProviderError, always: what Azure lists are models one could deploy, not the deployments there are."""
        raise ProviderError(
            f"{self._endpoint.where} does not list its deployments",
            code="not_found",
            retryable=False,
            hint="Take the deployment's name as the model's; the portal shows it.",
        )
