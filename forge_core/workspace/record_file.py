"""Append-only files of JSON lines: a torn last line is cut off, and damaged lines are skipped."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""One line of a file."""


class RecordFile:
    """A private file that grows by whole lines only.

    Text that is not valid Unicode survives: lone surrogates are written as JSON escapes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._is_locked = False
        self.was_torn = False
        """Whether the file ended with a torn line when it was opened; it has been cut off."""

    def lock(self) -> None:
        """Open the file for this process alone, until it is closed or replaced.

        Raises BlockingIOError when another process holds it, and other OSErrors when it cannot be opened.
        A file system without locks counts as unlocked.
        """
        if self._is_locked:
            return
        fd = self._open(is_repaired=False)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise
        except OSError:
            pass
        self._is_locked = True
        self._repair()

    def append(self, record: Record, *, is_durable: bool = False) -> None:
        """Write one line; with `is_durable`, also flush it to disk.

        Raises OSError when the whole line cannot be written; then no part of it remains.
        """
        fd = self._open()
        line = _encoded(record)
        end = os.lseek(fd, 0, os.SEEK_END)
        # os.write may be short without an exception, on a full disk above all.
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if is_durable:
            os.fsync(fd)

    def sync(self) -> None:
        """Flush to disk, so that the lines survive a power failure."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
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
        if self._fd is not None:
            os.close(self._fd)
            self._fd, self._is_locked = None, False

    def _open(self, *, is_repaired: bool = True) -> int:
        if self._fd is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
            if is_repaired:
                self._repair()
        return self._fd

    def _repair(self) -> None:
        """Cut off a line that a kill has torn, so that the next one starts on a line of its own."""
        assert self._fd is not None
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            self.was_torn = True
            os.ftruncate(self._fd, self._path.read_bytes().rfind(b"\n") + 1)


def read_records(path: Path) -> Iterator[Record | None]:
    """Yield the records of a file, None for each line that is torn or no JSON object. Raises OSError."""
    with path.open("rb") as file:
        for line in filter(bytes.strip, file):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            yield record if isinstance(record, dict) else None


def _encoded(record: Record) -> bytes:
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    return line.encode("utf-8", "backslashreplace")
