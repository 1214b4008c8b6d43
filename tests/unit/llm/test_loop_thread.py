"""Coroutines for callers without an event loop."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import closing
from contextvars import ContextVar

import pytest

from forge_core.llm.http.loop_thread import LoopThread

VARIABLE: ContextVar[str] = ContextVar("variable", default="")
_FORK = """
import os
from forge_core.llm.http.loop_thread import LOOP_THREAD

async def answer():
    return 42

assert LOOP_THREAD.run(answer()) == 42
child = os.fork()
if child == 0:
    os._exit(LOOP_THREAD.run(answer()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Interrupted(Exception):
    """Raised by the signal handler of a test."""


@pytest.fixture
def thread() -> LoopThread:
    return LoopThread()


def test_a_coroutine_runs_in_the_context_of_its_caller(thread: LoopThread) -> None:
    async def read() -> tuple[str, str]:
        return VARIABLE.get(), threading.current_thread().name

    token = VARIABLE.set("mine")
    assert thread.run(read()) == ("mine", "forge-llm")
    VARIABLE.reset(token)


def test_a_failure_is_raised_to_the_caller(thread: LoopThread) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        thread.run(fail())


def test_a_generator_that_is_left_is_closed(thread: LoopThread) -> None:
    closed = threading.Event()

    async def numbers() -> AsyncGenerator[int, None]:
        try:
            for number in itertools.count():
                yield number
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            closed.set()

    found = thread.iterate(numbers())
    assert [next(found), next(found)] == [0, 1]
    found.close()
    assert closed.wait(60)


def test_a_failure_comes_after_the_items_before_it(thread: LoopThread) -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        raise ValueError("no")

    found = thread.iterate(broken())
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(ValueError, match="no"):
        next(found)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread"
)
def test_an_interrupted_caller_cancels_the_read_and_closes_the_generator(thread: LoopThread) -> None:
    ended: list[str] = []
    go, closed = threading.Event(), threading.Event()

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    async def silent() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.to_thread(go.wait, 60)
        main = threading.main_thread().ident
        assert main is not None
        try:
            while True:  # a signal that comes just before the caller blocks does not wake it
                signal.pthread_kill(main, signal.SIGUSR1)
                await asyncio.sleep(1)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            closed.set()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(Interrupted), closing(thread.iterate(silent())) as found:
            assert next(found) == 1
            go.set()
            next(found)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert closed.wait(60)
    assert ended == ["cancelled"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs fork")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.returncode) == ("42", 0), done.stderr
