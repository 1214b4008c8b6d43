"""The queue between a run and its reader."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from forge_core.events import AgentEvent, LLMChunk
from forge_core.langchain.agent.event_queue import EventQueue, EventSink, read_events


def chunk(text: str) -> LLMChunk:
    return LLMChunk(text=text)


async def read(queue: EventQueue) -> list[AgentEvent]:
    events = []
    while (event := await queue.get()) is not None:
        events.append(event)
    return events


async def test_events_arrive_in_order_and_end_with_the_queue() -> None:
    queue = EventQueue()
    events = [chunk("a"), chunk("b")]
    for event in events:
        queue.emit(event)
    queue.close()
    queue.emit(chunk("late"))
    assert await read(queue) == events


async def test_discarding_leaves_the_reader_nothing() -> None:
    queue = EventQueue()
    queue.emit(chunk("a"))
    queue.close(discard=True)
    assert await read(queue) == []


async def test_a_run_waits_until_the_reader_asks_for_the_next_event() -> None:
    queue = EventQueue()
    queue.emit(chunk("a"))
    waiting = asyncio.create_task(queue.ready())
    assert await queue.get() is not None
    await asyncio.sleep(0)
    assert not waiting.done()
    reading = asyncio.create_task(queue.get())
    await waiting
    queue.close()
    assert await reading is None


async def test_a_limit_lets_the_run_go_ahead_of_the_reader() -> None:
    queue = EventQueue(limit=1)
    queue.emit(chunk("a"))
    await queue.ready()
    queue.emit(chunk("b"))
    assert queue.is_full


async def test_an_exception_of_the_run_reaches_the_reader_after_its_events() -> None:
    async def fail(events: EventSink) -> None:
        events.emit(chunk("a"))
        raise RuntimeError("a bug")

    seen = []
    with pytest.raises(RuntimeError, match="a bug"):
        async for event in read_events(fail):
            seen.append(event)
    assert len(seen) == 1


async def test_closing_the_reader_cancels_the_run() -> None:
    ended = asyncio.Event()

    async def run(events: EventSink) -> None:
        try:
            events.emit(chunk("a"))
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with aclosing(read_events(run)) as events:
        await anext(events)
    assert ended.is_set()
