"""Waits on the event loop for the data of pipes and for the ends of processes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

PIPE_BYTES = 1024 * 1024
"""Asked for the output's pipe: a command that prints much waits less."""

_READ_BYTES = 256 * 1024
_F_SETPIPE_SZ = 1031
_POLL_S = 0.25
_T = TypeVar("_T")


class PipeReader:
    """Reads a pipe, a bounded piece at a time, so that nothing else on the event loop waits for long."""

    def __init__(self, pipe: int, take: Callable[[bytes], None]) -> None:
        self._pipe = pipe
        self._take = take
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        """Set when every writer has closed it, or `close` was called."""
        os.set_blocking(pipe, False)
        self._loop.add_reader(pipe, self._read)

    def read_rest(self) -> None:
        """Take what is already in the pipe, at most two pipes full: something may still be writing."""
        for _ in range(2 * PIPE_BYTES // _READ_BYTES):
            if not self._read():
                break

    def close(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            with contextlib.suppress(RuntimeError):
                self._loop.remove_reader(self._pipe)
            os.close(self._pipe)

    def _read(self) -> bool:
        """Take one piece; False when there is none now."""
        if self.ended.is_set():
            return False
        try:
            data = os.read(self._pipe, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        self._take(data)
        return True


def output_pipe() -> tuple[int, int]:
    """Return a pipe with room, as (read end, write end)."""
    read_end, write_end = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(write_end, _F_SETPIPE_SZ, PIPE_BYTES)
    return read_end, write_end


@contextlib.contextmanager
def temporary_tasks(*waits: Coroutine[Any, Any, _T]) -> Iterator[tuple[asyncio.Task[_T], ...]]:
    """Yield a task for each coroutine; they are cancelled afterwards."""
    tasks = tuple(asyncio.ensure_future(wait) for wait in waits)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()


async def exit_of(process: subprocess.Popen[bytes]) -> int:
    """Return the process's return code, once it has ended; it is reaped then."""
    if process.poll() is not None:
        return process.returncode
    try:
        await _end_of(process.pid)
    except (AttributeError, OSError):
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        threading.Thread(target=_wait_in_thread, args=(process, loop, ended), daemon=True).start()
        await ended.wait()
    return process.wait()


async def readable(descriptor: int, within_s: float | None = None) -> bool:
    """Return whether it becomes readable (a pidfd: when the process has ended) in time."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), within_s)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return True


async def all_end(pids: Iterable[int]) -> None:
    """Return when each of the processes, which need not be children of this one, has ended; after a quarter
    of a second in any case where that cannot be watched."""
    for pid in pids:
        try:
            await _end_of(pid)
        except ProcessLookupError:
            continue
        except (AttributeError, OSError):
            await asyncio.sleep(_POLL_S)
            return


def wait_for_ends(pids: Iterable[int], within_s: float) -> None:
    """Block until each of the processes, which need not be children of this one, has ended, or until the time
    is up. Do nothing where that cannot be watched."""
    deadline = time.monotonic() + within_s
    for pid in pids:
        with contextlib.suppress(AttributeError, OSError):
            descriptor = os.pidfd_open(pid)
            try:
                block_until_readable(descriptor, deadline - time.monotonic())
            finally:
                os.close(descriptor)


def block_until_readable(descriptor: int, within_s: float) -> None:
    """Block until it is readable (a pidfd: until the process has ended), or until the time is up."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    waiting.poll(max(0.0, within_s) * 1000)


async def _end_of(pid: int) -> None:
    """Return when the process has ended. Raise AttributeError or OSError where it cannot be watched."""
    descriptor = os.pidfd_open(pid)
    try:
        await readable(descriptor)
    finally:
        os.close(descriptor)


def _wait_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Event
) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)
