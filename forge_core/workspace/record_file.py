"""Append-only files of JSON lines: a torn last line is cut off, and damaged lines are skipped."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

from forge_core.private_folders import make_private_folder

Record = dict[str, Any]
"""One line of a file."""
_BLOCK_BYTES = 1 << 16
_RETRY_S = 0.02


class RecordFile:
    """A private file that grows by whole lines only.

    Text that is not valid Unicode survives: lone surrogates are written as JSON escapes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._is_locked = False
        self._is_repaired = False
        self._in_use = threading.Lock()
        """Held while the descriptor is flushed or closed."""
        self.was_torn = False
        """Whether the file ended with a torn line when it was opened; it has been cut off."""

    def lock(self, *, is_repaired: bool = True, wait_s: float = 0) -> None:
        """Open the file for this process alone, until it is closed or replaced. Unless `is_repaired`, it is
        repaired by the first `append` only.

        Raises BlockingIOError when another process still holds it after `wait_s` seconds, and other OSErrors
        when it cannot be opened. A file system without locks counts as unlocked.
        """
        if self._is_locked:
            return
        fd = self._open()
        try:
            _flock(fd, wait_s)
        except BlockingIOError:
            self.close()
            raise
        except OSError:
            pass
        self._is_locked = True
        if is_repaired:
            self._repair()

    def append(self, record: Record) -> None:
        """Write one line.

        A file that was deleted meanwhile is written again, whole. Raises OSError when the whole line cannot
        be written; then no part of it remains.
        """
        self._put_back()
        fd = self._open()
        if not self._is_repaired:
            self._repair()
        line = _encoded(record)
        end = os.lseek(fd, 0, os.SEEK_END)
        # os.write may be short without an exception, on a full disk above all.
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Flush to disk, so that the lines survive a power failure. May be called from another thread."""
        with self._in_use, contextlib.suppress(OSError):
            if self._fd is not None:
                os.fsync(self._fd)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the file by these lines. Raises OSError and then keeps the old file."""
        temporary = self._path.with_suffix(".new")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.writelines(map(_encoded, records))
            file.flush()
            os.fsync(file.fileno())
        self.close()
        temporary.replace(self._path)

    def close(self) -> None:
        with self._in_use:
            if self._fd is not None:
                os.close(self._fd)
                self._fd, self._is_locked, self._is_repaired = None, False, False

    def _open(self) -> int:
        if self._fd is None:
            make_private_folder(self._path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd

    def _repair(self) -> None:
        """Complete a last line that lacks only its end, and cut off one that a kill has torn, so that the
        next record starts a new line."""
        assert self._fd is not None
        self._is_repaired = True
        tail = self._tail()
        if not tail:
            return
        if decoded_record(tail) is not None:  # only the end of the line is missing
            os.write(self._fd, b"\n")
        else:
            self.was_torn = True
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - len(tail))

    def _tail(self) -> bytes:
        """Return what follows the last end of a line."""
        assert self._fd is not None
        tail, start = b"", os.fstat(self._fd).st_size
        while start and b"\n" not in tail:
            size = min(_BLOCK_BYTES, start)
            start -= size
            tail = os.pread(self._fd, size, start) + tail
        return tail.rpartition(b"\n")[2]

    def _put_back(self) -> None:
        """Write the file again if it has been deleted since it was opened. Raises OSError when that fails."""
        fd = self._fd
        if fd is None or os.fstat(fd).st_nlink:
            return
        make_private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        copy = os.open(self._path, flags, 0o600)
        try:
            if self._is_locked:
                with contextlib.suppress(OSError):  # as for the file itself: none without locks
                    fcntl.flock(copy, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _copy(fd, copy)
            os.fsync(copy)
        except OSError:
            os.close(copy)
            self._path.unlink(missing_ok=True)
            raise
        with self._in_use:
            os.close(fd)
            self._fd = copy


def read_records(path: Path) -> Generator[Record | None, None, None]:
    """Yield the records of a file, None for each line that is torn or no JSON object. Raises OSError."""
    with path.open("rb") as file:
        for line in filter(bytes.strip, file):
            yield decoded_record(line)


def decoded_record(line: bytes) -> Record | None:
    """Return the record of a line; None if it is torn or no JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _copy(source: int, target: int) -> None:
    """Write all of one file to another. Raises OSError when it does not fit."""
    position = 0
    while block := os.pread(source, _BLOCK_BYTES, position):
        if os.write(target, block) != len(block):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        position += len(block)


def _encoded(record: Record) -> bytes:
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    return line.encode("utf-8", "backslashreplace")


def _flock(fd: int, wait_s: float) -> None:
    """Lock an open file, or raise BlockingIOError after `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return
