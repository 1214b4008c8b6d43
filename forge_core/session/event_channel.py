"""What a session reports: the events of the running turn to its reader, and notices outside turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING

from forge_core.events import Notice, Retry
from forge_core.langchain.agent.event_queue import CAPACITY, EventQueue
from forge_core.session.agents.agent_scope import running_agent

if TYPE_CHECKING:
    from forge_core.llm.http.retry import RetryNotice

STEP_LIMIT = CAPACITY // 2
"""Events that may be unread when the turn starts its next step: a slow screen delays no tool."""


class EventChannel:
    """Made before everything that reports to it: client, journal, undo and jobs."""

    def __init__(self) -> None:
        self.on_figures: Callable[[], None] | None = None
        """Called when figures have changed outside the turn's events: a bill has arrived, a job has ended."""
        self._record: Callable[[Notice], None] = lambda notice: None
        self._queue: EventQueue | None = None
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin_turn(self, record: Callable[[Notice], None]) -> EventQueue:
        """Return the queue of a new turn. `record` is called with each notice that goes into it."""
        self._loop = asyncio.get_running_loop()
        self._record = record
        self._queue = queue = EventQueue(STEP_LIMIT)
        return queue

    def end_turn(self) -> None:
        self._queue = None

    def notify(self, notice: Notice) -> None:
        """Emit a notice in the running turn's stream if there is room and the run has not ended, else to
        `notices`.

        Safe from other threads once a turn has begun, or `notices` is being read.
        """
        if self._loop is not None and threading.current_thread() is not threading.main_thread():
            self._loop.call_soon_threadsafe(self._put, notice)
        else:
            self._put(notice)

    def retry(self, notice: RetryNotice) -> None:
        """Report that the client repeats a request; one of a sub-agent is an event of that."""
        scope = running_agent.get()
        (self.notify if scope is None else scope.emit)(
            Retry.of(
                notice.reason, attempt=notice.attempt, max_retries=notice.max_retries, wait_s=notice.wait_s
            )
        )

    def info(self, text: str) -> None:
        self.notify(Notice(level="info", text=text))

    def warning(self, text: str) -> None:
        self.notify(Notice(level="warning", text=text))

    def warnings(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.warning(text)

    def error(self, text: str) -> None:
        self.notify(Notice(level="error", text=text))

    def figures_changed(self) -> None:
        if self.on_figures is not None:
            self.on_figures()

    def waiting(self) -> list[Notice]:
        """Return the notices from outside turns that nobody has read, and forget them."""
        found = []
        while not self._notices.empty():
            found.append(self._notices.get_nowait())
        return found

    async def notices(self) -> AsyncGenerator[Notice, None]:
        """Yield what happens outside turns. Never ends by itself."""
        self._loop = asyncio.get_running_loop()
        while True:
            yield await self._notices.get()

    def _put(self, notice: Notice) -> None:
        queue = self._queue
        if queue is not None and not (queue.is_full or queue.is_over):
            self._record(notice)
            queue.emit(notice)
        else:
            self._notices.put_nowait(notice)
