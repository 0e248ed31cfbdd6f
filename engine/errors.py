"""The one error tree.

    EngineError
    ├── InputError              the request, a setting or a file is invalid         REST 422 (or its own `status`)
    │   └── BankError           a case, fixture or profile file is invalid          REST 422
    ├── NotFoundError           no such run, provider, result ...                   REST 404
    ├── NotAuthenticated        not signed in, or the session has ended             REST 401
    ├── PermissionDenied        signed in, but not allowed                          REST 403
    ├── ConflictError           allowed, but not in this state                      REST 409
    ├── TooManyAttempts         throttled; says when to come back                   REST 429
    ├── UnavailableError        database locked, full or unreachable; no engine     REST 503
    └── ItemError               one item failed; kept on its result, the run goes on
        ├── ProviderError       the model call failed; says whether a retry can help
        └── JudgeError          the judge's reply cannot be read

Every error carries a `code`, a stable snake_case word that programs may rely on, and a message for people that
names the thing and the way out. Messages never hold a key, a prompt or an answer.
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of all errors this product raises on purpose."""

    code = "engine_error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InputError(EngineError):
    """The request, a setting or a file is invalid.

    `fields` lists what is wrong where, as (location, message) pairs; `bad_request` marks the few codes that the
    contract answers with 400 instead of 422.
    """

    code = "invalid_input"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        fields: tuple[tuple[str, str], ...] = (),
        bad_request: bool = False,
    ) -> None:
        super().__init__(message, code=code)
        self.fields = fields
        self.bad_request = bad_request


class BankError(InputError):
    """A case, fixture or profile file is invalid; the message names file, case and key."""

    code = "invalid_bank"


class NotFoundError(EngineError):
    """The thing asked for does not exist, or not for this user."""

    code = "not_found"


class NotAuthenticated(EngineError):
    """Nobody is signed in, or the session has ended."""

    code = "not_authenticated"


class PermissionDenied(EngineError):
    """Signed in, but the role does not allow it."""

    code = "forbidden"


class ConflictError(EngineError):
    """Allowed in general, but not in the state the thing is in."""

    code = "conflict"


class TooManyAttempts(EngineError):
    """Throttled."""

    code = "too_many_attempts"

    def __init__(self, message: str, *, retry_after_s: float, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after_s = retry_after_s


class UnavailableError(EngineError):
    """The database or the engine cannot serve now."""

    code = "unavailable"


class ItemError(EngineError):
    """One item failed. It is kept on the item's result and never becomes a verdict."""

    code = "item_error"


class ProviderError(ItemError):
    """The model call failed.

    Codes: `timeout`, `connection`, `tls`, `rate_limited`, `server_error`, `auth`, `not_found`, `bad_request`,
    `malformed_body`, `empty_answer`, `too_large`.

    Attributes:
        retryable: Whether the same call may succeed later.
        status: The HTTP status, where there was an answer.
        retry_after_s: What the provider asked for, in seconds, where it did.
        hint: What a person can do about it.
        tries: How many calls were made before giving up.
        took_s: How long the last of them took; None where nobody measured.
        refused: The parameter or role that the endpoint says it does not support, such as `max_tokens`, `temperature`,
            `system`, `stream`, `tools` or `response_format`; None where it names none.
    """

    code = "provider_error"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retryable: bool,
        status: int | None = None,
        retry_after_s: float | None = None,
        hint: str = "",
        tries: int = 1,
        refused: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.hint = hint
        self.tries = tries
        self.took_s: float | None = None
        self.refused = refused


class JudgeError(ItemError):
    """The judge's reply came and cannot be read with certainty."""

    code = "judge_format_error"
