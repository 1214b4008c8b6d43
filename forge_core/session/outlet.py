"""The way of events to whoever reads the session: a turn's own stream, and notices beside the turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable

from forge_core.events import Notice
from forge_core.langchain.agent.event_queue import EventQueue

QUEUE_SIZE = 256
"""Events that may wait for a slow reader before the turn waits for it."""


class Outlet:
    """One a session."""

    def __init__(self, record: Callable[[Notice], None]) -> None:
        """`record` writes down a notice that belongs to the running turn."""
        self._record = record
        self._queue: EventQueue | None = None
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin_turn(self) -> EventQueue:
        """Return the queue of a new turn, for its writer and its reader."""
        self._loop = asyncio.get_running_loop()
        self._queue = queue = EventQueue(QUEUE_SIZE)
        return queue

    def end_turn(self) -> None:
        self._queue = None

    def notify(self, notice: Notice) -> None:
        """Into the running turn's stream, where there is room, else to `notices`. Safe from other threads
        once a turn has begun."""
        loop = self._loop
        if loop is not None and threading.current_thread() is not threading.main_thread():
            loop.call_soon_threadsafe(self._put, notice)
        else:
            self._put(notice)

    async def notices(self) -> AsyncGenerator[Notice, None]:
        """What happens outside a turn. Never ends by itself."""
        while True:
            yield await self._notices.get()

    def _put(self, notice: Notice) -> None:
        if self._queue is not None and not self._queue.is_full:
            self._record(notice)
            self._queue.emit(notice)
        else:
            self._notices.put_nowait(notice)
