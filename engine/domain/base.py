"""What all domain models share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer


class Model(BaseModel):
    """A frozen value whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Localized(Model):
    """One text for people, in both languages of the product."""

    zh: str
    en: str

    def in_language(self, language: str) -> str:
        """The text for a BCP 47 tag or a gettext locale; anything that is not Chinese reads English."""
        return self.zh if language.lower().startswith("zh") else self.en


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """RFC 3339 in UTC with `Z`, milliseconds kept."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(rfc3339, return_type=str, when_used="json")]
"""An aware datetime in UTC; JSON shows it as the REST contract asks."""

Item = TypeVar("Item")


class Page(Model, Generic[Item]):
    """A slice of a list and how long the whole list is."""

    items: tuple[Item, ...]
    total: int
