"""The exceptions of Forge. A message names what failed, the value, and what to do next.

ForgeError
 ├─ ConfigError            a flag, variable or file holds something unusable
 ├─ WorkspaceError         the folder to work in is missing, a file, or not writable
 ├─ JournalError           the session could not be recorded
 │   └─ SessionInUseError      another process has the session open
 ├─ ImageError             an image cannot be sent or stored
 ├─ BudgetExceededError    a model call was not made: a limit of cost, tokens, calls or time is reached
 ├─ ToolError              a tool refuses or fails; becomes a ToolResult, never ends a turn
 │   ├─ CallDeniedError        the user, a rule or the mode denied the call
 │   └─ CallInterruptedError   the turn was interrupted before the call had a result
 └─ ProviderError          the provider refused, failed or fell silent; `partial_text` holds what had arrived
     ├─ AuthenticationError    401: the key is missing or wrong
     ├─ PaymentRequiredError   402: no credits
     ├─ PermissionDeniedError  403: moderation, guardrail or missing permission
     ├─ ModelNotFoundError     404: no such model, or no route to it
     ├─ InvalidRequestError    400, 409, 413, 422
     ├─ ContextLengthError     the prompt does not fit the model's window
     ├─ RateLimitError         429; `retry_after_s` if the provider sent it
     ├─ ServerError            5xx: the provider's own failure
     ├─ ConnectionFailedError  no route, refused, reset, TLS, name not found
     ├─ ProviderTimeoutError   connect, first token, idle stream, or whole call
     └─ MalformedResponseError the answer does not follow the protocol
"""

from __future__ import annotations

from typing import ClassVar, Literal


class ForgeError(Exception):
    """Base of all errors that Forge raises on purpose."""


class ConfigError(ForgeError):
    """A setting is unusable; the text names its origin, its value and the remedy."""


class WorkspaceError(ForgeError):
    """The folder to work in cannot be used."""


class JournalError(ForgeError):
    """The session's record on disk could not be written or read."""


class SessionInUseError(JournalError):
    """Another process has the session open."""


class ImageError(ForgeError):
    """An image cannot be sent or stored; the text says why, and what to do."""


class BudgetExceededError(ForgeError):
    """A model call was not made, because a limit is reached or the call would exceed it."""


class ToolError(ForgeError):
    """A tool refuses or fails, in words meant for the model."""

    outcome: ClassVar[Literal["failed", "denied", "interrupted"]] = "failed"
    """How the call ended."""


class CallDeniedError(ToolError):
    """The user, a rule or the mode denied the call."""

    outcome = "denied"


class CallInterruptedError(ToolError):
    """The turn was interrupted before the call had a result."""

    outcome = "interrupted"


NEVER_SENT = frozenset({"no_key", "connect_failed", "connect_timeout"})
"""Values of `ProviderError.error_type` for requests that were never sent."""


class ProviderError(ForgeError):
    """The provider refused, failed or fell silent."""

    retryable: bool = False
    """Whether the same request may succeed later."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        error_type: str | None = None,
        provider: str | None = None,
        retry_after_s: float | None = None,
        generation_id: str | None = None,
        partial_text: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type
        self.provider = provider
        self.retry_after_s = retry_after_s
        self.generation_id = generation_id
        self.partial_text = partial_text


class AuthenticationError(ProviderError):
    """401."""


class PaymentRequiredError(ProviderError):
    """402."""


class PermissionDeniedError(ProviderError):
    """403."""


class ModelNotFoundError(ProviderError):
    """404."""


class InvalidRequestError(ProviderError):
    """400, 409, 413, 422."""


class ContextLengthError(InvalidRequestError):
    """The prompt is larger than the model's context window."""


class RateLimitError(ProviderError):
    """429."""

    retryable = True


class ServerError(ProviderError):
    """5xx, or an error the provider sent in mid-stream."""

    retryable = True


class ConnectionFailedError(ProviderError):
    """The provider could not be reached, or the connection broke."""

    retryable = True


class ProviderTimeoutError(ProviderError):
    """Nothing came in time."""

    retryable = True


class MalformedResponseError(ProviderError):
    """The provider's answer does not follow its protocol."""
