"""The address that is served, and files that others may read."""

from __future__ import annotations

import socket

import pytest
from pydantic import SecretStr

from engine.accounts.vault import Vault, hint
from engine.assembly import open_engine
from engine.errors import ConflictError, InputError, UnavailableError
from engine.services import health, installation
from tests.support import engines


def test_an_address_of_another_machine_is_refused_in_words(tmp_path):
    elsewhere = engines.settings(tmp_path, host="192.0.2.1")
    with pytest.raises(InputError, match="address of this machine"):
        installation.require_address(elsewhere, default_password=False)


def test_a_port_in_use_names_the_next_one_to_try(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConflictError, match=f"PORT={port + 1}"):
            installation.require_address(engines.settings(tmp_path, port=port), default_password=True)
    installation.require_address(engines.settings(tmp_path, port=port), default_password=True)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_is_known_in_all_its_forms(host):
    assert installation.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "example.com", "::"])
def test_everything_else_is_an_open_address(host):
    assert not installation.is_loopback(host)


def test_a_settings_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        installation.write_env_file(tmp_path / "no" / ".env")


def test_the_log_level_and_form_follow_the_settings(tmp_path, capsys):
    import structlog

    from engine.assembly import configure_logging

    try:
        configure_logging(engines.settings(tmp_path, app_env="production", log_json=True))
        structlog.get_logger().info("quiet")
        structlog.get_logger().warning("loud", run_id=3)
        configure_logging(engines.settings(tmp_path, app_debug=True))
        structlog.get_logger().debug("detail")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "quiet" not in said and '"run_id": 3' in said and "detail" in said


def test_an_unmigrated_database_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(UnavailableError, match="migrate"):
        open_engine(engines.settings(tmp_path), run_worker=True, name="test")


def test_health_says_who_runs_the_engine_and_fails_when_its_thread_is_gone(tmp_path):
    with engines.opened(tmp_path) as first:
        assert health.report(first).engine == "running"
        with engines.opened(tmp_path) as second:
            assert health.report(second).engine == "locked_elsewhere"
        first.worker.stop()
        with pytest.raises(UnavailableError):
            health.report(first)


class TestVault:
    def test_a_sealed_key_opens_again_and_is_not_readable_in_between(self, tmp_path):
        vault = Vault(tmp_path / "v.key")
        sealed = vault.seal(SecretStr("canary-4711"))
        assert b"canary" not in sealed
        assert vault.open(sealed).get_secret_value() == "canary-4711"
        assert (tmp_path / "v.key").stat().st_mode & 0o777 == 0o600
        assert Vault(tmp_path / "v.key").open(sealed).get_secret_value() == "canary-4711"

    def test_a_missing_wrong_or_broken_key_file_is_named(self, tmp_path):
        vault = Vault(tmp_path / "v.key")
        sealed = vault.seal(SecretStr("x"))
        (tmp_path / "v.key").rename(tmp_path / "kept.key")
        with pytest.raises(UnavailableError, match=r"v\.key"):
            vault.open(sealed)
        vault.seal(SecretStr("y"))
        with pytest.raises(UnavailableError) as wrong:
            vault.open(sealed)
        assert wrong.value.code == "wrong_secrets_key"
        (tmp_path / "v.key").write_text("nonsense")
        with pytest.raises(UnavailableError, match="no usable key"):
            vault.open(sealed)

    def test_the_hint_gives_away_nothing_of_a_short_key(self):
        assert hint(SecretStr("sk-0123456789abcd")) == "abcd"
        assert hint(SecretStr("elevenchars")) == ""


def test_the_server_is_started_with_its_guards_whatever_folder_it_is_in(tmp_path):
    command = installation.server_command(engines.settings(tmp_path, port=8123))
    flags = dict(zip(command[5::2], command[6::2], strict=True))
    assert command[1:4] == ["-m", "streamlit", "run"] and command[4].endswith("server.py")
    assert flags["--server.address"] == "127.0.0.1" and flags["--server.port"] == "8123"
    assert flags["--client.showErrorDetails"] == "none" and flags["--client.showErrorLinks"] == "false"
    assert flags["--server.enableXsrfProtection"] == "true" and flags["--server.enableAgentApi"] == "false"
    assert flags["--theme.light.primaryColor"] == "#2F5D8C"


def test_a_secret_that_could_be_guessed_is_refused(tmp_path):
    with pytest.raises(InputError) as short:
        installation.prepare(engines.settings(tmp_path, auth_token_secret=SecretStr("short")))
    assert short.value.code == "weak_secret"
    with pytest.raises(InputError):
        installation.require_sound_secret(
            engines.settings(tmp_path, auth_token_secret=SecretStr(""), app_env="production")
        )
