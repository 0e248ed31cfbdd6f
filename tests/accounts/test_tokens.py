"""Signed and sealed things (RELIABILITY E13, E14)."""

from __future__ import annotations

import base64
import json

import jwt
import pytest
from pydantic import SecretStr

from engine.accounts import tokens
from engine.accounts.tokens import AccessClaims, Signer
from engine.errors import NotAuthenticated

SECRET = "a secret of more than thirty-two characters"
CLAIMS = AccessClaims(typ="access", sid=7, sub="3", iat=1_800_000_000, exp=1_800_003_600, gen=2)


@pytest.fixture
def signer() -> Signer:
    return Signer(SecretStr(SECRET))


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_says_what_was_signed_whatever_the_time_is(signer: Signer) -> None:
    token = signer.sign(CLAIMS)
    assert signer.read(token) == CLAIMS
    assert set(jwt.decode(token, options={"verify_signature": False})) == {"typ", "sid", "sub", "iat", "exp", "gen"}
    assert jwt.get_unverified_header(token)["alg"] == "HS256"


def test_tokens_that_we_did_not_make_are_refused(signer: Signer) -> None:
    header, _, signature = signer.sign(CLAIMS).split(".")
    altered = CLAIMS.model_dump() | {"sub": "1"}
    claims = CLAIMS.model_dump()
    forged = {
        "altered claim": f"{header}.{_part(altered)}.{signature}",
        "no signature": f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}.",
        "alg none with our signature": f"{_part({'alg': 'none'})}.{_part(claims)}.{signature}",
        "another key": Signer(SecretStr("another secret of thirty-two characters or more")).sign(CLAIMS),
        "another algorithm": jwt.encode(claims, tokens.Signer(SecretStr(SECRET))._key * 2, algorithm="HS512"),
        "another type": signer.sign(CLAIMS.model_copy(update={"typ": "refresh"})),
        "a refresh token": tokens.new_secret(),
        "nothing": "",
        "noise": "a.b.c",
        "not ASCII": "é.ü.密",
    }
    for kind, token in forged.items():
        with pytest.raises(NotAuthenticated):
            signer.read(token)
            pytest.fail(kind)


def test_a_token_that_lacks_a_claim_or_has_one_more_is_refused(signer: Signer) -> None:
    for change in ({"sid": None}, {"exp": None}, {"role": "admin"}, {"sid": "seven"}):
        claims = {name: value for name, value in (CLAIMS.model_dump() | change).items() if value is not None}
        with pytest.raises(NotAuthenticated):
            signer.read(jwt.encode(claims, signer._key, algorithm="HS256"))


def test_a_short_secret_still_signs_with_a_full_key() -> None:
    short = Signer(SecretStr("short"))
    assert short.read(short.sign(CLAIMS)) == CLAIMS


def test_secrets_are_long_different_and_kept_only_as_hashes() -> None:
    secrets = {tokens.new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(len(base64.urlsafe_b64decode(secret + "=")) >= 32 for secret in secrets)
    prints = {tokens.fingerprint(secret) for secret in secrets}
    assert len(prints) == 100
    assert all(len(each) == 64 and each not in secrets for each in prints)


def test_a_sealed_answer_opens_only_with_its_token_and_in_its_context() -> None:
    sealed = tokens.seal("the answer", token="token one", context="key one")
    assert b"the answer" not in sealed
    assert tokens.unseal(sealed, token="token one", context="key one") == "the answer"
    assert tokens.unseal(sealed, token="token two", context="key one") is None
    assert tokens.unseal(sealed, token="token one", context="key two") is None
