"""People and what they may do."""

from __future__ import annotations

from enum import StrEnum

from engine.domain.base import Model, Timestamp
from engine.errors import PermissionDenied


class Role(StrEnum):
    VIEWER = "viewer"
    REVIEWER = "reviewer"
    LEAD = "lead"
    ADMIN = "admin"


class Permission(StrEnum):
    """A right, named after what it lets a person do."""

    READ = "read"
    STEER_RUNS = "steer_runs"
    REVIEW = "review"
    CHECK_PROVIDERS = "check_providers"
    MANAGE_PROVIDERS = "manage_providers"
    MANAGE_BANKS = "manage_banks"
    MANAGE_USERS = "manage_users"


_REVIEWER = frozenset({Permission.READ, Permission.STEER_RUNS, Permission.REVIEW, Permission.CHECK_PROVIDERS})

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({Permission.READ}),
    Role.REVIEWER: _REVIEWER,
    Role.LEAD: _REVIEWER | {Permission.MANAGE_BANKS},
    Role.ADMIN: frozenset(Permission),
}


class User(Model):
    """A person with an account, as others may see it."""

    id: int
    username: str
    display_name: str
    role: Role
    is_active: bool
    must_change_password: bool
    created_at: Timestamp

    def may(self, permission: Permission) -> bool:
        return permission in PERMISSIONS[self.role]

    def require(self, permission: Permission) -> None:
        """Raises PermissionDenied unless the role carries the right."""
        if not self.may(permission):
            raise PermissionDenied(f"your role, {self.role}, does not allow this ({permission})")
