"""A provider's failure as an exception of both trees: ours, and LangChain's ModelError family.

Code that catches `forge_core.errors.RateLimitError` and LangChain's retry middleware, which looks for
ModelError and `is_retryable`, see the same object.
"""

from __future__ import annotations

from langchain_core import exceptions as langchain

from forge_core import errors
from forge_core.errors import ProviderError


class AuthenticationError(errors.AuthenticationError, langchain.ModelAuthenticationError):
    """401."""


class PaymentRequiredError(errors.PaymentRequiredError, langchain.ModelError):
    """402."""


class PermissionDeniedError(errors.PermissionDeniedError, langchain.ModelPermissionDeniedError):
    """403."""


class ModelNotFoundError(errors.ModelNotFoundError, langchain.ModelNotFoundError):
    """404."""


class InvalidRequestError(errors.InvalidRequestError, langchain.ModelInvalidRequestError):
    """400, 409, 413, 422."""


class ContextLengthError(
    errors.ContextLengthError, langchain.ModelInvalidRequestError, langchain.ContextOverflowError
):
    """The prompt is larger than the model's window."""


class RateLimitError(errors.RateLimitError, langchain.ModelRateLimitError):
    """429."""


class ServerError(errors.ServerError, langchain.ModelAPIError):
    """5xx, or an error in mid-stream."""


class ConnectionFailedError(errors.ConnectionFailedError, langchain.ModelConnectionError):
    """No connection, or a broken one."""


class ProviderTimeoutError(errors.ProviderTimeoutError, langchain.ModelTimeoutError):
    """Nothing came in time."""


class MalformedResponseError(errors.MalformedResponseError, langchain.ModelAPIError):
    """The answer does not follow the protocol."""


class UnknownProviderError(ProviderError, langchain.ModelError):
    """A failure of no particular kind."""


_TWINS: tuple[type[ProviderError], ...] = (
    ContextLengthError,
    AuthenticationError,
    PaymentRequiredError,
    PermissionDeniedError,
    ModelNotFoundError,
    InvalidRequestError,
    RateLimitError,
    ServerError,
    ConnectionFailedError,
    ProviderTimeoutError,
    MalformedResponseError,
)


def as_model_error(error: ProviderError) -> ProviderError:
    """`error` as an instance of both trees, with everything it knows; itself when it is one already."""
    if isinstance(error, langchain.ModelError):
        return error
    kind = next((twin for twin in _TWINS if isinstance(error, twin.__mro__[1])), UnknownProviderError)
    made = kind(
        error.message,
        status=error.status,
        error_type=error.error_type,
        provider=error.provider,
        retry_after_s=error.retry_after_s,
        generation_id=error.generation_id,
        partial_text=error.partial_text,
    )
    made.retryable = error.retryable
    made.is_retryable = error.retryable  # type: ignore[attr-defined]
    return made
