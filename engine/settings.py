"""The only reader of environment variables.

Names are upper case in the environment and in `.env`; every one is described in docs/tutorial/operations.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from engine.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
"""The project's root: the bundled bank and the dashboard live below it."""

WEAK_SECRET_CHARACTERS = 32


class Settings(BaseSettings):
    """How this process runs."""

    model_config = SettingsConfigDict(env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True)

    app_env: Literal["test", "production"] = "test"
    app_debug: bool = False
    log_level_test: str = "INFO"
    log_level_production: str = "WARNING"
    log_json: bool = False
    cors_allow_origins: str = ""
    """Origins that may call the API from a browser, comma separated; empty means none but our own."""

    auth_token_secret: SecretStr = SecretStr("")
    auth_token_ttl_seconds: int = Field(default=3600, gt=0)
    auth_token_refresh_window_seconds: int = Field(default=1800, gt=0)
    auth_refresh_token_ttl_seconds: int = Field(default=28800, gt=0)

    database_url: str = "sqlite:///./data/platform.db"
    secrets_key_file: Path | None = None
    """Holds the key that provider keys are encrypted with; default: beside the database."""

    request_timeout_seconds: float = Field(default=180, gt=0)
    request_retry_count: int = Field(default=5, ge=0)
    request_retry_delay_seconds: float = Field(default=5, ge=0)
    request_retry_max_delay_seconds: float = Field(default=60, ge=0)
    run_pause_max_seconds: float = Field(default=600, ge=0)
    """How long a run waits for a provider that is down before it ends as interrupted."""

    provider_allowed_hosts: str = ""
    """Private hosts or networks that providers may lie on, comma separated; public ones and loopback always may."""

    demo_answer_seconds: float = Field(default=0.7, ge=0, le=60)
    """The slowest answer of the built-in demo model, so that a first run can be watched; 0 answers at once."""

    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65535)

    bank_file: Path = ROOT / "data" / "dataset.json"
    rules_file: Path = ROOT / "data" / "rules.json"
    """The rules that new runs are frozen with."""
    control_cases_file: Path | None = ROOT / "data" / "control_cases.json"
    """Answers whose verdict is known, put before the judge model of every run; None (set to nothing): none."""
    audit_share: float = Field(default=0.05, ge=0, le=1)
    """The share of confident verdicts that a person looks at too."""
    judge_agreement_floor: float = Field(default=0.8, ge=0, le=1)
    """A judge model that agrees less often than this with people on a clause, over all or certainly on one side, has no
    vote there; 0 trusts it always."""
    judge_agreement_reviews: int = Field(default=10, ge=1)
    """Decisions of people about a judge model on a clause, below which its agreement there is not measured."""

    magistrate_kill_at: str = ""
    """A testing aid: the moment of a run at which this process kills itself. Ignored in production."""

    @field_validator("control_cases_file", mode="before")
    @classmethod
    def _nothing_is_none(cls, value: object) -> object:
        return None if value == "" else value

    @property
    def is_production(self) -> bool:
        return self.app_env == "production"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        return tuple(host.strip() for host in self.provider_allowed_hosts.split(",") if host.strip())

    @property
    def log_level(self) -> str:
        return self.log_level_production if self.is_production else self.log_level_test


def load() -> Settings:
    """Settings of this process.

    Raises:
        InputError: a value cannot be used; names the variable and what is wrong with it.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).upper() if first["loc"] else "settings"
        raise InputError(f"{name}: {first['msg']}", code="bad_setting") from error
