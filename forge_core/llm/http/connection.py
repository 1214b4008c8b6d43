"""The HTTP clients behind one provider client: one per running event loop, one for synchronous use, none
before use."""

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
from dataclasses import dataclass, field

import httpx

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
would."""


def enable_keepalive(response: httpx.Response) -> None:
    """Let the operating system find out when the connection that `response` came over is dead."""
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
    """Seconds that the machine has been suspended, from an arbitrary start; 0 where that can't be known.

    `time.monotonic` stands still meanwhile on Linux and macOS, and the wall clock may be set.
    """
    clock = _CLOCK_WITH_SLEEP
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


def _clock_with_sleep() -> int | None:
    if sys.platform == "darwin":
        return time.CLOCK_MONOTONIC
    return getattr(time, "CLOCK_BOOTTIME", None)


_CLOCK_WITH_SLEEP = _clock_with_sleep()
ASLEEP_S = 2.0
"""A suspension shorter than this is none: the two clocks are not read at the same moment."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An asynchronous client, and the generator that closes it when its loop ends or it is let go."""

    client: httpx.AsyncClient
    holder: AsyncGenerator[httpx.AsyncClient, None]
    made_asleep_s: float
    """`time_asleep_s` when it was made."""


@dataclass(slots=True)
class _Open:
    """The clients that are open. Knows nothing of its owner, whose end it outlives to close them."""

    sync: httpx.Client | None = None
    sync_asleep_s: float = 0.0
    by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = field(
        default_factory=weakref.WeakKeyDictionary
    )

    def close_sync(self) -> None:
        if self.sync is not None:
            self.sync.close()
            self.sync = None


class ClientPool:
    """Makes the clients when they are first needed and closes them.

    An httpx.AsyncClient belongs to the loop that it was first used in, so each loop gets its own. Loops that
    end properly (`asyncio.run`) close theirs: each client is held by an async generator that is parked in the
    loop, and the loop's `shutdown_asyncgens` finishes it. An object that is dropped without a close closes
    what it had open, as nobody else can.

    ClientPool that were open while the machine slept are closed before the next request: the other side has
    given them up as a rule, and the pool, which counts with a clock that stood still, takes them for fresh.
    """

    def __init__(
        self,
        *,
        trust_env: bool,
        needs_tls: bool,
        transport: httpx.AsyncBaseTransport | None = None,
        sync_transport: httpx.BaseTransport | None = None,
        asleep_s: Callable[[], float] = time_asleep_s,
    ) -> None:
        self._asleep_s = asleep_s
        self._trust_env = trust_env
        self._needs_tls = needs_tls
        self._transport = transport
        self._sync_transport = sync_transport
        self._open = _Open()
        self._lock = threading.Lock()
        # Not __del__: collected in a cycle, the sockets could be finalised first. This callback comes before
        # them all, and lets go of the asynchronous clients only then: their generators close them.
        weakref.finalize(self, _Open.close_sync, self._open)

    async def async_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        held = self._open.by_loop.get(loop)
        asleep_s = self._asleep_s()
        if held is not None and asleep_s - held.made_asleep_s > ASLEEP_S:
            self._open.by_loop.pop(loop, None)
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
            self._open.by_loop[loop] = _Held(client, holder, asleep_s)
        return await anext(holder)

    def sync_client(self) -> httpx.Client:
        with self._lock:
            asleep_s = self._asleep_s()
            if self._open.sync is not None and asleep_s - self._open.sync_asleep_s > ASLEEP_S:
                self._open.close_sync()
            if self._open.sync is None or self._open.sync.is_closed:
                self._open.sync_asleep_s = asleep_s
                self._open.sync = httpx.Client(
                    transport=self._sync_transport,
                    trust_env=self._trust_env,
                    verify=_ssl_context() if self._needs_tls and self._sync_transport is None else False,
                    limits=_LIMITS,
                    follow_redirects=False,
                )
            return self._open.sync

    async def aclose(self) -> None:
        """Closes this loop's client and the synchronous one; either is made anew when it is used again."""
        held = self._open.by_loop.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.holder.aclose()
        self.close()

    def close(self) -> None:
        """Closes the synchronous client."""
        with self._lock:
            self._open.close_sync()

    def _forget_closed_loops(self) -> None:
        for loop in [loop for loop in self._open.by_loop if loop.is_closed()]:
            self._open.by_loop.pop(loop, None)


async def _hold(client: httpx.AsyncClient) -> AsyncGenerator[httpx.AsyncClient, None]:
    try:
        yield client
    finally:
        await client.aclose()


def warm_up(url: str) -> None:
    """Loads what httpx leaves to the first request to `url`: 80 ms of imports, and the certificates."""
    importlib.import_module("httpcore")
    with contextlib.suppress(ImportError):  # a private name; without it only the first request is later
        importlib.import_module("anyio._backends._asyncio")
    if url.startswith("https:"):
        _ssl_context()


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: loading the certificates takes about 20 ms."""
    return httpx.create_ssl_context(trust_env=True)
