"""The HTTP clients behind one provider client: one per running event loop, one for synchronous use, none
before use."""

from __future__ import annotations

import asyncio
import functools
import ssl
import threading
import weakref
from collections.abc import AsyncGenerator

import httpx

_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60.0)
"""Idle connections live longer than httpx's 5 s: a tool that runs for half a minute should not cost a
handshake."""


class Connections:
    """Makes the clients when they are first needed and closes them.

    An httpx.AsyncClient belongs to the loop that it was first used in, so each loop gets its own. Loops that
    end properly (`asyncio.run`) close theirs: each client is held by an async generator that is parked in the
    loop, and the loop's `shutdown_asyncgens` finishes it.
    """

    def __init__(
        self,
        *,
        trust_env: bool,
        needs_tls: bool,
        transport: httpx.AsyncBaseTransport | None = None,
        sync_transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._trust_env = trust_env
        self._needs_tls = needs_tls
        self._transport = transport
        self._sync_transport = sync_transport
        self._by_loop: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, AsyncGenerator[httpx.AsyncClient, None]
        ]
        self._by_loop = weakref.WeakKeyDictionary()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._clients = weakref.WeakKeyDictionary()
        self._sync: httpx.Client | None = None
        self._lock = threading.Lock()

    async def for_this_loop(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is not None and not client.is_closed:
            return client
        with self._lock:
            self._forget_closed_loops()
            holder = self._hold()
            self._by_loop[loop] = holder
        client = await anext(holder)
        self._clients[loop] = client
        return client

    def for_threads(self) -> httpx.Client:
        with self._lock:
            if self._sync is None or self._sync.is_closed:
                self._sync = httpx.Client(
                    transport=self._sync_transport,
                    trust_env=self._trust_env,
                    verify=_ssl_context() if self._needs_tls and self._sync_transport is None else False,
                    limits=_LIMITS,
                    follow_redirects=False,
                )
            return self._sync

    async def aclose(self) -> None:
        """Closes this loop's client and the synchronous one; either is made anew when it is used again."""
        loop = asyncio.get_running_loop()
        holder = self._by_loop.pop(loop, None)
        self._clients.pop(loop, None)
        if holder is not None:
            await holder.aclose()
        self.close()

    def close(self) -> None:
        """Closes the synchronous client."""
        with self._lock:
            if self._sync is not None:
                self._sync.close()
                self._sync = None

    async def _hold(self) -> AsyncGenerator[httpx.AsyncClient, None]:
        client = httpx.AsyncClient(
            transport=self._transport,
            trust_env=self._trust_env,
            verify=_ssl_context() if self._needs_tls and self._transport is None else False,
            limits=_LIMITS,
            follow_redirects=False,
        )
        try:
            yield client
        finally:
            await client.aclose()

    def _forget_closed_loops(self) -> None:
        for loop in [loop for loop in self._by_loop if loop.is_closed()]:
            self._by_loop.pop(loop, None)
            self._clients.pop(loop, None)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: loading the certificates takes about 20 ms."""
    return httpx.create_ssl_context(trust_env=True)
