"""How an endpoint is reached: certificates, proxies, the time-out on connecting."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pytest

from engine.errors import InputError
from engine.providers import NO_RETRY
from engine.providers.network import checked_ca_file
from tests.providers.conftest import answer_of, endpoint, error_of, using
from tests.support.certificates import DAY, Authority, self_signed
from tests.support.scripted_server import ScriptedServer, Step
from tests.support.tunnel import Tunnel

OLD = {"age": 3 * DAY, "life": timedelta(days=1)}


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture(autouse=True)
def no_proxy_from_outside(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def resolving(monkeypatch: Any, **names: str) -> None:
    """These names lead to these addresses, all others nowhere."""

    def found(host: str, port: int, *_args: object, **_options: object) -> list[Any]:
        if host not in names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (names[host], port))]

    usual = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: usual(host, *rest, **more) if host == "127.0.0.1" else found(host, *rest, **more),
    )


# -- certificates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_c18_a_certificate_nobody_vouches_for_is_refused_and_named(tmp_path, stream):
    """C18."""
    context, _file = self_signed(tmp_path, "127.0.0.1")
    with ScriptedServer(tls=context) as server:
        error = error_of(endpoint(server.base_url, stream=stream))
        assert (error.code, error.retryable, error.tries) == ("tls", False, 1)
        assert "certificate" in error.message and "self" in error.message
        assert server.chats == []


@pytest.mark.parametrize(
    ("hosts", "dates", "words"),
    [(("127.0.0.1",), OLD, "expired"), (("other.example",), {}, "127.0.0.1"), (("127.0.0.2",), {}, "127.0.0.1")],
)
def test_c18_an_expired_certificate_and_one_for_another_host_are_refused(authority, hosts, dates, words):
    """C18: also where the authority is trusted."""
    with ScriptedServer(tls=authority.server(*hosts, **dates)) as server:
        error = error_of(endpoint(server.base_url, ca_file=str(authority.file)))
        assert (error.code, error.retryable) == ("tls", False)
        assert words in error.message
        assert server.chats == []


def test_c18_a_providers_own_authority_is_accepted_and_another_is_not(authority, tmp_path):
    """C18."""
    other = Authority(tmp_path, "Another authority")
    with ScriptedServer(tls=authority.server("127.0.0.1")) as server:
        assert answer_of(endpoint(server.base_url, ca_file=str(authority.file))).text
        for settings in (endpoint(server.base_url), endpoint(server.base_url, ca_file=str(other.file))):
            assert error_of(settings).code == "tls"
        assert len(server.chats) == 1


def test_c18_a_self_signed_certificate_may_be_its_own_authority(tmp_path):
    """C18."""
    context, file = self_signed(tmp_path, "127.0.0.1")
    with ScriptedServer(tls=context) as server:
        assert answer_of(endpoint(server.base_url, ca_file=str(file))).text


def test_c18_a_file_of_several_authorities_trusts_each(authority, tmp_path):
    """C18."""
    both = tmp_path / "both.pem"
    both.write_bytes(Authority(tmp_path, "Another authority").file.read_bytes() + authority.file.read_bytes())
    with ScriptedServer(tls=authority.server("127.0.0.1")) as server:
        assert answer_of(endpoint(server.base_url, ca_file=str(both))).text


@pytest.mark.parametrize("kind", ["self-signed", "expired", "another host"])
def test_c18_without_the_check_any_certificate_will_do(authority, tmp_path, kind):
    """C18."""
    contexts = {
        "self-signed": lambda: self_signed(tmp_path, "127.0.0.1")[0],
        "expired": lambda: authority.server("127.0.0.1", **OLD),
        "another host": lambda: authority.server("other.example"),
    }
    with ScriptedServer(tls=contexts[kind]()) as server:
        assert answer_of(endpoint(server.base_url, verify_tls=False)).text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such CA file"),
        (b"", "no certificate"),
        (b"hello\n", "no certificate"),
        (b"-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n", "no certificate"),
        (b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", "private key"),
        (b"x" * 2_000_001, "larger than 2 MB"),
    ],
)
def test_a_ca_file_that_is_none_is_refused_in_words(tmp_path, content, words):
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        checked_ca_file(str(file))
    assert (caught.value.code, caught.value.fields[0][0]) == ("bad_ca_file", "ca_file")
    with pytest.raises(InputError, match="whole path"):
        checked_ca_file("ca.pem")
    with pytest.raises(InputError, match="no such CA file"):
        checked_ca_file(str(tmp_path))


# -- proxies ------------------------------------------------------------------------------------------------------


@pytest.fixture
def models(authority):
    """A TLS server that stands for https://models.example wherever its name leads."""
    with ScriptedServer(tls=authority.server("models.example")) as running:
        yield running


def through(authority: Authority, **changes: Any) -> Any:
    return endpoint("https://models.example/v1", ca_file=str(authority.file), use_proxy=True, **changes)


@pytest.mark.parametrize("stream", [False, True])
def test_c19_the_proxy_of_the_environment_is_used_where_the_switch_is_on(monkeypatch, authority, models, stream):
    """C19: the name is unknown here, only the proxy knows it; TLS goes end to end."""
    resolving(monkeypatch)
    with Tunnel(models.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert answer_of(through(authority, stream=stream)).text
        assert proxy.asked == ["models.example:443"]
        assert models.chats[0].headers["host"] == "models.example"
        assert "authorization" not in proxy.heads[0].lower()


def test_c19_without_the_switch_the_proxy_is_not_used(monkeypatch, authority, models):
    """C19."""
    resolving(monkeypatch)
    with Tunnel(models.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        settings = endpoint("https://models.example/v1", ca_file=str(authority.file))
        assert error_of(settings, retry=NO_RETRY).code == "connection"
        assert proxy.asked == []


def test_c19_a_name_and_password_in_the_proxys_address_are_for_the_proxy_alone(monkeypatch, authority, models):
    """C19."""
    resolving(monkeypatch)
    with Tunnel(models.port) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.replace("http://", "http://ann:pass@"))
        assert answer_of(through(authority)).text
        assert "Proxy-Authorization: Basic YW5uOnBhc3M=" in proxy.heads[0]
        assert "proxy-authorization" not in models.chats[0].headers


@pytest.mark.parametrize(
    ("base", "allowed", "no_proxy"),
    [
        ("http://127.0.0.1:{port}", (), ""),
        ("http://localhost:{port}", (), ""),
        ("http://gateway.example:{port}", ("gateway.example",), ""),
        ("http://gateway.example:{port}", ("127.0.0.0/8",), ""),
        ("http://gateway.example:{port}", ("127.0.0.1",), ""),
        ("http://gateway.example:{port}", ("127.0.0.1",), "gateway.example"),
        ("http://gateway.example:{port}", ("127.0.0.1",), ".example"),
    ],
)
def test_c19_this_machine_listed_hosts_and_no_proxy_bypass_it(monkeypatch, server, base, allowed, no_proxy):
    """C19."""
    resolving(monkeypatch, **{"gateway.example": "127.0.0.1", "localhost": "127.0.0.1"})
    with Tunnel(server.port) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv("NO_PROXY", no_proxy)
        settings = endpoint(base.format(port=server.port), use_proxy=True)
        assert answer_of(settings, allowed_hosts=allowed).text
        assert proxy.asked == []


def test_a_proxy_that_cannot_be_used_does_not_matter_to_hosts_of_ours(monkeypatch, server):
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1080")
    assert answer_of(endpoint(server.base_url, use_proxy=True)).text


def test_c19_plain_http_goes_through_the_proxy_as_well(monkeypatch, server):
    """C19: the scripted server stands for the proxy, which is asked for the whole address."""
    resolving(monkeypatch, **{"models.example": "93.184.215.14"})
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    assert answer_of(endpoint("http://models.example/v1", use_proxy=True)).text
    assert server.chats[0].path == "http://models.example/v1/chat/completions"


def test_c19_a_proxy_for_plain_http_is_told_its_password_and_no_one_else(monkeypatch, server):
    """C19."""
    resolving(monkeypatch)
    monkeypatch.setenv("HTTP_PROXY", f"http://ann:p%40ss@127.0.0.1:{server.port}")
    assert answer_of(endpoint("http://models.example/v1", use_proxy=True)).text
    assert server.chats[0].headers["proxy-authorization"] == "Basic YW5uOnBAc3M="


def test_without_a_proxy_in_the_environment_the_switch_changes_nothing(server):
    assert answer_of(endpoint(server.base_url, use_proxy=True)).text


@pytest.mark.parametrize("address", ["10.1.2.3", "169.254.169.254", "127.0.0.1", "0.0.0.0"])
def test_f2_behind_a_proxy_too_a_name_that_leads_inside_is_refused(monkeypatch, authority, models, address):
    """F2."""
    resolving(monkeypatch, **{"models.example": address})
    with Tunnel(models.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = error_of(through(authority))
        assert (error.code, error.retryable, error.tries) == ("connection", False, 1)
        assert proxy.asked == []


@pytest.mark.parametrize(("status", "tries"), [(407, 1), (403, 1), (502, 4)])
def test_a_proxy_that_refuses_is_named(monkeypatch, authority, models, status, tries):
    resolving(monkeypatch)
    with Tunnel(models.port, status=status) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = error_of(through(authority))
    assert (error.code, error.tries) == ("connection", tries)
    assert "proxy" in error.message and str(status) in error.message


def test_a_proxy_that_is_not_there_is_named(monkeypatch, authority):
    resolving(monkeypatch)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{held.getsockname()[1]}")
        error = error_of(through(authority), retry=NO_RETRY)
    assert error.code == "connection" and "proxy" in error.message


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1080", "http://[", "ftp://proxy.example"])
def test_a_proxy_that_cannot_be_used_is_refused_in_words(monkeypatch, address):
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(InputError) as caught:
        using(endpoint("https://models.example/v1", use_proxy=True), lambda model: model.models())
    assert caught.value.code == "bad_proxy"


# -- time ---------------------------------------------------------------------------------------------------------


def test_connecting_has_a_time_out_of_its_own():
    """C7: nothing was asked, so it counts as unreachable and not as slow."""
    with socket.socket() as silent:  # takes the connection and never says hello
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        error = error_of(endpoint(url, timeout_s=30, connect_timeout_s=0.2), retry=NO_RETRY)
        assert (error.code, error.retryable) == ("connection", True)
        assert "cannot be reached" in error.message
        error = error_of(endpoint(url, timeout_s=0.2), retry=NO_RETRY)
        assert error.code == "timeout"


def test_the_time_out_on_connecting_leaves_answers_their_time(server):
    server.always(Step(delay_s=1.2))
    assert answer_of(endpoint(server.base_url, connect_timeout_s=1)).text
