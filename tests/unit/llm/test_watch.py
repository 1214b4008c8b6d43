"""The deadline of a stream's reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from forge_core.llm.watch import ReadWatch


async def endless() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def test_a_silent_source_ends_in_a_timeout() -> None:
    with ReadWatch(0.05) as watch, pytest.raises(TimeoutError):
        await watch.read(endless())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_pieces_come_through_and_the_end_is_none() -> None:
    source = pieces(b"a", b"b")
    with ReadWatch(5) as watch:
        assert [await watch.read(source), await watch.read(source), await watch.read(source)] == [
            b"a",
            b"b",
            None,
        ]


async def test_time_between_reads_does_not_count() -> None:
    source = pieces(b"a", b"b")
    with ReadWatch(0.02) as watch:
        await watch.read(source)
        await asyncio.sleep(0.1)
        watch.progress()
        assert await watch.read(source) == b"b"


async def test_the_limit_can_be_shortened_while_it_runs() -> None:
    with ReadWatch(60) as watch:
        watch.progress(0.05)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.read(endless()), 30)


async def test_a_cancel_from_outside_stays_a_cancel() -> None:
    async def run() -> None:
        with ReadWatch(60) as watch:
            await watch.read(endless())

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_timer_is_left_behind() -> None:
    fired: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: fired.append(context))
    with ReadWatch(0.01):
        pass
    await asyncio.sleep(0.05)
    assert fired == []
