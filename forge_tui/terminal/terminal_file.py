"""Writes to the terminal that neither lose a part nor fail when it is gone. Standard library only."""

from __future__ import annotations

import os
import select
import threading
import weakref
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
    of it, and the app wait for ever for room in the thread's queue.

    `write_now` writes without that thread what the terminal takes at once: handing a frame to another thread
    takes longer than writing it. It has a descriptor of its own, which `release` and `close` close.
    """

    def __init__(self, fd: int, encoding: str, all_written: Callable[[], None] = lambda: None) -> None:
        self._all_written = all_written
        self._fd = fd
        self._encoding = encoding
        self._is_gone = False
        self._writing = threading.Lock()
        self._direct = threading.Lock()
        """Held while the second descriptor is opened, written to or closed; never for long."""
        self._direct_fd: int | None = None
        self._closing_direct: Callable[[], object] | None = None
        self._has_tried = False
        self.written = 0
        """Writes by the thread that are over."""

    def write_now(self, text: str) -> str | bytes:
        """Writes what the terminal takes without waiting; what is left over.

        Only while the thread has nothing to write: else the order is lost.
        """
        with self._direct:
            if self._is_gone:
                return b""
            if not self._has_tried:
                self._has_tried = True
                self._direct_fd = _nonblocking(self._fd)
                if self._direct_fd is not None:
                    # Called by `release`, or after a crash when this file is dropped or Python ends; once.
                    self._closing_direct = weakref.finalize(self, os.close, self._direct_fd)
            if self._direct_fd is None:
                return text
            data = text.encode(self._encoding, "replace")
            try:
                return data[os.write(self._direct_fd, data) :]
            except BlockingIOError:
                return data
            except OSError:
                self._is_gone = True
                return b""

    def release(self) -> None:
        """Close the second descriptor. `write_now` opens another one if it is called again."""
        with self._direct:
            self._close_direct()

    def _close_direct(self) -> None:
        self._direct_fd, self._has_tried = None, False
        if self._closing_direct is not None:
            self._closing_direct()

    def fileno(self) -> int:
        return self._fd

    def write(self, text: str | bytes) -> int:
        data = text if isinstance(text, bytes) else text.encode(self._encoding, "replace")
        with self._writing:
            if not self._is_gone and not write_all(self._fd, data):
                self._is_gone = True
        self.written += 1
        return len(text)

    def flush(self) -> None:
        """All is written already, and nothing more waits for it."""
        self._all_written()

    def close(self) -> None:
        """From now on it takes everything and writes nothing. What is being written may take a moment."""
        self._is_gone = True
        if self._direct.acquire(timeout=_CLOSE_S):
            self._close_direct()
            self._direct.release()
        if self._writing.acquire(timeout=_CLOSE_S):
            self._writing.release()


def _nonblocking(fd: int) -> int | None:
    """The terminal opened once more: the flag O_NONBLOCK belongs to the open file, which others share."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
