"""A client that is dropped without a close leaves no connection open, and no warning.

Warnings are errors here, those of sockets that nobody closed included.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator

import pytest

from forge_core.llm.client import OpenRouterClient
from forge_core.llm.models import CompletionRequest, Message
from tests.support.sse_server import KEY, MODEL, SseServer, answer

pytestmark = pytest.mark.network_server


REQUEST = CompletionRequest(model=MODEL, messages=[Message.user("hi")])


@pytest.fixture
def server() -> Iterator[SseServer]:
    with SseServer(answer("a", "b"), answer("a", "b"), answer("a", "b")) as running:
        yield running


def assert_all_hung_up(server: SseServer) -> None:
    deadline = time.monotonic() + 30
    while server.open_connections and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    assert server.requests
    assert server.open_connections == 0


def use(server: SseServer) -> OpenRouterClient:
    client = OpenRouterClient(KEY, server.base_url)
    assert "".join(chunk.text for chunk in client.stream_sync(REQUEST)) == "ab"
    return client


async def ause(server: SseServer) -> OpenRouterClient:
    client = OpenRouterClient(KEY, server.base_url)
    assert "".join([chunk.text async for chunk in client.stream(REQUEST)]) == "ab"
    return client


def test_a_dropped_client_closes_its_synchronous_connections(server: SseServer) -> None:
    use(server)
    gc.collect()
    assert_all_hung_up(server)


def test_a_client_collected_in_a_reference_cycle_closes_its_connections(server: SseServer) -> None:
    cycle: list[object] = [use(server)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert_all_hung_up(server)


async def test_a_client_dropped_in_a_running_loop_closes_its_connections(server: SseServer) -> None:
    await ause(server)
    gc.collect()
    for _ in range(6000):
        if not server.open_connections:
            break
        await asyncio.sleep(0.005)
    assert_all_hung_up(server)


def test_a_client_dropped_with_its_loop_closes_its_connections(server: SseServer) -> None:
    asyncio.run(ause(server))
    gc.collect()
    assert_all_hung_up(server)


def test_a_client_can_be_dropped_in_a_thread_other_than_its_loop(server: SseServer) -> None:
    async def drop_elsewhere() -> None:
        clients = [await ause(server)]

        def drop() -> None:
            clients.clear()
            gc.collect()

        await asyncio.to_thread(drop)
        for _ in range(6000):
            if not server.open_connections:
                break
            await asyncio.sleep(0.005)

    asyncio.run(drop_elsewhere())
    assert_all_hung_up(server)


def test_an_active_stream_continues_after_its_client_was_dropped(server: SseServer) -> None:
    chunks = OpenRouterClient(KEY, server.base_url).stream_sync(REQUEST)
    first = next(chunk.text for chunk in chunks if chunk.text)
    gc.collect()
    assert first + "".join(chunk.text for chunk in chunks) == "ab"
    del chunks
    gc.collect()
    assert_all_hung_up(server)
