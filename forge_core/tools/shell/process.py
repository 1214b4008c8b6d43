"""Runs one shell command: its own session and pipe, bounded memory, and a return when the shell is done.

asyncio's `communicate()` and `wait()` wait for the pipe, which a background child keeps open: `sleep 7000 &
echo done` would take the whole timeout. So the pipe is ours, read by the event loop, and the end of the
shell is watched through a pidfd (a thread where there is none).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge_core.errors import ToolError
from forge_core.tools.shell.capture import LIVE_INTERVAL_S, Capture
from forge_core.tools.shell.environment import child_environment
from forge_core.tools.shell.processes import Reaper, Running, processes_of

PIPE_GRACE_S = 0.3
"""How long the output of children is awaited after the shell has ended."""

_READ_BYTES = 256 * 1024
_PIPE_BYTES = 1024 * 1024
_F_SETPIPE_SZ = 1031


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `exit_code` is None when it was stopped; negative: the signal that ended it."""

    exit_code: int | None
    duration_s: float
    timed_out: bool = False
    interrupted: bool = False
    left_running: tuple[Running, ...] = ()


async def run_command(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str] | None,
    timeout_s: float,
    capture: Capture,
    interrupted: asyncio.Event | None,
    reaper: Reaper,
) -> Ended:
    """Runs `command` in bash (sh where there is none) and feeds `capture` until it ends, `timeout_s` is over
    or `interrupted` is set; then TERM goes to all it started, and this returns at once. Raises ToolError
    when it cannot be started."""
    started = time.monotonic()
    call = uuid.uuid4().hex
    process, pipe = _start(command, folder, child_environment(environment, call=call))
    reader = _PipeReader(pipe, capture)
    stopped = True
    try:
        why = await _wait(process, interrupted, timeout_s, capture)
        if why == "exited":
            stopped = False
            await reader.drained(PIPE_GRACE_S)
        else:
            reader.read_rest()
    finally:
        if stopped:
            reaper.end(call, process)
            reader.close()
        capture.close()
    duration_s = time.monotonic() - started
    if stopped:
        return Ended(None, duration_s, timed_out=why == "timeout", interrupted=why == "interrupted")
    left = tuple(processes_of(call, process.pid))
    if left:
        reaper.remember(call, left)
        reader.discard_rest()
    else:
        reader.close()
    return Ended(process.returncode, duration_s, left_running=left)


def _start(command: str, folder: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    read_end, write_end = os.pipe()
    try:
        with contextlib.suppress(OSError):
            fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(read_end, False)
        process = subprocess.Popen(
            [shutil.which("bash", path=environment["PATH"]) or "/bin/sh", "-c", "--", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(read_end)
        raise ToolError(f"the command could not be started in {str(folder)!r}: {error}") from error
    finally:
        os.close(write_end)
    return process, read_end


async def _wait(
    process: subprocess.Popen[bytes], interrupted: asyncio.Event | None, timeout_s: float, capture: Capture
) -> str:
    """ "exited", "interrupted" or "timeout", whichever comes first."""
    exited = asyncio.ensure_future(_exit_of(process))
    waiting: set[asyncio.Future[Any]] = {exited}
    interrupt = asyncio.ensure_future(interrupted.wait()) if interrupted is not None else None
    if interrupt is not None:
        waiting.add(interrupt)
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            pause = min(max(deadline - time.monotonic(), 0), LIVE_INTERVAL_S * 4)
            done, _ = await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if exited in done:
                return "exited"
            if done:
                return "interrupted"
            if time.monotonic() >= deadline:
                return "timeout"
            capture.flush_live()
    finally:
        exited.cancel()
        if interrupt is not None:
            interrupt.cancel()


async def _exit_of(process: subprocess.Popen[bytes]) -> None:
    """Returns when the process has ended; it is reaped then."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        threading.Thread(target=_wait_in_thread, args=(process, loop, ended), daemon=True).start()
        await ended.wait()
        return
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    process.wait()


def _wait_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Event
) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)


class _PipeReader:
    """Reads the pipe on the event loop, a bounded piece at a time, so that nothing else waits for long."""

    def __init__(self, pipe: int, capture: Capture) -> None:
        self._pipe = pipe
        self._capture: Capture | None = capture
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._loop.add_reader(pipe, self._read)

    async def drained(self, timeout_s: float) -> None:
        """Waits until every writer has closed the pipe, but not longer than `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), timeout_s)

    def read_rest(self) -> None:
        """Takes what already lies in the pipe, at most one pipe full."""
        for _ in range(_PIPE_BYTES // _READ_BYTES):
            if not self._read():
                break

    def discard_rest(self) -> None:
        """Goes on reading for children that still write (a closed pipe would end them) and forgets it."""
        self._capture = None

    def close(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)

    def _read(self) -> bool:
        """Takes one piece; False when there is none now."""
        if self._ended.is_set():
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
        if self._capture is not None:
            self._capture.feed(data)
        return True
