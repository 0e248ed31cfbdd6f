"""Sessions: how they open, are proved, are renewed and end.

A session is one sign-in, of a program (access and refresh token) or of a browser (a cookie). Its row is asked at every
request, so ending it ends everything that was given out for it at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import SecretStr

from engine.accounts import tokens
from engine.accounts.audit import Trail
from engine.accounts.shapes import DashboardSession, Tokens
from engine.domain.accounts import User
from engine.errors import ConflictError, InputError, NotAuthenticated, NotFoundError
from engine.store import StoredSession, Stores

REPLAY_FOR = timedelta(minutes=10)
"""How long a renewal's answer can be had again with the same token and key."""

CODE_LIFE = timedelta(seconds=60)

CLOCK_SLACK = timedelta(seconds=60)
"""A token from further in the future was made before the clock was set back; it is refused."""

SLIDE_EVERY = timedelta(minutes=1)
"""A browser's session is prolonged at most so often: a page draws many times a minute, and each write is a commit."""

REMEMBERED_EXPIRIES = 10_000

LONGEST_KEY = 255

EXPIRED = "expired"
REUSED = "refresh_reused"
LOGGED_OUT = "logged_out"
PASSWORD_CHANGED = "password_changed"  # noqa: S105

CHANGE_PASSWORD_WARNING = "the password of this account must be changed: PATCH /api/v1/auth/password"  # noqa: S105


class Sessions:
    """All that is done with sessions once somebody has proved who they are."""

    def __init__(
        self,
        stores: Stores,
        *,
        token_secret: SecretStr,
        access_ttl_s: float,
        refresh_window_s: float,
        refresh_ttl_s: float,
        clock: Callable[[], datetime],
        trail: Trail,
    ) -> None:
        self._users = stores.users
        self._store = stores.sessions
        self._signer = tokens.Signer(token_secret)
        self._access_ttl = timedelta(seconds=access_ttl_s)
        self._refresh_window = timedelta(seconds=refresh_window_s)
        self._refresh_ttl = timedelta(seconds=refresh_ttl_s)
        self._clock = clock
        self._trail = trail
        # Per session the latest expiry that was refused: a clock set back revives no token that was seen dead.
        self._refused: OrderedDict[int, int] = OrderedDict()

    # programs

    def open(self, user: User) -> tuple[Tokens, int]:
        """A new session of a program, and its id."""
        now = self._clock()
        refresh_token = tokens.new_secret()
        session = self._new(user, refresh_token=refresh_token, now=now)
        return self._answer(user, session_id=session.id, generation=0, refresh_token=refresh_token, now=now), session.id

    def authenticate(self, access_token: str) -> tuple[User, int]:
        """Who holds this token, and through which session.

        Raises:
            NotAuthenticated: `not_authenticated`, `token_expired` or `session_revoked`.
        """
        claims = self._signer.read(access_token)
        now = self._clock()
        if claims.exp <= now.timestamp() or claims.exp <= self._refused.get(claims.sid, 0):
            self._remember_refusal(claims.sid, claims.exp)
            raise NotAuthenticated("the access token has expired; refresh it or sign in again", code="token_expired")
        if claims.iat > (now + CLOCK_SLACK).timestamp():
            raise NotAuthenticated("the access token is from the future; sign in again")
        session, user = self._alive(self._stored(claims.sid), now)
        if claims.sub != str(user.id) or claims.gen > session.generation:
            raise NotAuthenticated("the access token does not fit its session; sign in again")
        return user, session.id

    def refresh(self, refresh_token: str, *, idempotency_key: str | None) -> Tokens:
        """Renew both tokens. The checks come in the order that the REST contract gives.

        Raises:
            InputError: `idempotency_key_required`, `bad_idempotency_key`.
            NotAuthenticated: `not_authenticated`, `token_expired`, `session_revoked`, `refresh_reused`.
            ConflictError: `refresh_not_due`.
        """
        key = _sane(idempotency_key)
        while True:
            answer = self._refresh_once(refresh_token, key)
            if answer is not None:
                return answer
            # Somebody else renewed between our look and our write: look again, the token is an old one now.

    def _refresh_once(self, refresh_token: str, key: str) -> Tokens | None:
        now = self._clock()
        presented = tokens.fingerprint(refresh_token)
        found = self._store.by_refresh_hash(presented)
        if found is None:
            raise NotAuthenticated("the refresh token is unknown; sign in again")
        session, user = self._alive(found, now)
        if presented != session.refresh_hash:
            return self._replayed(session, user, refresh_token, presented=presented, key=key, now=now)
        if session.access_expires - now > self._refresh_window:
            raise ConflictError(
                "the access token is not about to expire; refresh when at most "
                f"{round(self._refresh_window.total_seconds())} s are left",
                code="refresh_not_due",
            )
        new_token = tokens.new_secret()
        answer = self._answer(
            user, session_id=session.id, generation=session.generation + 1, refresh_token=new_token, now=now
        )
        rotated = self._store.rotate(
            session.id,
            expected_current_hash=presented,
            new_hash=tokens.fingerprint(new_token),
            access_expires=now + self._access_ttl,
            refresh_expires=now + self._refresh_ttl,
            replay_key=tokens.fingerprint(key),
            replay_ciphertext=tokens.seal(answer.model_dump_json(), token=refresh_token, context=key),
            replay_until=now + REPLAY_FOR,
        )
        if not rotated:
            return None
        self._trail.note(user.username, "session.refresh", f"session:{session.id}", generation=session.generation + 1)
        return answer

    def _replayed(
        self, session: StoredSession, user: User, refresh_token: str, *, presented: str, key: str, now: datetime
    ) -> Tokens:
        """The answer this token had before, for a client that lost it; anything else looks like theft."""
        if (
            presented == session.previous_refresh_hash
            and session.replay_ciphertext is not None
            and session.replay_until is not None
            and now < session.replay_until
        ):
            answer = tokens.unseal(session.replay_ciphertext, token=refresh_token, context=key)
            if answer is not None:
                return Tokens.model_validate_json(answer)
        # Ended first: that a theft cannot be written down is no reason to let it go on.
        self._store.revoke(session.id, reason=REUSED)
        self._trail.note(user.username, "session.refresh", f"session:{session.id}", outcome=REUSED)
        raise NotAuthenticated(
            "this refresh token was used before; the session was ended, sign in again", code="refresh_reused"
        )

    # browsers

    def open_for_browser(self, user: User) -> DashboardSession:
        """A new session of a browser, with the one-time code that turns into its cookie."""
        now = self._clock()
        # Nobody ever gets this refresh token: such a session is prolonged by being used.
        session = self._new(user, refresh_token=tokens.new_secret(), now=now)
        return self._shown(session, user, code=self._new_code(session.id, now))

    def redeem_code(self, code: str) -> str:
        """The cookie's value for a one-time code.

        Raises:
            NotAuthenticated: the code is unknown, used or too old, or its session has ended.
        """
        now = self._clock()
        session, _ = self._alive(self._store.take_code(tokens.fingerprint(code), now), now)
        cookie = tokens.new_secret()
        self._store.set_cookie(session.id, tokens.fingerprint(cookie))
        return cookie

    def redeem_closing_code(self, code: str) -> None:
        """Whether a cookie may be removed: only with the code that ending its session gave out.

        Raises:
            NotAuthenticated: the code is unknown, used or too old, or its session goes on.
        """
        session = self._store.take_code(tokens.fingerprint(code), self._clock())
        if session is None or session.revoked_at is None:
            raise NotAuthenticated("the one-time code cannot be used")

    def by_cookie(self, value: str) -> DashboardSession | None:
        return self._of_browser(self._store.by_cookie_hash(tokens.fingerprint(value)))

    def by_id(self, session_id: int) -> DashboardSession | None:
        return self._of_browser(self._stored(session_id))

    def _of_browser(self, session: StoredSession | None) -> DashboardSession | None:
        now = self._clock()
        try:
            session, user = self._alive(session, now)
        except NotAuthenticated:
            return None
        if abs(now + self._refresh_ttl - session.refresh_expires) >= SLIDE_EVERY:
            self._store.slide(session.id, now + self._refresh_ttl)
        return self._shown(session, user)

    # both

    def end(self, session_id: int) -> None:
        self._store.revoke(session_id, reason=LOGGED_OUT)

    def end_of_browser(self, session_id: int) -> str:
        """End the session; answers with the one-time code that removes its cookie."""
        self._store.revoke(session_id, reason=LOGGED_OUT)
        return self._new_code(session_id, self._clock())

    def _new(self, user: User, *, refresh_token: str, now: datetime) -> StoredSession:
        return self._store.create(
            user.id,
            refresh_hash=tokens.fingerprint(refresh_token),
            access_expires=now + self._access_ttl,
            refresh_expires=now + self._refresh_ttl,
        )

    def _new_code(self, session_id: int, now: datetime) -> str:
        code = tokens.new_secret()
        self._store.put_code(tokens.fingerprint(code), session_id, now + CODE_LIFE)
        return code

    def _stored(self, session_id: int) -> StoredSession | None:
        try:
            return self._store.get(session_id)
        except NotFoundError:
            return None

    def _alive(self, session: StoredSession | None, now: datetime) -> tuple[StoredSession, User]:
        """The session and its user as they are now.

        Raises:
            NotAuthenticated: `token_expired`, or `session_revoked` for every other end.
        """
        if session is None:
            raise NotAuthenticated("the session is gone; sign in again", code="session_revoked")
        if session.revoked_at is None and session.refresh_expires <= now:
            # Written down, so that a clock set back does not revive it.
            self._store.revoke(session.id, reason=EXPIRED)
            raise NotAuthenticated("the session has expired; sign in again", code="token_expired")
        if session.revoked_at is not None:
            code = "token_expired" if session.revoke_reason == EXPIRED else "session_revoked"
            raise NotAuthenticated("the session has ended; sign in again", code=code)
        user = self._users.by_id(session.user_id)
        if not user.is_active:
            raise NotAuthenticated("the account is disabled", code="session_revoked")
        return session, user

    def _answer(self, user: User, *, session_id: int, generation: int, refresh_token: str, now: datetime) -> Tokens:
        issued_at = int(now.timestamp())
        claims = tokens.AccessClaims(
            typ=tokens.ACCESS,
            sid=session_id,
            sub=str(user.id),
            iat=issued_at,
            exp=issued_at + int(self._access_ttl.total_seconds()),
            gen=generation,
        )
        return Tokens(
            access_token=self._signer.sign(claims),
            refresh_token=refresh_token,
            expires_in=int(self._access_ttl.total_seconds()),
            refresh_expires_in=int(self._refresh_ttl.total_seconds()),
            user=user,
            warning=warning(user),
        )

    def _shown(self, session: StoredSession, user: User, *, code: str | None = None) -> DashboardSession:
        return DashboardSession(user=user, session_id=session.id, code=code, warning=warning(user))

    def _remember_refusal(self, session_id: int, expiry: int) -> None:
        self._refused[session_id] = max(expiry, self._refused.get(session_id, 0))
        self._refused.move_to_end(session_id)
        if len(self._refused) > REMEMBERED_EXPIRIES:
            self._refused.popitem(last=False)


def warning(user: User) -> str | None:
    return CHANGE_PASSWORD_WARNING if user.must_change_password else None


def _sane(key: str | None) -> str:
    if not key or not key.strip():
        raise InputError(
            "a refresh needs the header Idempotency-Key: one key for one refresh and its network retries",
            code="idempotency_key_required",
            bad_request=True,
        )
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise InputError(
            f"Idempotency-Key must be 1 to {LONGEST_KEY} printable ASCII characters",
            code="bad_idempotency_key",
            bad_request=True,
        )
    return key
