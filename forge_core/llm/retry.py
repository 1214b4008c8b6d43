"""When a request is sent again, and after how long: the one table that every page about retries quotes.

Retried, only while no token was delivered: 408, 429, 500, 502, 503, 504, 524, 529, failed connections (resets
before the answer included), connect timeouts, and a 404 that names an upstream provider (once: OpenRouter
reports some passing upstream failures so). The wait is Retry-After, else X-RateLimit-Reset, else 0.5 s
doubling, each with jitter. A provider that asks for more than 30 s is not waited for: the error then says how
long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from forge_core.errors import (
    ConnectionFailedError,
    ModelNotFoundError,
    ProviderError,
    ProviderTimeoutError,
)

RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
MAX_WAIT_S = 30.0
FIRST_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """Told before the wait: which retry this is (1 for the first), how long the wait is, why, and how many
    there may be."""

    attempt: int
    wait_s: float
    reason: str
    max_retries: int


def is_worth_retrying(error: ProviderError, retries_done: int) -> bool:
    """Whether the same request may be sent again now; the number of retries left is not looked at."""
    if error.status is not None:
        if error.status == 404 and isinstance(error, ModelNotFoundError):
            return error.provider is not None and retries_done == 0
        return error.status in RETRY_STATUSES and error.retryable
    if isinstance(error, ProviderTimeoutError):
        return error.error_type == "connect_timeout"
    return isinstance(error, ConnectionFailedError)


def wait_before_retry(
    error: ProviderError,
    retries_done: int,
    max_retries: int,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Seconds to wait before the next attempt; None when there is none.

    `jitter` gives a number in [0, 1): a backoff is shortened by up to a quarter, a wait that the provider
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


def asked_wait_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the provider asks to wait, from `Retry-After` (seconds or an HTTP date) or, failing that,
    `X-RateLimit-Reset` (unix time in ms; in s where the number is too small for ms). None when neither is
    usable."""
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


def shown_wait(seconds: float) -> str:
    """`seconds` for a person: "12 s", "3 min", "2 h"."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
