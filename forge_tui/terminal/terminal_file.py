"""Complete writes to the terminal, which do not fail when it has been closed. Standard library only."""

from __future__ import annotations

import os
import select
import threading
import weakref
from collections.abc import Callable

_CLOSE_S = 0.2
"""How long a terminal that accepts no output may delay the exit."""


def write_all(fd: int, data: bytes) -> bool:
    """Write all of the data; return False if the terminal has been closed.

    Another program may have made the terminal non-blocking: then this waits until it is writable.
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
    """The file that Textual's writer thread writes to.

    Writes to a closed terminal are discarded: an exception would end the thread, and the app would wait
    forever for room in its queue. `write_now` bypasses the thread, since passing it a frame takes longer than
    writing the frame. It uses a descriptor of its own, which `release` and `close` close.
    """

    def __init__(self, fd: int, encoding: str, all_written: Callable[[], None] = lambda: None) -> None:
        self._all_written = all_written
        self._fd = fd
        self._encoding = encoding
        self._is_gone = False
        self._writing = threading.Lock()
        self._direct = threading.Lock()
        """Held briefly while the second descriptor is opened, written to or closed."""
        self._direct_fd: int | None = None
        self._closing_direct: Callable[[], object] | None = None
        self._has_tried = False
        self.written = 0
        """Completed writes of the thread."""

    def write_now(self, text: str) -> str | bytes:
        """Write what the terminal accepts without waiting; return the rest.

        Call it only while the thread has nothing to write: otherwise the order is lost.
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
        """Report that everything has been written."""
        self._all_written()

    def close(self) -> None:
        """Discard all further writes. Waits a moment for a write that is in progress."""
        self._is_gone = True
        if self._direct.acquire(timeout=_CLOSE_S):
            self._close_direct()
            self._direct.release()
        if self._writing.acquire(timeout=_CLOSE_S):
            self._writing.release()


def _nonblocking(fd: int) -> int | None:
    """Open the terminal again: O_NONBLOCK belongs to the open file, which other programs share."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
