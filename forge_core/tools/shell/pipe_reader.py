"""Reads a pipe on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable

PIPE_BYTES = 1024 * 1024
"""Asked for the output's pipe: a command that prints much waits less."""

_READ_BYTES = 256 * 1024
_F_SETPIPE_SZ = 1031


class PipeReader:
    """Hands on what comes through a pipe, a bounded piece at a time, so that nothing else waits for long."""

    def __init__(self, pipe: int, take: Callable[[bytes], None]) -> None:
        self._pipe = pipe
        self._take = take
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        """Set when every writer has closed it, or `close` was called."""
        os.set_blocking(pipe, False)
        self._loop.add_reader(pipe, self._read)

    def read_rest(self) -> None:
        """Takes what already lies in the pipe, and no more than two pipes full: somebody may still write."""
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
        """Takes one piece; False when there is none now."""
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
    """A pipe with room, as (read end, write end)."""
    read_end, write_end = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(write_end, _F_SETPIPE_SZ, PIPE_BYTES)
    return read_end, write_end
