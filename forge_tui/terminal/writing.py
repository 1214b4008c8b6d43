"""Writes to the terminal that neither lose a part nor fail when it is gone. Standard library only."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

_CLOSE_S = 0.2
"""How long a terminal that takes no output may hold up the end."""


def write_all(fd: int, data: bytes) -> bool:
    """Writes all of it; False where the terminal is gone.

    Another program on the same terminal may have made it non-blocking: then this waits for room.
    """
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select((), (fd,), ())
        except OSError:
            return False
    return True


class TerminalFile:
    """What Textual's writer thread writes to. A terminal that is gone takes everything: the thread would die
    of it, and the app wait for ever for room in the thread's queue."""

    def __init__(self, fd: int, encoding: str, all_written: Callable[[], None] = lambda: None) -> None:
        self._all_written = all_written
        self._fd = fd
        self._encoding = encoding
        self._is_gone = False
        self._writing = threading.Lock()

    def fileno(self) -> int:
        return self._fd

    def write(self, text: str) -> int:
        with self._writing:
            if not self._is_gone and not write_all(self._fd, text.encode(self._encoding, "replace")):
                self._is_gone = True
        return len(text)

    def flush(self) -> None:
        """All is written already, and nothing more waits for it."""
        self._all_written()

    def close(self) -> None:
        """From now on it takes everything and writes nothing. What is being written may take a moment."""
        self._is_gone = True
        if self._writing.acquire(timeout=_CLOSE_S):
            self._writing.release()
