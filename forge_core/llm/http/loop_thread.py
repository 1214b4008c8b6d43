"""An event loop in a separate thread, which runs coroutines for synchronous callers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future
from contextlib import aclosing
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """The loop and its thread, both started by the first call.

    The thread is a daemon: nothing waits for it when the interpreter exits. A child process that was forked
    has no such thread and starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._inherited: list[asyncio.AbstractEventLoop | None] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The running loop; None before the first call."""
        return self._loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what `coroutine` returns, in the context of the caller. Interrupting the caller (Ctrl+C)
        cancels it."""
        future = self._start(coroutine)
        try:
            return future.result()
        finally:
            future.cancel()

    def iterate(self, source: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield the items of `source`. It runs ahead of the caller, and is closed when the caller stops.

        One task reads all of them: a task per item took 60 µs more for each.
        """
        items: SimpleQueue[T | Future[None]] = SimpleQueue()

        async def read() -> None:
            async with aclosing(source):
                async for item in source:
                    items.put(item)

        reading = self._start(read())
        reading.add_done_callback(items.put)
        try:
            while (item := items.get()) is not reading:
                yield item  # type: ignore[misc]
            reading.result()
        finally:
            reading.cancel()

    def _start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="forge-llm", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _forget(self) -> None:
        # Kept, as its finalizer would write to a pipe that is shared with the parent's loop.
        self._inherited.append(self._loop)
        self._lock, self._loop = threading.Lock(), None


LOOP_THREAD = LoopThread()
"""The process's own: connections belong to a loop, so that one loop lets all callers share them."""
