"""When a request is sent again, and after how long.

Retried: 408, 429, 500, 502, 503, 504, 524, 529 and errors in a stream that mean the same, failed connections
(resets and truncated answers included), connect timeouts, a 404 that names an upstream provider (once:
OpenRouter reports some passing upstream failures so), and a deadline for tokens that has run out (once). The
wait is Retry-After, else X-RateLimit-Reset, else 0.5 s doubling, each with jitter. A provider that asks for
more than 30 s is not waited for: the error then says how long.

Before the first token the client retries, because no reader has seen any of the answer. After it the client
raises, since a stream cannot take back what it has yielded; a reader that can drop the text repeats the
request (`forge_core.langchain.agent` repeats the step of a turn). Both count with one `RetryCount`, so that a
step is sent at most `max_retries + 1` times.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from forge_core.errors import (
    ConnectionFailedError,
    ModelNotFoundError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)

RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
MAX_WAIT_S = 30.0
FIRST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """A retry, announced before the wait."""

    attempt: int
    """1 for the first retry."""
    wait_s: float
    reason: str
    max_retries: int


_STALLS = frozenset({"first_token_timeout", "idle_timeout", "read_timeout"})
"""Values of `ProviderError.error_type` that Forge sets: the connection may be intact, but no token came in
time."""
_PASSING_TYPES = frozenset(
    {
        "api_error",
        "internal_error",
        "internal_server_error",
        "overloaded",
        "overloaded_error",
        "provider_overloaded",
        "provider_unavailable",
        "rate_limit_error",
        "rate_limit_exceeded",
        "server",
        "server_error",
        "service_unavailable",
        "timeout",
        "timeout_error",
    }
)
"""Types of transient errors without a code; an error of any other named type is a rejection."""


@dataclass(slots=True)
class RetryCount:
    """The retries of one request, by the client and by a reader that repeats a broken answer."""

    done: int = 0
    stalls: int = 0
    """Those of them that followed a deadline for tokens."""

    def next_wait(self, error: ProviderError, max_retries: int) -> float | None:
        """Count a retry after `error`, and return the seconds to wait before it; None when there is none."""
        is_stall = is_stalled(error)
        if is_stall and self.stalls:
            return None
        wait_s = wait_before_retry(error, self.done, max_retries)
        if wait_s is not None:
            self.done += 1
            self.stalls += is_stall
        return wait_s


_shared_count: ContextVar[RetryCount | None] = ContextVar("forge_retry_count", default=None)


def current_count() -> RetryCount:
    """Return the count that `counting_with` has set in this context, else a new one."""
    return _shared_count.get() or RetryCount()


@contextmanager
def counting_with(count: RetryCount) -> Iterator[None]:
    """Make the client count its retries in `count`, in this context and in tasks created here."""
    token = _shared_count.set(count)
    try:
        yield
    finally:
        _shared_count.reset(token)


def is_stalled(error: ProviderError) -> bool:
    """Return whether no token came in time."""
    return isinstance(error, ProviderTimeoutError) and error.error_type in _STALLS


def is_worth_retrying(error: ProviderError, retries_done: int) -> bool:
    """Return whether the same request may be sent again now; the number of retries left is not checked."""
    if error.status is not None:
        if error.status == 404 and isinstance(error, ModelNotFoundError):
            return error.provider is not None and retries_done == 0
        return error.status in RETRY_STATUSES and error.retryable
    match error:
        case ProviderTimeoutError():
            return error.error_type in ("connect_timeout", "timeout") or is_stalled(error)
        case ServerError() | RateLimitError():
            return error.error_type is None or error.error_type in _PASSING_TYPES
        case _:
            return isinstance(error, ConnectionFailedError)


def wait_before_retry(
    error: ProviderError,
    retries_done: int,
    max_retries: int,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Return the seconds to wait before the next attempt; None when there is none.

    `jitter` returns a number in [0, 1): a backoff is shortened by up to a quarter, a wait that the provider
    asked for is lengthened by up to a tenth of a second, so that many clients do not return at once.
    """
    if retries_done >= max_retries or not is_worth_retrying(error, retries_done):
        return None
    if error.retry_after_s is not None:
        if error.retry_after_s > MAX_WAIT_S:
            return None
        return max(0.0, error.retry_after_s) + 0.1 * jitter()
    backoff = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**retries_done)
    return backoff * (1 - 0.25 * jitter())


def requested_wait_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that the provider asks to wait, from `Retry-After` (seconds or an HTTP date) or,
    failing that, `X-RateLimit-Reset` (unix time in ms; in s where the number is too small for ms). None when
    neither is usable."""
    moment = time.time() if now is None else now
    wait = _retry_after(headers.get("retry-after", "").strip(), moment)
    return (
        wait if wait is not None else _rate_limit_reset(headers.get("x-ratelimit-reset", "").strip(), moment)
    )


def _retry_after(value: str, now: float) -> float | None:
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _rate_limit_reset(value: str, now: float) -> float | None:
    reset = _number(value)
    if reset is None:
        return None
    if reset > 1e11:
        return max(0.0, reset / 1000 - now)
    return max(0.0, reset - now) if reset > 1e9 else reset


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < 1e15 else None


def format_wait(seconds: float) -> str:
    """Return `seconds` in words: "12 s", "3 min", "2 h"."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
