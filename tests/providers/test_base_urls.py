"""Which addresses a provider may have, and the one form each is kept in."""

from __future__ import annotations

import pytest

from engine.errors import InputError
from engine.providers import check_base_url
from engine.providers.addresses import ENDPOINT, endpoint_url
from tests.providers.conftest import answer_of, endpoint, using

VERSIONED = "https://api.example.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("https://api.example.com", VERSIONED),
        ("https://api.example.com/", VERSIONED),
        ("https://api.example.com/v1", VERSIONED),
        ("https://api.example.com/v1/", VERSIONED),
        ("https://api.example.com//v1//", VERSIONED),
        ("https://api.example.com/v1/chat/completions", VERSIONED),
        ("https://api.example.com/v1/chat/completions/", VERSIONED),
        ("https://api.example.com/v1/models", VERSIONED),
        ("HTTPS://API.Example.COM:443/v1", VERSIONED),
        ("  https://api.example.com/v1\n", VERSIONED),
        ("https://api.example.com:8443/v1", "https://api.example.com:8443/v1/chat/completions"),
        ("https://gateway.example.com/team/llm", "https://gateway.example.com/team/llm/v1/chat/completions"),
        ("https://gateway.example.com/team/llm/v1", "https://gateway.example.com/team/llm/v1/chat/completions"),
        ("https://ark.example.com/api/v3", "https://ark.example.com/api/v3/chat/completions"),
        ("https://g.example.com/v1beta/openai/", "https://g.example.com/v1beta/openai/chat/completions"),
        ("https://g.example.com/chat/completions", "https://g.example.com/chat/completions"),
        (
            "https://x.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "https://x.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions"),
        ("http://[::1]:8000", "http://[::1]:8000/v1/chat/completions"),
        ("http://8.8.8.8/v1", "http://8.8.8.8/v1/chat/completions"),
        ("http://[2606:4700:4700::1111]/v1", "http://[2606:4700:4700::1111]/v1/chat/completions"),
        ("http://xn--fiqs8s.example/v1", "http://xn--fiqs8s.example/v1/chat/completions"),
    ],
)
def test_c14_every_usual_form_leads_to_the_same_endpoint(typed, called):
    """C14."""
    kept = check_base_url(typed)
    assert str(endpoint_url(kept, ENDPOINT)) == called
    assert check_base_url(kept) == kept


@pytest.mark.parametrize(
    "form",
    ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/prefix", "/prefix/v1/", "/chat/completions"],
)
def test_c14_every_form_is_asked_at_one_address(server, form):
    """C14."""
    base = f"http://127.0.0.1:{server.port}{form}"
    answer_of(endpoint(base))
    using(endpoint(base), lambda model: model.models())
    chat, models = (request.path for request in server.requests)
    assert chat.endswith("/chat/completions")
    assert models == chat.replace("/chat/completions", "/models")
    assert chat.startswith("/prefix") == form.startswith("/prefix")


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "api.example.com/v1",
        "//api.example.com",
        "file:///etc/passwd",
        "ftp://api.example.com",
        "gopher://api.example.com",
        "unix:/run/x.sock",
        "http://",
        "http:///v1",
        "http://user@api.example.com",
        "http://user:secret@api.example.com/v1",
        "http://api.example.com\\@127.0.0.1",
        "http://api.example.com /v1",
        "http://api.example.com/v1\nHost: x",
        "http://api.example.com/v1#part",
        "http://api.example.com:0/v1",
        "http://api.example.com:99999/v1",
        "http://api.example.com:port/v1",
        "https://api.example.com/v1?api_key=sk-secret",
        "https://api.example.com/v1/responses",
        "https://api.example.com/v1/messages",
        "http://2130706433/v1",
        "http://0177.0.0.1",
        "http://0x7f000001",
        "http://0x7f.0.0.1",
        "http://127.1",
        "http://127.0.0.01",
        "http://127.0.0.1.",
        "http://127.0.0.2",
        "http://0.0.0.0:8000",
        "http://0/v1",
        "http://１２７.0.0.1",
        "http://localhost./v1",
        "http://lo%63alhost/v1",
        "http://模型.example/v1",
        "http://[::]/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://[::ffff:7f00:1]/v1",
        "http://[::127.0.0.1]/v1",
        "http://[0:0:0:0:0:0:0:1]/v1",
        "http://[64:ff9b::7f00:1]/v1",
        "http://[2002:7f00:1::]/v1",
        "http://[fe80::1]/v1",
        "http://[fe80::1%25eth0]/v1",
        "http://[fd00:ec2::254]/v1",
        "http://[fd12::1]/v1",
        "http://[ff02::1]/v1",
        "http://[::1/v1",
        "http://[nonsense:]/v1",
        "http://169.254.169.254/latest",
        "http://169.254.0.1",
        "http://100.100.100.200/latest",
        "http://168.63.129.16",
        "http://metadata.google.internal/v1",
        "http://metadata/v1",
        "http://10.0.0.5:8000",
        "http://172.16.3.4",
        "http://192.168.1.10:11434",
        "http://100.64.0.1",
        "http://255.255.255.255",
        "http://224.0.0.1",
    ],
)
def test_f2_other_addresses_are_refused_in_words(typed):
    """F2."""
    with pytest.raises(InputError) as caught:
        check_base_url(typed)
    assert caught.value.code == "bad_base_url"
    assert len(caught.value.message) > 20
    assert "secret" not in caught.value.message
    assert caught.value.fields[0][0] == "base_url"


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("http://10.0.0.5:8000", "10.0.0.5"),
        ("http://10.0.0.5:8000", "10.0.0.0/8"),
        ("http://192.168.1.10:11434", " 192.168.0.0/16 "),
        ("http://[fd12::1]/v1", "fd12::/16"),
        ("http://127.0.0.2:8000", "127.0.0.2"),
    ],
)
def test_a_listed_private_address_may_be_used(typed, listed):
    assert check_base_url(typed, allowed_hosts=("other-host", listed)).endswith("/v1")


@pytest.mark.parametrize(
    "typed",
    [
        "http://169.254.169.254",
        "http://100.100.100.200",
        "http://2130706433",
        "http://[::ffff:10.0.0.5]",
        "http://[fe80::1]",
    ],
)
def test_metadata_and_hidden_spellings_cannot_be_listed(typed):
    everything = ("0.0.0.0/0", "::/0", "169.254.169.254", "2130706433")
    with pytest.raises(InputError):
        check_base_url(typed, allowed_hosts=everything)
