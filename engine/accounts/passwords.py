"""Passwords: how they are kept, how they are checked, and which are too weak to take."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import InputError, TooManyAttempts

ALGORITHM = "pbkdf2_sha256"
ROUNDS = 600_000
SALT_BYTES = 16
HASH_BYTES = 32

MAX_BYTES = 1024
"""Longer ones are refused before any hashing, so that a megabyte costs us nothing."""

MIN_CHARACTERS = 10

DEFAULT_USERNAME = "gly"
DEFAULT_PASSWORD = "maxta2026"  # noqa: S105  public: printed at the first start, to be changed

WAITING_AT_MOST = 32
"""Callers that may wait for their turn; below the 40 threads of the API, so that others still get one."""


def _encoded(password: str) -> bytes:
    """The bytes that are hashed: NFC, so that a password typed on another keyboard is the same password.

    Raises:
        InputError: longer than MAX_BYTES.
    """
    # Lone surrogates reach us through JSON escapes; they are hashed like any other text instead of failing.
    if len(password) <= MAX_BYTES:
        encoded = unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")
        if len(encoded) <= MAX_BYTES:
            return encoded
    raise InputError(f"a password has at most {MAX_BYTES} bytes", code="password_too_long")


def check_length(password: str) -> None:
    """Cheap, for callers who want to refuse before they wait.

    Raises:
        InputError: code `password_too_long`.
    """
    _encoded(password)


def check_strength(password: str, *, username: str) -> None:
    """Whether a new password may be taken.

    Raises:
        InputError: code `weak_password`, saying what is missing.
    """
    check_length(password)
    folded = unicodedata.normalize("NFKC", password).casefold().strip()
    if len(password) < MIN_CHARACTERS:
        reason = f"a password needs at least {MIN_CHARACTERS} characters"
    elif folded == unicodedata.normalize("NFKC", username).casefold().strip():
        reason = "a password must not be the user name"
    elif folded == DEFAULT_PASSWORD:
        reason = "the default password is public and cannot be used"
    elif len(set(folded)) < 4:
        reason = "a password needs at least 4 different characters"
    else:
        return
    raise InputError(reason, code="weak_password", fields=(("body.new_password", reason),))


class Passwords:
    """Hashes and verifies, a few at a time.

    One verification costs tens to hundreds of milliseconds of a core; without turns a burst of logins would fill every
    core and stop the run that is going on.
    """

    def __init__(self, *, rounds: int = ROUNDS, at_once: int = 1) -> None:
        self._rounds = rounds
        self._turns = threading.BoundedSemaphore(at_once)
        self._places = threading.BoundedSemaphore(WAITING_AT_MOST)
        # A record nobody's password matches: checking it costs what checking a real one costs. Its hash is drawn, not
        # derived, so that a process in which nobody signs in does not pay for one.
        self._nobody = _record(rounds, salt=os.urandom(SALT_BYTES), digest=os.urandom(HASH_BYTES))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn; everything slow, and the throttle that guards it, happens within one.

        Raises:
            TooManyAttempts: so many wait already that waiting would starve other requests of threads.
        """
        if not self._places.acquire(blocking=False):
            raise TooManyAttempts("too many sign-ins at this moment; try again in a few seconds", retry_after_s=5)
        try:
            with self._turns:
                yield
        finally:
            self._places.release()

    def hash(self, password: str) -> str:
        """The record to store: `pbkdf2_sha256$rounds$salt$hash`, salt and hash in base64."""
        salt = os.urandom(SALT_BYTES)
        digest = _derive(_encoded(password), salt=salt, rounds=self._rounds, length=HASH_BYTES)
        return _record(self._rounds, salt=salt, digest=digest)

    def verify(self, password: str, record: str | None) -> bool:
        """Whether the password belongs to the record. None (no such user) costs the same and is never right."""
        encoded = _encoded(password)
        rounds, salt, expected = _parts(self._nobody if record is None else record)
        actual = _derive(encoded, salt=salt, rounds=rounds, length=len(expected))
        return hmac.compare_digest(actual, expected) and record is not None

    def is_outdated(self, record: str) -> bool:
        """Whether the record was made with fewer rounds or a shorter salt than we use now."""
        rounds, salt, _ = _parts(record)
        return rounds < self._rounds or len(salt) < SALT_BYTES


def _record(rounds: int, *, salt: bytes, digest: bytes) -> str:
    return f"{ALGORITHM}${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def _derive(encoded: bytes, *, salt: bytes, rounds: int, length: int) -> bytes:
    # Here, as in tokens.py: the command line opens an engine too, and signs nobody in.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    return PBKDF2HMAC(algorithm=SHA256(), length=length, salt=salt, iterations=rounds).derive(encoded)


def _parts(record: str) -> tuple[int, bytes, bytes]:
    try:
        algorithm, rounds, salt, digest = record.split("$")
        if algorithm != ALGORITHM:
            raise ValueError(algorithm)
        return int(rounds), base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True)
    except (ValueError, binascii.Error) as error:
        raise InputError("a stored password record cannot be read; reset that password", code="bad_record") from error
