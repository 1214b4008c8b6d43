"""When a request is sent again, and after how long."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from forge_core.errors import (
    ConnectionFailedError,
    InvalidRequestError,
    ModelNotFoundError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)
from forge_core.llm.http.retry import (
    RETRY_STATUSES,
    RetryCount,
    counting_with,
    current_count,
    format_wait,
    requested_wait_s,
    wait_before_retry,
)

NOW = 1_760_000_000.0


def half() -> float:
    return 0.5


@pytest.mark.parametrize("status", sorted(RETRY_STATUSES))
def test_transient_failures_are_retried(status: int) -> None:
    kind = RateLimitError if status == 429 else ServerError
    assert wait_before_retry(kind("x", status=status), 0, 2) is not None


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 413, 422])
def test_client_errors_are_not_retried(status: int) -> None:
    assert wait_before_retry(InvalidRequestError("x", status=status), 0, 2) is None


def test_max_retries_counts_retries_and_zero_means_none() -> None:
    error = ServerError("x", status=503)
    assert wait_before_retry(error, 1, 2) is not None
    assert wait_before_retry(error, 2, 2) is None
    assert wait_before_retry(error, 0, 0) is None


def test_a_404_is_retried_once_and_only_when_it_names_the_upstream_provider() -> None:
    upstream = ModelNotFoundError("Provider returned error", status=404, provider="DeepInfra")
    assert wait_before_retry(upstream, 0, 5) is not None
    assert wait_before_retry(upstream, 1, 5) is None
    assert wait_before_retry(ModelNotFoundError("no such model", status=404), 0, 5) is None


def test_failed_connections_and_connect_timeouts_are_retried() -> None:
    assert wait_before_retry(ConnectionFailedError("x"), 0, 1) is not None
    assert wait_before_retry(ProviderTimeoutError("x", error_type="connect_timeout"), 0, 1) is not None
    assert wait_before_retry(ProviderTimeoutError("x", error_type="total_timeout"), 0, 1) is None
    assert wait_before_retry(ProviderError("x"), 0, 1) is None


@pytest.mark.parametrize("deadline", ["first_token_timeout", "idle_timeout"])
def test_a_token_deadline_timeout_is_retried_once(deadline: str) -> None:
    count = RetryCount()
    stall = ProviderTimeoutError("x", error_type=deadline)
    assert count.next_wait(stall, 5) is not None
    assert count.next_wait(ConnectionFailedError("x"), 5) is not None
    assert count.next_wait(stall, 5) is None
    assert count.done == 2


@pytest.mark.parametrize("error_type", [None, "overloaded_error", "provider_overloaded", "server_error"])
def test_an_error_without_a_code_is_retried_when_its_type_is_transient(error_type: str | None) -> None:
    assert wait_before_retry(ServerError("x", error_type=error_type), 0, 1) is not None


@pytest.mark.parametrize("error_type", ["content_filter", "invalid_request_error", "billing_error"])
def test_an_error_without_a_code_is_not_retried_when_its_type_is_permanent(error_type: str) -> None:
    assert wait_before_retry(ServerError("x", error_type=error_type), 0, 1) is None


def test_a_shared_retry_count_limits_all_its_users() -> None:
    shared = RetryCount()
    with counting_with(shared):
        assert current_count() is shared
        current_count().next_wait(ConnectionFailedError("x"), 2)
    assert current_count() is not shared
    assert shared.next_wait(ConnectionFailedError("x"), 2) is not None
    assert shared.next_wait(ConnectionFailedError("x"), 2) is None


def test_the_backoff_doubles_from_half_a_second_up_to_thirty() -> None:
    error = ServerError("x", status=500)
    waits = [wait_before_retry(error, done, 99, lambda: 0.0) for done in (0, 1, 2, 3, 20)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 30.0]
    assert wait_before_retry(error, 0, 9, half) == pytest.approx(0.4375)


def test_the_wait_is_never_shorter_than_the_provider_requests() -> None:
    assert wait_before_retry(RateLimitError("x", status=429, retry_after_s=7), 0, 2, lambda: 0.0) == 7
    assert wait_before_retry(RateLimitError("x", status=429, retry_after_s=7), 0, 2, half) == pytest.approx(
        7.05
    )


def test_a_wait_longer_than_thirty_seconds_is_not_retried() -> None:
    assert wait_before_retry(RateLimitError("x", status=429, retry_after_s=31), 0, 2) is None


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:30 GMT"}, 10.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:00:00 GMT"}, 0.0),
        ({"x-ratelimit-reset": "1760000004000"}, 4.0),
        ({"x-ratelimit-reset": "1760000005"}, 5.0),
        ({"x-ratelimit-reset": "6"}, 6.0),
        ({"retry-after": "2", "x-ratelimit-reset": "1760000009000"}, 2.0),
        ({"retry-after": "soon", "x-ratelimit-reset": "1760000009000"}, 9.0),
        ({"x-ratelimit-reset": "1750000000000"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "Thu, 99 Oct 2025"}, None),
        ({"x-ratelimit-reset": "tomorrow"}, None),
        ({}, None),
    ],
)
def test_the_requested_wait_is_read_from_the_headers(headers: Mapping[str, str], wait: float | None) -> None:
    assert requested_wait_s(headers, NOW) == wait


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, "1 s"), (42, "42 s"), (180, "3 min"), (7200, "2 h")])
def test_a_wait_is_shown_in_a_suitable_unit(seconds: float, shown: str) -> None:
    assert format_wait(seconds) == shown
