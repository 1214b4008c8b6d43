"""The provider client when things go wrong on the wire: never a hang, never a lost half answer."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from typing import Any

import pytest

from forge_core.errors import (
    AuthenticationError,
    ConnectionFailedError,
    InvalidRequestError,
    MalformedResponseError,
    ModelNotFoundError,
    PaymentRequiredError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    ServerError,
)
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http.retry import RetryNotice
from forge_core.llm.models import CompletionRequest, Message
from tests.support.sse_server import (
    DONE,
    KEY,
    MODEL,
    PROCESSING,
    Cut,
    Pause,
    Reply,
    Reset,
    SseServer,
    Stall,
    Step,
    answer,
    chunk,
    error_reply,
    event,
    json_reply,
)

REQUEST = CompletionRequest(MODEL, [Message.user("hi")])
NOW = {"Retry-After": "0"}
FIRST = event(chunk("so far"))


def client_for(server: SseServer, **options: Any) -> OpenRouterClient:
    return OpenRouterClient(
        KEY, server.base_url, **{"first_token_timeout_s": 60, "idle_timeout_s": 60, **options}
    )


async def failure_of(server: SseServer, **options: Any) -> tuple[ProviderError, str]:
    """The error that streaming ends in, and the text before it."""
    texts: list[str] = []
    async with client_for(server, **options) as client, aclosing(client.stream(REQUEST)) as chunks:
        with pytest.raises(ProviderError) as caught:
            async for found in chunks:
                texts.append(found.text)
    return caught.value, "".join(texts)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (401, AuthenticationError),
        (402, PaymentRequiredError),
        (404, ModelNotFoundError),
    ],
)
async def test_a_client_error_has_its_type_and_is_not_retried(status: int, kind: type[ProviderError]) -> None:
    with SseServer(error_reply(status, f"no, {KEY}", headers={"X-Generation-Id": "gen-e"})) as server:
        error, _ = await failure_of(server)
        assert len(server.requests) == 1
    assert type(error) is kind
    assert "no, [redacted]" in error.message
    assert error.generation_id == "gen-e"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 524, 529])
async def test_a_passing_failure_is_retried_and_told(status: int) -> None:
    notices: list[RetryNotice] = []
    with SseServer(error_reply(status, "busy", headers=NOW), answer("ok")) as server:
        async with client_for(server, on_retry=notices.append) as client:
            texts = [found.text async for found in client.stream(REQUEST)]
        assert len(server.requests) == 2
    assert "".join(texts) == "ok"
    assert [notice.attempt for notice in notices] == [1]
    assert "busy" in notices[0].reason


async def test_max_retries_counts_retries() -> None:
    for retries in (0, 1):
        with SseServer(*(error_reply(503, "busy", headers=NOW) for _ in range(5))) as server:
            error, _ = await failure_of(server, max_retries=retries)
            assert len(server.requests) == retries + 1
        assert isinstance(error, ServerError)


async def test_a_long_retry_after_is_reported_instead_of_awaited() -> None:
    with SseServer(error_reply(429, "slow", headers={"Retry-After": "3600"})) as server:
        async with asyncio.timeout(60):
            error, _ = await failure_of(server)
    assert isinstance(error, RateLimitError)
    assert error.retry_after_s == 3600
    assert "60 min" in error.message


async def test_a_404_naming_a_provider_is_retried_once() -> None:
    upstream = error_reply(404, "Provider returned error", metadata={"provider_name": "X"}, headers=NOW)
    with SseServer(upstream, upstream, upstream) as server:
        error, _ = await failure_of(server, max_retries=5)
        assert len(server.requests) == 2
    assert isinstance(error, ModelNotFoundError)


async def test_an_error_event_before_any_token_is_retried() -> None:
    failed = Reply([PROCESSING, event({"error": {"code": 502, "message": "bad gateway"}})])
    with SseServer(failed, answer("ok")) as server:
        async with client_for(server) as client:
            assert "".join([found.text async for found in client.stream(REQUEST)]) == "ok"


async def test_no_retry_is_made_after_a_token() -> None:
    failed = Reply([FIRST, event({"error": {"code": 502, "message": "bad gateway"}})])
    with SseServer(failed, answer("never")) as server:
        error, text = await failure_of(server)
        assert len(server.requests) == 1
    assert isinstance(error, ServerError)
    assert text == error.partial_text == "so far"


@pytest.mark.parametrize(
    ("steps", "framing"),
    [
        ([FIRST, Reset()], "chunked"),
        ([FIRST, Cut()], "chunked"),
        ([FIRST], "close"),
        ([FIRST, b"data: {"], "close"),
    ],
)
async def test_a_broken_connection_during_an_answer_is_an_error_with_the_partial_text(
    steps: list[Step], framing: Any
) -> None:
    with SseServer(Reply(steps, framing=framing)) as server:
        error, text = await failure_of(server)
    assert isinstance(error, ConnectionFailedError | MalformedResponseError)
    assert text == error.partial_text == "so far"


async def test_a_reset_before_the_answer_is_retried() -> None:
    with SseServer(Reply([Reset()], framing="raw"), Reply([Cut()], framing="raw"), answer("ok")) as server:
        async with client_for(server) as client:
            assert "".join([found.text async for found in client.stream(REQUEST)]) == "ok"


async def test_a_refused_connection_raises_an_error_with_a_hint() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with OpenRouterClient(None, url, max_retries=0) as client:
            with pytest.raises(ConnectionFailedError, match="Is the server running"):
                await client.complete(REQUEST)


@pytest.mark.parametrize("steps", [[Stall()], [FIRST, Stall()], [b"data: {", Stall()]])
async def test_silence_ends_in_a_timeout(steps: list[Step]) -> None:
    with SseServer(Reply(steps)) as server:
        async with asyncio.timeout(60):
            error, text = await failure_of(
                server, first_token_timeout_s=0.2, idle_timeout_s=0.2, max_retries=0
            )
        assert await asyncio.to_thread(server.requests[0].hung_up.wait, 30)
    assert isinstance(error, ProviderTimeoutError)
    assert error.partial_text == text


async def test_silence_before_the_headers_ends_in_a_timeout() -> None:
    with SseServer(Reply([Stall()], framing="raw")) as server:
        error, _ = await failure_of(server, first_token_timeout_s=0.2, max_retries=0)
    assert isinstance(error, ProviderTimeoutError)
    assert error.error_type == "first_token_timeout"


async def test_a_request_without_a_token_is_retried_only_once() -> None:
    with SseServer(*(Reply([PROCESSING, Stall()]) for _ in range(5))) as server:
        error, _ = await failure_of(server, first_token_timeout_s=0.1, max_retries=4)
        assert len(server.requests) == 2
    assert error.error_type == "first_token_timeout"


async def test_bytes_that_complete_no_event_do_not_reset_the_idle_timeout() -> None:
    drip: list[Step] = [FIRST]
    for _ in range(100):
        drip += [b" ", Pause(0.02)]
    with SseServer(Reply(drip)) as server:
        error, _ = await failure_of(server, idle_timeout_s=0.2)
    assert isinstance(error, ProviderTimeoutError)
    assert error.partial_text == "so far"


def beating(*steps: Step, beats: int = 400) -> Reply:
    """Keep-alive comments, and role chunks without content, at the end of `steps`."""
    empty = event(chunk(""))
    alive = [step for _ in range(beats) for step in (PROCESSING, empty, Pause(0.02))]
    return Reply([*steps, *alive])


async def test_keep_alives_do_not_extend_the_first_token_deadline() -> None:
    with SseServer(beating()) as server:
        error, _ = await failure_of(server, first_token_timeout_s=0.3, max_retries=0)
        assert await asyncio.to_thread(server.requests[0].hung_up.wait, 30)
    assert error.error_type == "first_token_timeout"
    assert "keep-alive comments" in error.message


def test_keep_alives_do_not_extend_the_deadline_of_a_synchronous_stream() -> None:
    with SseServer(beating()) as server:
        client = client_for(server, first_token_timeout_s=0.3, max_retries=0)
        with pytest.raises(ProviderTimeoutError, match="no first token"):
            list(client.stream_sync(REQUEST))
        assert server.requests[0].hung_up.wait(30)
        client.close()


async def test_keep_alives_extend_the_idle_timeout_only_to_a_limit() -> None:
    pause: list[Step] = [step for _ in range(30) for step in (PROCESSING, Pause(0.05))]
    late = Reply([FIRST, *pause, event(chunk("!", finish_reason="stop")), DONE])
    with SseServer(late, beating(FIRST)) as server:
        async with client_for(server, idle_timeout_s=1.0) as client:
            assert "".join([found.text async for found in client.stream(REQUEST)]) == "so far!"
        # The server pauses 0.02 s; a busy machine makes that ten times as long.
        error, text = await failure_of(server, idle_timeout_s=0.4, max_retries=0)
    assert (error.error_type, text) == ("idle_timeout", "so far")
    assert "only keep-alive comments for 2 s" in error.message


@pytest.mark.parametrize("end", [Reset(), Cut(), Stall()])
async def test_an_answer_with_a_finish_reason_is_complete_despite_a_broken_connection(end: Step) -> None:
    with SseServer(Reply([event(chunk("whole", finish_reason="stop")), end])) as server:
        async with client_for(server, idle_timeout_s=0.1) as client:
            assert "".join([found.text async for found in client.stream(REQUEST)]) == "whole"
    with SseServer(Reply([event(chunk("whole", finish_reason="stop")), end])) as server:
        client = client_for(server, idle_timeout_s=0.1)
        assert "".join(found.text for found in client.stream_sync(REQUEST)) == "whole"
        client.close()


async def test_a_slow_consumer_does_not_cause_a_timeout() -> None:
    with SseServer(answer("a", "b", "c")) as server:
        async with client_for(server, idle_timeout_s=0.1) as client:
            texts = []
            async for found in client.stream(REQUEST):
                texts.append(found.text)
                # All of it lies in the socket then, so that only this consumer is slow.
                await asyncio.to_thread(server.requests[0].finished.wait, 60)
                await asyncio.sleep(0.15)
    assert "".join(texts) == "abc"


async def test_a_non_streamed_answer_that_takes_too_long_is_a_timeout() -> None:
    with SseServer(Reply([b"{", Stall()])) as server:
        async with client_for(server, timeout=0.2) as client:
            with pytest.raises(ProviderTimeoutError, match=r"0\.2 s"):
                await client.complete(REQUEST)


@pytest.mark.parametrize("body", [b"", b"hello", b"[]", b'{"choices": []}', b"[" * 100_000, b"\xff\xfe"])
async def test_an_invalid_non_streamed_answer_is_malformed(body: bytes) -> None:
    with SseServer(Reply([body])) as server:
        async with client_for(server) as client:
            with pytest.raises(MalformedResponseError):
                await client.complete(REQUEST)


async def test_an_error_body_with_status_200_is_an_error() -> None:
    reply = json_reply({"error": {"code": 402, "message": "no credits"}})
    with SseServer(reply) as server:
        async with client_for(server) as client:
            with pytest.raises(PaymentRequiredError, match="no credits"):
                await client.complete(REQUEST)


async def _drained(client: OpenRouterClient) -> None:
    async with aclosing(client.stream(REQUEST)) as chunks:
        async for _ in chunks:
            pass


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    with SseServer() as thief:
        there = thief.base_url.replace("127.0.0.1", "localhost")
        reply = Reply([], status, {"Location": f"{there}/chat/completions"})
        with SseServer(reply, reply, reply, routes={"GET /models": reply}) as server:
            async with OpenRouterClient("sk-for-this-host", server.base_url) as client:
                for ask in (
                    lambda: client.complete(REQUEST),
                    lambda: asyncio.to_thread(client.complete_sync, REQUEST),
                    lambda: _drained(client),
                    client.models,
                ):
                    with pytest.raises(InvalidRequestError, match="Redirects are not followed"):
                        await ask()
            assert len(server.requests) == 4
        assert thief.requests == []


async def test_an_endless_error_body_still_gives_its_status() -> None:
    with SseServer(Reply([b"<html>", Stall()], 401)) as server:
        error, _ = await failure_of(server, idle_timeout_s=0.2)
    assert isinstance(error, AuthenticationError)


async def test_a_connection_that_stays_open_after_done_is_not_awaited() -> None:
    with SseServer(Reply([event(chunk("a", finish_reason="stop")), DONE, Stall()])) as server:
        async with client_for(server, idle_timeout_s=120) as client, asyncio.timeout(60):
            assert [found.text async for found in client.stream(REQUEST)] == ["a"]


def test_the_synchronous_paths_fail_in_the_same_ways() -> None:
    broken = Reply([FIRST, event({"error": {"code": 500, "message": "died"}})])
    with SseServer(
        error_reply(503, "busy", headers=NOW),
        answer("ok"),
        broken,
        Reply([FIRST, Reset()]),
        error_reply(402, "no"),
    ) as server:
        client = client_for(server)
        assert "".join(found.text for found in client.stream_sync(REQUEST)) == "ok"
        for kind in (ServerError, ConnectionFailedError):
            with pytest.raises(kind) as caught:
                list(client.stream_sync(REQUEST))
            assert caught.value.partial_text == "so far"
        with pytest.raises(PaymentRequiredError):
            client.complete_sync(REQUEST)
        client.close()


@pytest.mark.parametrize("steps", [[Stall()], [FIRST, Stall()]])
def test_a_silent_synchronous_stream_is_a_timeout(steps: list[Step]) -> None:
    with SseServer(Reply(steps)) as server:
        client = client_for(server, first_token_timeout_s=0.2, idle_timeout_s=0.2, max_retries=0)
        with pytest.raises(ProviderTimeoutError):
            list(client.stream_sync(REQUEST))
        client.close()


def test_a_synchronous_answer_that_takes_too_long_is_a_timeout() -> None:
    with SseServer(Reply([b"{", Stall()])) as server:
        client = client_for(server, timeout=0.2)
        with pytest.raises(ProviderTimeoutError):
            client.complete_sync(REQUEST)
        client.close()
