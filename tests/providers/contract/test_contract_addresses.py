"""Base URLs as people paste them: each kind makes one form of them, and the same address is asked, always."""

from __future__ import annotations

import pytest

from engine.errors import InputError
from engine.providers import PRESETS, PROVIDERS, check, check_base_url
from tests.providers.conftest import answer_of, ask, endpoint, using
from tests.support.dialects import FACES, FacedServer

FORMS = {
    "openai": ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models", "//v1//"],
    "anthropic": ["", "/", "/v1", "/v1/", "/v1/messages", "/v1/messages/", "/v1/models", "/v1/messages/count_tokens"],
    "ollama": ["", "/", "/api", "/api/", "/api/chat", "/api/tags", "/api/generate"],
    "azure": [
        "",
        "/",
        "/openai",
        "/openai/",
        "/openai?api-version=2024-10-21",
        "/openai/deployments/scripted",
        "/openai/deployments/scripted/chat/completions",
        "/openai/deployments/scripted/chat/completions?api-version=2024-10-21",
    ],
}


@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, forms in FORMS.items() for form in forms])
def test_c14_every_form_is_asked_at_the_same_address_by_probe_and_run(kind, form):
    """C14."""
    with FacedServer(FACES[kind]) as server:
        settings = endpoint(f"http://127.0.0.1:{server.port}{form}", kind=kind)
        assert using(settings, lambda model: check(model, "scripted")).ok
        answer_of(settings)
        query = "?api-version=2024-10-21" if kind == "azure" else ""
        assert [request.path for request in server.requests] == [FACES[kind].chat_path + query] * 2
        kept = check_base_url(settings.base_url, kind=kind)
        assert check_base_url(kept, kind=kind) == kept


@pytest.mark.parametrize(
    ("typed", "kept", "asked"),
    [
        (
            "https://name.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2025-01-01-preview",
            "https://name.openai.azure.com/openai/deployments/mine?api-version=2025-01-01-preview",
            "/openai/deployments/mine/chat/completions?api-version=2025-01-01-preview",
        ),
        (
            "https://name.cognitiveservices.azure.com/",
            "https://name.cognitiveservices.azure.com/openai?api-version=2024-10-21",
            "/openai/deployments/a%2Fb/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://name.openai.azure.com/openai/v1/",
            "https://name.openai.azure.com/openai/v1",
            "/openai/v1/chat/completions",
        ),
        (
            "https://name.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
            "https://name.services.ai.azure.com/models?api-version=2024-05-01-preview",
            "/models/chat/completions?api-version=2024-05-01-preview",
        ),
        (
            "https://name.services.ai.azure.com/models",
            "https://name.services.ai.azure.com/models?api-version=2024-05-01-preview",
            "/models/chat/completions?api-version=2024-05-01-preview",
        ),
        (
            "https://gateway.example.com/team/openai/deployments/mine?x=1",
            "https://gateway.example.com/team/openai/deployments/mine?x=1&api-version=2024-10-21",
            "/team/openai/deployments/mine/chat/completions?x=1&api-version=2024-10-21",
        ),
    ],
)
def test_c14_what_azures_portal_shows_is_understood(typed, kept, asked):
    """C14."""
    assert check_base_url(typed, kind="azure") == kept
    assert check_base_url(kept, kind="azure") == kept
    with FacedServer(FACES["azure"]) as server:
        here = f"http://127.0.0.1:{server.port}"
        scheme, _, rest = kept.partition("://")
        settings = endpoint(here + "/" + rest.partition("/")[2], kind="azure")
        report = using(settings, lambda model: check(model, "a/b"))
        assert scheme == "https" and not report.ok
        assert server.requests[0].path == asked


@pytest.mark.parametrize(
    ("kind", "typed", "words"),
    [
        ("azure", "https://name.openai.azure.com/openai/responses?api-version=2025-04-01-preview", "/responses"),
        ("azure", "https://name.services.ai.azure.com/api/projects/mine", "project"),
        ("azure", "https://name.openai.azure.com/openai/deployments/mine/embeddings", "/embeddings"),
        ("anthropic", "https://api.example.com/v1/chat/completions", "messages"),
        ("ollama", "http://127.0.0.1:11434/v1", "without /v1"),
        ("openai", "https://api.example.com/v1/messages", "chat completions"),
        *((kind, "https://user:pw@example.com", "user name") for kind in FORMS),
        *((kind, "http://169.254.169.254", "metadata") for kind in FORMS),
        *((kind, "http://10.0.0.8", "private") for kind in FORMS),
        *((kind, "ftp://example.com", "http://") for kind in FORMS),
        *((kind, "https://example.com?api-key=x", "api-key") for kind in FORMS),
    ],
)
def test_c14_what_cannot_be_used_is_refused_with_the_reason(kind, typed, words):
    """C14."""
    with pytest.raises(InputError, match=words) as caught:
        check_base_url(typed, kind=kind)
    assert caught.value.code == "bad_base_url"


def test_a_listed_private_host_may_be_used_by_every_kind():
    for kind in FORMS:
        assert check_base_url("http://10.0.0.8", ("10.0.0.0/8",), kind=kind).startswith("http://10.0.0.8")


def test_every_preset_is_of_a_known_kind_and_in_the_form_that_is_kept():
    for preset in PRESETS:
        assert preset.kind in PROVIDERS
        kept = check_base_url(preset.base_url.replace("RESOURCE", "resource"), kind=preset.kind)
        assert kept.startswith(preset.base_url.replace("RESOURCE", "resource"))
    assert len({preset.title for preset in PRESETS}) == len(PRESETS)


def test_a_deployment_that_does_not_exist_is_told_without_a_list_of_models():
    with FacedServer(FACES["azure"]) as server:
        settings = endpoint(server.base_url, kind="azure")
        error = using(settings, lambda model: check(model, "other")).error
    assert error.code == "not_found"
    assert "offers" not in error.message + error.hint


def test_the_model_of_a_question_names_the_deployment():
    with FacedServer(FACES["azure"]) as server:
        answer_of(endpoint(server.base_url, kind="azure", model="ignored"), ask(model="scripted"))
        assert "/deployments/scripted/" in server.chats[0].path
