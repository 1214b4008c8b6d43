"""The provider client over real HTTP: requests, answers, connections."""

from __future__ import annotations

import asyncio
import gc
import threading
from decimal import Decimal

import pytest

from forge_core.errors import AuthenticationError, ConfigError
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http.assembly import AnswerAssembler
from forge_core.llm.models import CompletionRequest, CompletionResponse, Message
from tests.support.sse_server import (
    KEY,
    MODEL,
    PROCESSING,
    USAGE,
    Gate,
    Reply,
    Seen,
    SseServer,
    Stall,
    answer,
    chunk,
    event,
    json_reply,
    stream,
    tool_answer,
)

REQUEST = CompletionRequest(MODEL, [Message.user("hi")])
WHOLE = {
    "id": "gen-2",
    "provider": "TestProvider",
    "model": MODEL,
    "choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    "usage": USAGE,
}


async def collect(client: OpenRouterClient, request: CompletionRequest = REQUEST) -> CompletionResponse:
    made = AnswerAssembler()
    async for found in client.stream(request):
        made.add(found)
    return made.response()


async def test_a_streamed_answer_arrives_with_its_metadata() -> None:
    with SseServer(answer("Hel", "lo")) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            response = await collect(client)
    assert response.message.text == "Hello"
    assert (response.model, response.provider, response.generation_id) == (MODEL, "TestProvider", "gen-1")
    assert response.usage is not None
    assert response.usage.cost_usd == Decimal("0.000123")
    assert (response.usage.cached_tokens, response.usage.reasoning_tokens) == (4, 2)
    seen = server.requests[0]
    assert seen.path == "/api/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.json["stream"] is True


async def test_each_chunk_is_yielded_before_the_next_one_is_sent() -> None:
    gate = Gate()
    reply = Reply([event(chunk("first")), gate, event(chunk("second", finish_reason="stop"))])
    with SseServer(reply) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            chunks = client.stream(REQUEST)
            assert (await anext(chunks)).text == "first"
            gate.open()
            assert (await anext(chunks)).text == "second"
            await chunks.aclose()


async def test_fragmented_tool_calls_are_assembled() -> None:
    with SseServer(tool_answer(("c1", "read", {"path": "/x"}), ("c2", "grep", {"pattern": "ü"}))) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            response = await collect(client)
    assert response.finish_reason == "tool_calls"
    assert [(call.id, call.name, call.arguments) for call in response.message.tool_calls or ()] == [
        ("c1", "read", '{"path": "/x"}'),
        ("c2", "grep", '{"pattern": "\\u00fc"}'),
    ]


async def test_keep_alive_comments_are_separate_chunks() -> None:
    with SseServer(Reply([PROCESSING, event(chunk("a", finish_reason="stop"))])) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            chunks = [found async for found in client.stream(REQUEST)]
    assert [found.comment for found in chunks] == ["OPENROUTER PROCESSING", None]


async def test_a_non_streamed_answer_is_read() -> None:
    with SseServer(json_reply(WHOLE, headers={"X-Generation-Id": "gen-h"})) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            response = await client.complete(REQUEST)
    assert response.message.text == "Hello"
    assert response.generation_id == "gen-h"
    assert response.raw["id"] == "gen-2"
    assert "stream" not in server.requests[0].json


async def test_a_server_that_ignores_streaming_is_supported() -> None:
    with SseServer(json_reply(WHOLE)) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            assert (await collect(client)).message.text == "Hello"


async def test_connections_are_reused_after_a_finished_answer() -> None:
    with SseServer(answer("a"), json_reply(WHOLE), answer("b")) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            await collect(client)
            await client.complete(REQUEST)
            await collect(client)
        assert {seen.connection for seen in server.requests} == {1}


async def test_closing_a_stream_closes_the_connection_immediately() -> None:
    with SseServer(Reply([event(chunk("a")), Stall()])) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            chunks = client.stream(REQUEST)
            await anext(chunks)
            await chunks.aclose()
            assert await asyncio.to_thread(server.requests[0].hung_up.wait, 2)


async def test_dropping_a_stream_closes_the_connection() -> None:
    with SseServer(Reply([event(chunk("a")), Stall()])) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            async for _ in client.stream(REQUEST):
                break
            gc.collect()
            assert await asyncio.to_thread(server.requests[0].hung_up.wait, 2)


async def test_a_cancelled_task_closes_the_connection_and_stays_cancelled() -> None:
    gate = Gate()
    with SseServer(Reply([event(chunk("a")), gate, Stall()])) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            task = asyncio.create_task(collect(client))
            assert await asyncio.to_thread(gate.reached.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.requests[0].hung_up.wait, 2)


async def test_a_cancellation_before_the_first_byte_closes_the_connection() -> None:
    gate = Gate()
    with SseServer(Reply([gate, Stall()], framing="raw")) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            task = asyncio.create_task(client.complete(REQUEST))
            assert await asyncio.to_thread(gate.reached.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gate.open()
            assert await asyncio.to_thread(server.requests[0].hung_up.wait, 2)


async def test_concurrent_streams_do_not_interfere() -> None:
    replies = [answer(*(f"{number}." for _ in range(20))) for number in range(10)]
    with SseServer(*replies) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            answers = await asyncio.gather(*(collect(client) for _ in range(10)))
    texts = sorted(response.message.text for response in answers)
    assert texts == sorted(f"{number}." * 20 for number in range(10))


def test_one_client_works_in_one_event_loop_after_another() -> None:
    with SseServer(answer("a"), answer("b"), answer("c")) as server:
        client = OpenRouterClient(KEY, server.base_url)
        texts = [asyncio.run(collect(client)).message.text for _ in range(3)]
    assert texts == ["a", "b", "c"]
    assert server.open_connections == 0


def test_one_client_works_in_several_threads_at_once() -> None:
    def as_asked(seen: Seen) -> Reply:
        return answer("a") if seen.json.get("stream") else json_reply(WHOLE)

    with SseServer(*[as_asked] * 8) as server:
        client = OpenRouterClient(KEY, server.base_url)
        results: list[str] = []

        def work() -> None:
            results.append(client.complete_sync(REQUEST).message.text)
            results.append(asyncio.run(collect(client)).message.text)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        client.close()
    assert sorted(results) == ["Hello"] * 4 + ["a"] * 4


async def test_synchronous_methods_work_inside_a_running_event_loop() -> None:
    with SseServer(json_reply(WHOLE), answer("Hel", "lo")) as server:
        client = OpenRouterClient(KEY, server.base_url)
        assert client.complete_sync(REQUEST).message.text == "Hello"
        assert "".join(found.text for found in client.stream_sync(REQUEST)) == "Hello"
        client.close()


def test_closing_a_synchronous_stream_closes_the_connection() -> None:
    with SseServer(Reply([event(chunk("a")), Stall()])) as server:
        client = OpenRouterClient(KEY, server.base_url)
        chunks = client.stream_sync(REQUEST)
        assert next(chunks).text == "a"
        chunks.close()
        assert server.requests[0].hung_up.wait(30)
        client.close()


async def test_closing_ends_every_connection_and_the_client_stays_usable() -> None:
    with SseServer(answer("a"), answer("b")) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            await collect(client)
        assert server.requests[0].finished.wait(10)
        assert (await collect(client)).message.text == "b"
        await client.aclose()
        assert server.requests[1].connection == 2


async def test_without_a_key_no_authorization_is_sent_to_a_custom_server() -> None:
    with SseServer(answer("a")) as server:
        async with OpenRouterClient(None, server.base_url) as client:
            await collect(client)
    assert "authorization" not in server.requests[0].headers


async def test_no_request_is_sent_without_a_required_key() -> None:
    async with OpenRouterClient() as client:
        with pytest.raises(AuthenticationError, match="Set OPENROUTER_API_KEY"):
            await client.complete(REQUEST)


@pytest.mark.parametrize("key", ["sk\nor", "sk or", "schlüssel", "a\x00b"])
def test_an_invalid_key_is_rejected_without_quoting_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenRouterClient(key)
    assert key not in str(caught.value)


def test_the_key_is_in_no_repr() -> None:
    assert KEY not in repr(OpenRouterClient(KEY))
    assert "set" in repr(OpenRouterClient(KEY))


async def test_the_client_never_reads_a_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with SseServer(answer("a")) as server:
        async with OpenRouterClient(None, server.base_url) as client:
            await collect(client)
    assert "authorization" not in server.requests[0].headers


async def test_attribution_headers_are_sent_only_to_openrouter() -> None:
    with SseServer(stream(chunk("a", finish_reason="stop"))) as server:
        async with OpenRouterClient(KEY, server.base_url) as client:
            await collect(client)
    assert "http-referer" not in server.requests[0].headers
    assert server.requests[0].headers["user-agent"].startswith("forge/")
