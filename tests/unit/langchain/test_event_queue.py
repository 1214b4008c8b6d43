"""The queue between a run and its reader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from forge_core.events import AgentEvent, LLMChunk
from forge_core.langchain.agent import ForgeAgent
from forge_core.langchain.agent.event_queue import CAPACITY, EventQueue, EventSink, read_events
from tests.support.scripted_llm import ScriptedLLM


def chunk(text: str) -> LLMChunk:
    return LLMChunk(text=text)


async def read(queue: EventQueue) -> list[AgentEvent]:
    events = []
    while (event := await queue.get()) is not None:
        events.append(event)
    return events


async def test_events_arrive_in_order_until_the_queue_is_closed() -> None:
    queue = EventQueue(capacity=0)
    events = [chunk("a"), chunk("b")]
    for event in events:
        queue.emit(event)
    queue.close()
    queue.emit(chunk("late"))
    assert await read(queue) == events
    assert not queue.is_full  # the late event was dropped


async def test_discarding_on_close_drops_pending_events() -> None:
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


async def test_a_limit_lets_the_run_start_steps_ahead_of_the_reader() -> None:
    queue = EventQueue(step_limit=1, capacity=1)
    queue.emit(chunk("a"))
    await queue.ready()
    assert not queue.is_full
    queue.emit(chunk("b"))
    assert queue.is_full


class Fragments(list[str]):
    """A reply whose fragments are counted as they are streamed."""

    streamed = 0

    def __iter__(self) -> Iterator[str]:
        for fragment in super().__iter__():
            self.streamed += 1
            yield fragment


async def test_a_slow_reader_holds_the_model_back() -> None:
    reply = Fragments(["word "] * (4 * CAPACITY))
    agent = ForgeAgent(llm=ScriptedLLM(replies=[reply]))
    ahead, read = 0, 0
    async with aclosing(agent.stream("go")) as events:
        async for _event in events:
            read += 1
            for _ in range(20):  # the run could go on for as long as it likes
                await asyncio.sleep(0)
            ahead = max(ahead, min(reply.streamed, len(reply)) - read)
    assert CAPACITY - 2 <= ahead <= CAPACITY + 1
    assert agent.last_result is not None and agent.last_result.output == "word " * (4 * CAPACITY)


@pytest.mark.parametrize(("step_limit", "streamed"), [(0, 0), (1, CAPACITY)])
async def test_an_interrupt_ends_a_run_that_waits_for_its_reader(step_limit: int, streamed: int) -> None:
    reply = Fragments(["word "] * (4 * CAPACITY))
    agent = ForgeAgent(llm=ScriptedLLM(replies=[reply]))
    run = asyncio.create_task(agent.execute("go", EventQueue(step_limit)))
    for _ in range(20 * CAPACITY):
        await asyncio.sleep(0)
    assert reply.streamed == streamed and not run.done()
    agent.interrupt()
    await asyncio.wait_for(run, 10)
    assert agent.last_result is not None and agent.last_result.stopped_reason == "cancelled"


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
