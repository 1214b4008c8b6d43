"""The deadline of a stream's reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from forge_core.llm.http.watchdog import LOOK_S, ReadWatchdog
from tests.support.chat_app import FakeClock
from tests.support.skipped_time import run_skipping, use_clock


async def endless() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def test_a_silent_source_ends_in_a_timeout() -> None:
    with ReadWatchdog(0.05) as watch, pytest.raises(TimeoutError):
        await watch.read(anext(endless()))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_read_returns_the_pieces_and_then_none() -> None:
    source = pieces(b"a", b"b")
    with ReadWatchdog(5) as watch:
        assert [
            await watch.read(anext(source)),
            await watch.read(anext(source)),
            await watch.read(anext(source)),
        ] == [
            b"a",
            b"b",
            None,
        ]


async def test_time_between_reads_does_not_count() -> None:
    source = pieces(b"a", b"b")
    with ReadWatchdog(0.02) as watch:
        await watch.read(anext(source))
        await asyncio.sleep(0.1)
        watch.progress()
        assert await watch.read(anext(source)) == b"b"


async def test_the_limit_can_be_shortened_while_it_runs() -> None:
    with ReadWatchdog(60) as watch:
        watch.progress(0.05)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.read(anext(endless())), 30)


async def test_an_external_cancellation_is_propagated() -> None:
    async def run() -> None:
        with ReadWatchdog(60) as watch:
            await watch.read(anext(endless()))

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_timer_is_left_behind() -> None:
    fired: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: fired.append(context))
    with ReadWatchdog(0.01):
        pass
    await asyncio.sleep(0.05)
    assert fired == []


def seconds_until_given_up(
    monkeypatch: pytest.MonkeyPatch, *, sleeps_after_s: float, brings_after_s: float
) -> float:
    """How long a read of 60 s lasts in which the machine sleeps for an hour."""
    clock, slept_s = FakeClock(), [0.0]
    use_clock(monkeypatch, clock, 0.0)

    async def read() -> float:
        loop, started = asyncio.get_running_loop(), clock()
        with ReadWatchdog(60, lambda: slept_s[0]) as watch:
            loop.call_later(sleeps_after_s, slept_s.__setitem__, 0, 3600.0)
            loop.call_later(brings_after_s, watch.progress)
            with pytest.raises(TimeoutError):
                await watch.read(anext(endless()))
        return clock() - started

    return run_skipping(clock, read())


def test_a_connection_silent_after_system_sleep_is_dropped_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    took_s = seconds_until_given_up(monkeypatch, sleeps_after_s=7.0, brings_after_s=1.0)
    assert 7.0 + LOOK_S <= took_s <= 7.0 + 2 * LOOK_S + 0.1


def test_a_connection_active_after_system_sleep_keeps_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    took_s = seconds_until_given_up(monkeypatch, sleeps_after_s=7.0, brings_after_s=12.0)
    assert took_s == pytest.approx(72.0, abs=0.1)
