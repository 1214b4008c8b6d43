"""The blocking paths and whole answers when things go wrong: the same errors as in streams, and never a hang."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from forge_core.errors import (
    ConnectionFailedError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http import exchange
from forge_core.llm.http.retry import RetryNotice
from forge_core.llm.models import CompletionRequest, Message
from tests.support.sse_server import (
    KEY,
    MODEL,
    USAGE,
    Cut,
    Pause,
    Reply,
    Reset,
    SseServer,
    Stall,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
)

pytestmark = pytest.mark.slow


REQUEST = CompletionRequest(MODEL, [Message.user("hi")])
NOW = {"Retry-After": "0"}
FIRST = event(chunk("so far"))
WHOLE = json_reply({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}], "usage": USAGE})


def client_for(server: SseServer, **options: Any) -> OpenRouterClient:
    return OpenRouterClient(KEY, server.base_url, **options)


def read(client: OpenRouterClient) -> str:
    return "".join(found.text for found in client.stream_sync(REQUEST))


def complete(client: OpenRouterClient) -> str:
    return client.complete_sync(REQUEST).message.text


def failure(act: Callable[[OpenRouterClient], str], reply: Reply, **options: Any) -> ProviderError:
    with SseServer(reply) as server:
        client = client_for(server, max_retries=0, **options)
        with pytest.raises(ProviderError) as caught:
            act(client)
        client.close()
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("act", "good"), [(complete, WHOLE), (read, answer("o", "k"))])
def test_a_passing_failure_is_retried_and_told(act: Callable[[OpenRouterClient], str], good: Reply) -> None:
    notices: list[RetryNotice] = []
    busy = error_reply(429, "slow down", headers=NOW)
    with SseServer(busy, error_reply(502, "bad gateway", headers=NOW), good) as server:
        client = client_for(server, on_retry=notices.append)
        assert act(client) == "ok"
        client.close()
    assert [notice.attempt for notice in notices] == [1, 2]


async def test_a_non_streamed_request_is_retried() -> None:
    with SseServer(error_reply(503, "busy", headers=NOW), WHOLE) as server:
        async with client_for(server) as client:
            assert (await client.complete(REQUEST)).message.text == "ok"


@pytest.mark.parametrize("act", [complete, read])
def test_a_client_error_keeps_the_provider_message(act: Callable[[OpenRouterClient], str]) -> None:
    error = failure(act, error_reply(429, "free-models-per-day"))
    assert isinstance(error, RateLimitError)
    assert "free-models-per-day" in str(error)


@pytest.mark.parametrize("act", [complete, read])
def test_an_error_response_with_an_endless_body_is_read_up_to_a_limit(
    act: Callable[[OpenRouterClient], str],
) -> None:
    flood = Reply([b"x" * 65_536] * 6 + [Stall()], status=500)
    assert isinstance(failure(act, flood), ServerError)


@pytest.mark.parametrize("act", [complete, read])
def test_an_error_response_with_a_truncated_body_is_identified_by_its_status(
    act: Callable[[OpenRouterClient], str],
) -> None:
    assert isinstance(failure(act, Reply([b'{"error": {"mess', Cut()], status=500)), ServerError)


async def test_an_error_response_without_a_body_is_identified_by_its_status() -> None:
    with SseServer(Reply([Stall()], status=500)) as server:
        async with client_for(server, max_retries=0, idle_timeout_s=0.05) as client:
            with pytest.raises(ServerError):
                await client.complete(REQUEST)


@pytest.mark.parametrize("act", [complete, read])
def test_a_reset_before_the_answer_is_a_failed_connection(act: Callable[[OpenRouterClient], str]) -> None:
    assert isinstance(failure(act, Reply([Reset()])), ConnectionFailedError)


def test_a_non_streamed_answer_that_never_arrives_is_a_timeout() -> None:
    assert isinstance(failure(complete, Reply([Stall()]), timeout=0.05), ProviderTimeoutError)


def test_a_trickling_non_streamed_answer_is_a_timeout() -> None:
    trickle = [step for _ in range(40) for step in (b" ", Pause(0.02))]
    assert isinstance(failure(complete, Reply([*trickle, Stall()]), timeout=0.1), ProviderTimeoutError)


def test_a_stream_without_a_first_token_is_a_timeout() -> None:
    error = failure(read, Reply([Stall()]), first_token_timeout_s=0.05, idle_timeout_s=0.05)
    assert isinstance(error, ProviderTimeoutError)
    assert "first" in str(error)


def test_a_silent_stream_times_out_and_keeps_its_text() -> None:
    error = failure(read, Reply([FIRST, Stall()]), idle_timeout_s=0.05)
    assert isinstance(error, ProviderTimeoutError)
    assert error.partial_text == "so far"


def test_a_stream_of_only_keep_alive_bytes_times_out() -> None:
    blanks = [step for _ in range(60) for step in (b" ", Pause(0.02))]
    error = failure(read, Reply([FIRST, *blanks, Stall()]), idle_timeout_s=0.6)
    assert isinstance(error, ProviderTimeoutError)
    assert error.partial_text == "so far"


class Endless(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b" " * 1_048_576


def test_an_endless_non_streamed_answer_is_aborted_at_a_size_limit() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    client = OpenRouterClient(KEY, transport=transport, max_retries=0)
    with pytest.raises(MalformedResponseError, match=f"more than {exchange.MAX_BODY_BYTES:,} bytes"):
        client.complete_sync(REQUEST)
    client.close()


def test_a_stream_that_fails_after_a_token_and_a_keep_alive_is_sent_once() -> None:
    failed = event({"error": {"code": 502, "message": "bad gateway"}})
    with SseServer(Reply([FIRST, b": OPENROUTER PROCESSING\n\n", failed])) as server:
        client = client_for(server, max_retries=2)
        chunks = client.stream_sync(REQUEST)
        seen = []
        with pytest.raises(ServerError):
            for found in chunks:
                seen.append(found.text)
        client.close()
    assert "".join(seen) == "so far"
    assert len(server.requests) == 1
