"""The queue between a run and the one reader of its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from forge_core.events import AgentEnd, AgentEvent

CAPACITY = 256
"""Unread events at which the stream of the model pauses: about 5 s of a fast model."""


class EventSink(Protocol):
    """Receives the events of a run, in order."""

    def emit(self, event: AgentEvent) -> None:
        """Take one event without waiting, so that callbacks and running tools can call it."""

    @property
    def is_full(self) -> bool:
        """Whether the run should wait for `ready` before it emits further fragments of an answer."""

    async def ready(self) -> None:
        """Wait until the reader has caught up far enough for the run to start its next step."""


class NoReader:
    """An `EventSink` for runs whose events nobody reads."""

    is_full = False

    def emit(self, event: AgentEvent) -> None:
        pass

    async def ready(self) -> None:
        pass


class ObservedQueue:
    """An `EventSink` that shows each event to an observer before it enters the queue."""

    def __init__(self, queue: EventQueue, observe: Callable[[AgentEvent], None]) -> None:
        self._queue = queue
        self._observe = observe

    def emit(self, event: AgentEvent) -> None:
        self._observe(event)
        self._queue.emit(event)

    @property
    def is_full(self) -> bool:
        return self._queue.is_full

    async def ready(self) -> None:
        await self._queue.ready()


async def read_events(run: Callable[[EventSink], Awaitable[None]]) -> AsyncGenerator[AgentEvent, None]:
    """Start `run` in a task of its own and yield what it emits; closing the generator cancels the task."""

    async def work() -> None:
        try:
            await run(queue)
        finally:
            queue.close()

    queue = EventQueue()
    task = asyncio.create_task(work(), name="forge-agent-run")
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait([task])


class EventQueue:
    """Carries events from a run in one task to a reader in another.

    `emit` never waits, so that callbacks and tools can call it. The queue is bounded because the run waits:
    while it is full, the run does not read on from the model; a step starts when at most `step_limit` events
    are unread. Only the live output of tools is not held back; it is limited per call.
    """

    def __init__(self, step_limit: int = 0, capacity: int = CAPACITY) -> None:
        self._queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._step_limit = step_limit
        self._capacity = capacity
        self._is_handling = False
        self._is_closed = False
        self.is_over = False
        """Whether AGENT_END has been emitted, which is the last event."""
        self._caught_up = asyncio.Event()

    def emit(self, event: AgentEvent) -> None:
        if not self._is_closed:
            self.is_over = self.is_over or isinstance(event, AgentEnd)
            self._queue.put_nowait(event)

    async def ready(self) -> None:
        while self._unread > self._step_limit:
            self._caught_up.clear()
            await self._caught_up.wait()

    async def get(self) -> AgentEvent | None:
        """Return the next event, None at the end. The call also says that the previous event is handled."""
        self._is_handling = False
        if self._unread <= self._step_limit:
            self._caught_up.set()
        event = await self._queue.get()
        self._is_handling = event is not None
        return event

    def close(self, *, discard: bool = False) -> None:
        """End the reader's loop after the events emitted so far; with `discard`, before them."""
        if self._is_closed:
            return
        self._is_closed = True
        while discard and not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    @property
    def is_full(self) -> bool:
        return self._unread > self._capacity

    @property
    def _unread(self) -> int:
        return self._queue.qsize() + self._is_handling
