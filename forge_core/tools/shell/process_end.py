"""Waiting on the event loop for the end of processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterable

_POLL_S = 0.25


async def exit_of(process: subprocess.Popen[bytes]) -> int:
    """The process's return code, once it has ended; it is reaped then."""
    if process.poll() is not None:
        return process.returncode
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        threading.Thread(target=_wait_in_thread, args=(process, loop, ended), daemon=True).start()
        await ended.wait()
        return process.wait()
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return process.wait()


async def readable(descriptor: int, within_s: float | None = None) -> bool:
    """Whether it becomes readable (a pidfd: when the process has ended) in time."""
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
    """Returns when each of the processes, which need not be children of this one, has ended; after a quarter
    of a second in any case where that cannot be watched."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        except (AttributeError, OSError):
            await asyncio.sleep(_POLL_S)
            return
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
