"""Provider keys at rest: encrypted under a key that lives in a file of its own, never in the database.

The library is imported where it is used: runs against endpoints without a key need none of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from engine.errors import UnavailableError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

HINT_LENGTH = 4
SHORTEST_KEY_WITH_HINT = 12


class Vault:
    """Encrypts and decrypts with the key in `key_file`, which is made (mode 0600) when it is first needed."""

    def __init__(self, key_file: Path) -> None:
        self.key_file = key_file

    def seal(self, secret: SecretStr) -> bytes:
        """Ciphertext to store. Raises UnavailableError when the key file cannot be used."""
        return self._fernet(make=True).encrypt(secret.get_secret_value().encode())

    def open(self, ciphertext: bytes) -> SecretStr:
        """The secret again.

        Raises:
            UnavailableError: the key file is missing, unreadable or not the one this was sealed with.
        """
        from cryptography.fernet import InvalidToken

        try:
            return SecretStr(self._fernet(make=False).decrypt(ciphertext).decode())
        except InvalidToken as error:
            raise UnavailableError(
                f"the stored provider keys were not encrypted with the key in {self.key_file.name}; "
                "restore the right file, or type the keys again under Providers",
                code="wrong_secrets_key",
            ) from error

    def _fernet(self, *, make: bool) -> Fernet:
        from cryptography.fernet import Fernet

        try:
            if make and not self.key_file.exists():
                self._make()
            return Fernet(self.key_file.read_bytes().strip())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it holds no usable key"
            raise UnavailableError(
                f"the key file {self.key_file.name} beside the database cannot be used: {why}; "
                "restore it, or set SECRETS_KEY_FILE",
                code="no_secrets_key",
            ) from error

    def _make(self) -> None:
        from cryptography.fernet import Fernet

        # Written aside and linked: two processes that start at once agree on one key, and a crash leaves none half.
        aside = self.key_file.with_name(f"{self.key_file.name}.{os.getpid()}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(Fernet.generate_key())
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(aside, self.key_file)
            except FileExistsError:
                return
        finally:
            aside.unlink()


def hint(secret: SecretStr) -> str:
    """The last four characters; empty for a key under 12, of which four would be too much."""
    value = secret.get_secret_value()
    return value[-HINT_LENGTH:] if len(value) >= SHORTEST_KEY_WITH_HINT else ""
