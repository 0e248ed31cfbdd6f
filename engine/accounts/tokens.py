"""Tokens: signed ones that open the API for an hour, opaque ones that renew them, and secrets kept only as hashes.

The libraries are imported where they are used: the command line opens an engine too, and signs nobody in.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from functools import cached_property

from pydantic import SecretStr, ValidationError

from engine.domain.base import Model
from engine.errors import NotAuthenticated

ALGORITHM = "HS256"
ACCESS = "access"
SECRET_BYTES = 32
NONCE_BYTES = 12


class AccessClaims(Model):
    """What an access token says. Times are whole seconds since the epoch."""

    typ: str
    sid: int
    """The session, asked anew at every request: a token outlives its session in no case."""
    sub: str
    """The user's id."""
    iat: int
    exp: int
    gen: int
    """How often the session had been renewed when this token was made."""


class Signer:
    """Makes and reads access tokens with one secret and one algorithm."""

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret

    @cached_property
    def _key(self) -> bytes:
        """For this purpose alone, and of full length whatever the secret's is."""
        return _derived(self._secret.get_secret_value(), purpose=b"magistrate access token")

    def sign(self, claims: AccessClaims) -> str:
        import jwt

        return jwt.encode(claims.model_dump(), self._key, algorithm=ALGORITHM)

    def read(self, token: str) -> AccessClaims:
        """The claims of a token that we signed; whether its time is over is for the caller, who knows the clock.

        Raises:
            NotAuthenticated: not ours, altered, signed in another way, or of another type.
        """
        import jwt

        try:
            payload = jwt.decode(
                token,
                self._key,
                algorithms=[ALGORITHM],
                options={"verify_exp": False, "verify_iat": False, "require": ["exp", "iat", "sub"]},
            )
            claims = AccessClaims.model_validate(payload)
        except (jwt.InvalidTokenError, ValidationError, UnicodeError) as error:
            raise NotAuthenticated("the access token cannot be used; sign in again") from error
        if claims.typ != ACCESS:
            raise NotAuthenticated("this is no access token; sign in again")
        return claims


def new_secret() -> str:
    """An unguessable secret: refresh token, cookie value or one-time code."""
    return secrets.token_urlsafe(SECRET_BYTES)


def fingerprint(secret: str) -> str:
    """What is stored instead of a secret: its SHA-256. Our secrets are random, so no slow hash is needed."""
    return hashlib.sha256(secret.encode("utf-8", errors="surrogatepass")).hexdigest()


def seal(text: str, *, token: str, context: str) -> bytes:
    """Encrypt under a key that only the holder of `token` can derive; a database dump alone opens nothing."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(_sealing_key(token)).encrypt(nonce, text.encode(), context.encode())


def unseal(sealed: bytes, *, token: str, context: str) -> str | None:
    """The text, or None when token or context are not those it was sealed with."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, ciphertext = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return AESGCM(_sealing_key(token)).decrypt(nonce, ciphertext, context.encode()).decode()
    except InvalidTag:
        return None


def _sealing_key(token: str) -> bytes:
    return _derived(token, purpose=b"magistrate refresh answer")


def _derived(secret: str, *, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
