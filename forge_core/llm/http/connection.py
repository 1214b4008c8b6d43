"""The HTTP clients behind one provider client: one per running event loop, each made on first use."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import socket
import ssl
import sys
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import httpx

from forge_core.llm.http.loop_thread import LOOP_THREAD

_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60.0)
"""Idle connections live longer than httpx's 5 s: a tool that runs for half a minute should not cost a
handshake."""


_PROBES = (
    ("TCP_KEEPIDLE", 15),
    ("TCP_KEEPALIVE", 15),  # macOS's name for it
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 20_000),
)
"""Socket options that end a connection whose other side is gone (a changed network, a machine that slept)
after half a minute without a reply; seconds, but for the last. Without them only a deadline for tokens
would end it."""


def enable_keepalive(response: httpx.Response) -> None:
    """Let the operating system detect when the connection of `response` is dead."""
    stream = response.extensions.get("network_stream")
    found = stream.get_extra_info("socket") if stream is not None else None
    if found is None:  # a transport of a test, or one without sockets
        return
    with contextlib.suppress(OSError, AttributeError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _PROBES:
            if (option := getattr(socket, name, None)) is not None:
                found.setsockopt(socket.IPPROTO_TCP, option, value)


def time_asleep_s() -> float:
    """Return the seconds that the machine has been suspended, from an arbitrary start; 0 where that is
    unknown.

    Meanwhile `time.monotonic` does not advance on Linux and macOS; the wall clock may be set at any time.
    """
    clock = _CLOCK_WITH_SLEEP
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


def _clock_with_sleep() -> int | None:
    if sys.platform == "darwin":
        return time.CLOCK_MONOTONIC
    return getattr(time, "CLOCK_BOOTTIME", None)


_CLOCK_WITH_SLEEP = _clock_with_sleep()
ASLEEP_S = 2.0
"""A shorter suspension is ignored: the two clocks are not read at the same moment."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An asynchronous client, and the generator that closes it when its loop ends or it is released."""

    client: httpx.AsyncClient
    holder: AsyncGenerator[httpx.AsyncClient, None]
    made_asleep_s: float
    """`time_asleep_s` when it was made."""


class ClientPool:
    """The HTTP clients of one provider client, made on first use.

    An httpx.AsyncClient belongs to the loop that it was first used in, so each loop gets its own. Loops that
    end properly (`asyncio.run`) close theirs: each client is held by an async generator that is suspended in
    the loop, and the loop's `shutdown_asyncgens` finishes it. A pool that is dropped without being closed
    closes its clients.

    Clients that were open while the machine slept are closed before the next request: the other side has
    usually closed their connections, but the clock of httpx did not advance, so that it would reuse them.
    """

    def __init__(
        self,
        *,
        trust_env: bool,
        needs_tls: bool,
        transport: httpx.AsyncBaseTransport | None = None,
        asleep_s: Callable[[], float] = time_asleep_s,
    ) -> None:
        self._asleep_s = asleep_s
        self._trust_env = trust_env
        self._needs_tls = needs_tls
        self._transport = transport
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = threading.Lock()
        # Collected in a cycle, the sockets could be finalised before the generators. This reference keeps the
        # clients out of the cycle: they are released after it, and their generators close them.
        weakref.finalize(self, self._by_loop.clear)

    async def async_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        held = self._by_loop.get(loop)
        asleep_s = self._asleep_s()
        if held is not None and asleep_s - held.made_asleep_s > ASLEEP_S:
            self._by_loop.pop(loop, None)
            await held.holder.aclose()
        elif held is not None and not held.client.is_closed:
            return held.client
        client = httpx.AsyncClient(
            transport=self._transport,
            trust_env=self._trust_env,
            verify=_ssl_context() if self._needs_tls and self._transport is None else False,
            limits=_LIMITS,
            follow_redirects=False,
        )
        holder = _hold(client)
        with self._lock:
            self._forget_closed_loops()
            self._by_loop[loop] = _Held(client, holder, asleep_s)
        return await anext(holder)

    async def aclose(self) -> None:
        """Close the client of this loop and that of the synchronous calls; either is made again on demand."""
        held = self._by_loop.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.holder.aclose()
        self.close()

    def close(self) -> None:
        """Close the client of the synchronous calls."""
        held = None if LOOP_THREAD.loop is None else self._by_loop.pop(LOOP_THREAD.loop, None)
        if held is not None:
            LOOP_THREAD.run(_close(held))

    def _forget_closed_loops(self) -> None:
        for loop in [loop for loop in self._by_loop if loop.is_closed()]:
            self._by_loop.pop(loop, None)


async def _close(held: _Held) -> None:
    await held.holder.aclose()


async def _hold(client: httpx.AsyncClient) -> AsyncGenerator[httpx.AsyncClient, None]:
    try:
        yield client
    finally:
        await client.aclose()


def warm_up(url: str) -> None:
    """Load what httpx defers to the first request to `url`: 80 ms of imports, and the certificates."""
    importlib.import_module("httpcore")
    with contextlib.suppress(ImportError):  # a private name; without it only the first request is later
        importlib.import_module("anyio._backends._asyncio")
    if url.startswith("https:"):
        _ssl_context()


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Return the context of all clients: loading the certificates takes about 20 ms."""
    return httpx.create_ssl_context(trust_env=True)
