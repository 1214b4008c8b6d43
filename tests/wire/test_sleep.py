"""ClientPool after the machine has slept: the pool's are given up, and dead ones are found out."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from forge_core.errors import ConnectionFailedError
from forge_core.llm.client import OpenRouterClient
from forge_core.llm.http import connection, watchdog
from forge_core.llm.http.connection import ClientPool, enable_keepalive, time_asleep_s
from forge_core.llm.http.loop_thread import LOOP_THREAD
from forge_core.llm.models import CompletionRequest, Message
from tests.support.sse_server import (
    MODEL,
    Gate,
    Reply,
    SseServer,
    Stall,
    Step,
    answer,
    chunk,
    event,
    json_reply,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[SseServer]:
    with SseServer(routes={"GET /models": json_reply({"data": []})}) as running:
        yield running


async def test_connections_open_during_system_sleep_are_not_reused(
    server: SseServer,
) -> None:
    slept_s = [0.0]
    pool = ClientPool(trust_env=False, needs_tls=False, asleep_s=lambda: slept_s[0])

    async def get() -> None:
        await (await pool.async_client()).get(f"{server.base_url}/models")

    for asleep in (0.0, 0.0, 0.5, 600.0, 600.0):
        slept_s[0] = asleep
        await get()
        LOOP_THREAD.run(get())
    await pool.aclose()
    asynchronous, synchronous = server.requests[::2], server.requests[1::2]
    for seen in (asynchronous, synchronous):
        numbers = [request.connection for request in seen]
        assert numbers[0] == numbers[1] == numbers[2]
        assert numbers[3] == numbers[4] != numbers[0]


def test_the_sleep_clock_does_not_advance_while_the_machine_is_awake() -> None:
    assert abs(time_asleep_s() - time_asleep_s()) < connection.ASLEEP_S


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a Linux option")
async def test_tcp_keepalive_is_enabled_for_a_streaming_connection(server: SseServer) -> None:
    url = f"{server.base_url}/models"
    async with httpx.AsyncClient(trust_env=False) as client, client.stream("GET", url) as response:
        enable_keepalive(response)
        found = response.extensions["network_stream"].get_extra_info("socket")
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000


def test_a_response_without_a_socket_is_accepted() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text="ok"))
    with httpx.Client(transport=transport) as client:
        enable_keepalive(client.get("http://nowhere.invalid"))


@pytest.fixture
def slept_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the machine has slept, to be set by the test; a connection has little time after it."""
    slept = [0.0]
    monkeypatch.setattr(connection, "_CLOCK_WITH_SLEEP", 0)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: time.monotonic() + slept[0])
    monkeypatch.setattr(watchdog, "LOOK_S", 0.05)
    return slept


REQUEST = CompletionRequest(MODEL, [Message.user("hi")])


async def test_a_stream_silent_after_system_sleep_is_a_lost_connection(slept_s: list[float]) -> None:
    with SseServer(Reply([event(chunk("so far")), Stall()])) as server:
        async with OpenRouterClient("sk-or-test", server.base_url) as client:
            with pytest.raises(ConnectionFailedError, match="while the machine slept") as caught:
                async for _ in client.stream(REQUEST):
                    slept_s[0] = 3600.0
    assert caught.value.partial_text == "so far"


async def test_a_request_unanswered_after_system_sleep_is_retried(slept_s: list[float]) -> None:
    def fall_asleep(seen: object) -> Reply:
        slept_s[0] = 3600.0
        steps: list[Step] = [Gate()]
        return Reply(steps, framing="raw")

    with SseServer(fall_asleep, answer("awake")) as server:
        async with OpenRouterClient("sk-or-test", server.base_url) as client:
            texts = [found.text async for found in client.stream(REQUEST)]
        assert server.requests[0].connection != server.requests[1].connection
    assert "".join(texts) == "awake"
