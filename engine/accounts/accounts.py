"""Signing in, and the passwords behind it."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from pydantic import SecretStr

from engine.accounts import passwords, throttle
from engine.accounts.audit import LONGEST_NAME, Trail
from engine.accounts.passwords import DEFAULT_PASSWORD, DEFAULT_USERNAME, Passwords
from engine.accounts.sessions import PASSWORD_CHANGED, Sessions, warning
from engine.accounts.shapes import DashboardSession, Tokens
from engine.domain.accounts import Role, User
from engine.domain.base import utc_now
from engine.errors import ConflictError, InputError, NotAuthenticated, PermissionDenied, TooManyAttempts
from engine.store import Stores

SHORTEST_SECRET = 32

KEPT_AFTER_EXPIRY = timedelta(days=30)
"""Sessions that ended longer ago are swept out when somebody signs in; the audit trail keeps that they were there."""


class Accounts:
    """Who somebody is, and whether they still are.

    Args:
        stores: Of the one database.
        token_secret: Signs access tokens. Empty, in a test environment only: one that lives as long as this process.
        access_ttl_s: Life of an access token.
        refresh_window_s: A refresh is due when at most so much of it is left.
        refresh_ttl_s: Life of a refresh token and of a browser's session, from its last renewal or use.
        production: Refuses a weak secret, and lets an account with the default password do nothing but change it.
        clock: What time it is.
        password_rounds: Of new password records.

    Raises:
        InputError: code `weak_secret`.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        token_secret: SecretStr,
        access_ttl_s: float,
        refresh_window_s: float,
        refresh_ttl_s: float,
        production: bool,
        clock: Callable[[], datetime] = utc_now,
        password_rounds: int = passwords.ROUNDS,
    ) -> None:
        if production and len(token_secret.get_secret_value()) < SHORTEST_SECRET:
            raise InputError(
                f"AUTH_TOKEN_SECRET must be random and have at least {SHORTEST_SECRET} characters", code="weak_secret"
            )
        self._stores = stores
        self._failures = stores.sessions
        self._production = production
        self._clock = clock
        self._passwords = Passwords(rounds=password_rounds)
        self._trail = Trail(stores.audit)
        self.sessions = Sessions(
            stores,
            token_secret=token_secret if token_secret.get_secret_value() else SecretStr(secrets.token_urlsafe(48)),
            access_ttl_s=access_ttl_s,
            refresh_window_s=refresh_window_s,
            refresh_ttl_s=refresh_ttl_s,
            clock=clock,
            trail=self._trail,
        )

    def ensure_default_admin(self) -> bool:
        """Create `gly` with the public default password unless there is one; True when it was created.

        An existing account is never touched, whatever its password.
        """
        if self._stores.users.by_name(DEFAULT_USERNAME) is not None:
            return False
        try:
            user = self._stores.users.create(
                DEFAULT_USERNAME,
                role=Role.ADMIN,
                password_hash=self._passwords.hash(DEFAULT_PASSWORD),
                must_change_password=True,
            )
        except ConflictError:
            return False  # another process was quicker
        self._trail.note("system", "user.create", f"user:{user.id}", username=DEFAULT_USERNAME, role=Role.ADMIN)
        return True

    def login(self, username: str, password: str, *, client: str) -> Tokens:
        """Sign a program in.

        Raises:
            NotAuthenticated: `invalid_credentials`, the same for every reason.
            TooManyAttempts: too many failures before; says when to come back.
            InputError: `password_too_long`.
        """
        with self._proved(username, password, client=client) as user:
            answer, session_id = self.sessions.open(user)
            self._trail.note(user.username, "session.login", f"session:{session_id}", client=client)
        return answer

    def open_session(self, username: str, password: str, *, client: str) -> DashboardSession:
        """Sign a browser in; raises as `login` does."""
        with self._proved(username, password, client=client) as user:
            session = self.sessions.open_for_browser(user)
            target = f"session:{session.session_id}"
            self._trail.note(user.username, "session.login", target, client=client, browser=True)
        return session

    def logout(self, session_id: int, *, actor: User) -> None:
        """End the session of a program: access and refresh token are dead at once."""
        self._trail.note(actor.username, "session.logout", f"session:{session_id}")
        self.sessions.end(session_id)

    def close_session(self, session_id: int, *, actor: User) -> str:
        """End the session of a browser; answers with the one-time code that removes its cookie."""
        self._trail.note(actor.username, "session.logout", f"session:{session_id}", browser=True)
        return self.sessions.end_of_browser(session_id)

    def change_password(self, current: str, new: str, *, actor: User) -> None:
        """Change one's own password; every session of that user ends, this one too.

        Raises:
            InputError: `wrong_password`, `weak_password`, `password_too_long`.
            TooManyAttempts: too many wrong ones before.
        """
        passwords.check_length(current)
        passwords.check_length(new)
        # Apart from the sign-in's count: guessing here must not lock the owner out, nor the other way round.
        counter = f"password:{actor.id}"
        target = f"user:{actor.id}"
        with self._passwords.turn():
            self._require_patience(counter)
            record = self._stores.users.password_hash(actor.id)
            if not self._passwords.verify(current, record):
                self._note_failure(counter)
                self._trail.note(actor.username, "user.change_password", target, outcome="wrong_password")
                raise InputError("the current password is wrong", code="wrong_password", bad_request=True)
            passwords.check_strength(new, username=actor.username)
            if self._passwords.verify(new, record):
                raise InputError("the new password is the old one", code="weak_password")
            new_record = self._passwords.hash(new)
            self._trail.note(actor.username, "user.change_password", target)
            self._failures.clear_failures(counter)
            # Sessions first, and all in one turn: a crash in between leaves nobody signed in with the old password,
            # and nobody can sign in with it meanwhile.
            self._stores.sessions.revoke_all(actor.id, reason=PASSWORD_CHANGED)
            self._stores.users.set_password(actor.id, new_record)

    def require_own_password(self, user: User) -> None:
        """Raises PermissionDenied `password_change_required` in production while the default password is unchanged."""
        if self._production and user.must_change_password:
            raise PermissionDenied(
                "change your password first: PATCH /api/v1/auth/password", code="password_change_required"
            )

    def warning(self, user: User) -> str | None:
        """What the user should be told, if anything."""
        return warning(user)

    @contextmanager
    def _proved(self, username: str, password: str, *, client: str) -> Iterator[User]:
        """The active user with this password, while nobody else signs in; costs the same whatever is wrong."""
        passwords.check_length(password)
        name = unicodedata.normalize("NFKC", username).strip()
        counter = f"login:{name.casefold()[:LONGEST_NAME]}"
        self._require_patience(counter)
        with self._passwords.turn():
            self._require_patience(counter)  # again: of guesses that came at once, each sees the failures before it
            user = self._stores.users.by_name(name)
            record = self._stores.users.password_hash(user.id) if user is not None else None
            right = self._passwords.verify(password, record)
            if user is None or record is None or not right or not user.is_active:
                self._note_failure(counter)
                self._trail.note(name, "session.login", "user", outcome="invalid_credentials", client=client)
                raise NotAuthenticated("user name or password is wrong", code="invalid_credentials")
            self._failures.clear_failures(counter)
            if self._passwords.is_outdated(record):
                self._stores.users.upgrade_hash(user.id, self._passwords.hash(password))
            self._failures.remove_expired(self._clock() - KEPT_AFTER_EXPIRY)
            yield user

    def _require_patience(self, counter: str) -> None:
        failures = self._failures.failures(counter)
        if failures.last_at is None:
            return
        left_s = throttle.remaining_s(failures.count, last_at=failures.last_at, now=self._clock())
        if left_s > 0:
            raise TooManyAttempts("too many failed attempts; wait before you try again", retry_after_s=left_s)

    def _note_failure(self, counter: str) -> None:
        now = self._clock()
        self._failures.remove_failures(now - throttle.FORGOTTEN_AFTER)
        self._failures.add_failure(counter, now)
