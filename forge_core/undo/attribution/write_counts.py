"""Counts how often files are written while a command runs, with inotify (man 7 inotify).

The kernel does not report who wrote a file, but how often it was written: a file that the command writes once
and that was written twice may hold the user's content. Only the folders of the files that the line names are
watched, including those created meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

MAX_FOLDERS = 512
_MODIFY, _CLOSE_WRITE, _OPEN, _MOVED_TO, _CREATE, _OVERFLOW = 0x2, 0x8, 0x20, 0x80, 0x100, 0x4000
_BETWEEN = _MODIFY | _OPEN
"""Watched only because the kernel merges equal consecutive events: these occur between two writes, so that
two CLOSE_WRITE events in a row are not merged into one."""
_ONLY_FOLDERS, _IS_FOLDER = 0x1000000, 0x40000000
_HEAD = struct.Struct("iIII")
_READ_BYTES = 64 * 1024
_SAME_WRITE_S = 0.02
"""A file that exists when its new folder is first listed may still be open: a close within this time ends the
same write."""
_SETTLE_S = 1.0


@dataclass(slots=True)
class _Writes:
    count: int = 0
    first_at: float = 0.0
    seen_at: float = 0.0
    """When it was found in a new folder, where a write before the watch went unseen; 0: it was not."""

    @property
    def total(self) -> int:
        if not self.seen_at:
            return self.count
        is_same = self.count and self.first_at - self.seen_at <= _SAME_WRITE_S
        return self.count if is_same else self.count + 1


@dataclass(slots=True)
class WriteCounts:
    """Counts from its creation until `close`, on a thread of its own.

    The thread alone changes `_writes`; `of` first waits until the thread has read all pending events.
    """

    root: Path
    paths: Iterable[str]
    """Relative to `root`, or absolute; the last name may be a pattern."""
    trees: Iterable[str] = ()
    """Folders that are watched with everything below them, up to MAX_FOLDERS in all."""
    _writes: dict[str, _Writes] = field(default_factory=dict)
    _folders: dict[int, str] = field(default_factory=dict)
    _wanted: frozenset[str] = frozenset()
    _fd: int = -1
    _wake: tuple[int, int] = (-1, -1)
    _idle: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._wanted = frozenset(path.rpartition("/")[0] for path in self.paths)
        below = (folder for tree in self.trees for folder in _folders_below(self.root, tree))
        self._wanted |= frozenset(islice(below, max(MAX_FOLDERS - len(self._wanted), 0)))
        if sys.platform == "linux" and 0 < len(self._wanted) <= MAX_FOLDERS:
            try:
                self._start()
            except (OSError, AttributeError, RuntimeError):  # no inotify, no descriptor or no thread is left
                self.close()

    def of(self, path: str) -> int | None:
        """Return how often `path` was closed after writing or created by a rename; None when it is not
        known."""
        self._catch_up()
        if path.rpartition("/")[0] not in self._folders.values():
            return None
        writes = self._writes.get(path)
        return writes.total if writes is not None else 0

    def close(self) -> None:
        self._folders.clear()
        if self._thread is not None:
            os.write(self._wake[1], b"x")
            self._thread.join()
            self._thread = None
        for descriptor in (self._fd, *self._wake):
            if descriptor >= 0:
                os.close(descriptor)
        self._fd, self._wake = -1, (-1, -1)

    def _start(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        # Of a folder that does not exist yet, the nearest existing parent is watched, to see it appear.
        for wanted in self._wanted:
            folder = wanted
            while folder and not (self.root / folder).is_dir():
                folder = folder.rpartition("/")[0]
            self._watch(libc, folder)
        self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        thread = threading.Thread(target=self._run, args=(libc,), name="forge-writes", daemon=True)
        thread.start()
        self._thread = thread

    def _watch(self, libc: ctypes.CDLL, folder: str) -> None:
        mask = _CLOSE_WRITE | _MOVED_TO | _CREATE | _BETWEEN | _ONLY_FOLDERS
        number = libc.inotify_add_watch(self._fd, os.fsencode(self.root / folder), mask)
        if number >= 0:
            self._folders[number] = folder

    def _catch_up(self) -> None:
        """Wait until the thread has read all pending events."""
        if self._thread is not None:
            self._idle.clear()
            os.write(self._wake[1], b".")
            self._idle.wait(_SETTLE_S)

    def _run(self, libc: ctypes.CDLL) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._wake[0], select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            asked = os.read(self._wake[0], 100) if self._wake[0] in ready else b""
            self._take(libc)
            if b"x" in asked:
                return
            if asked:
                self._idle.set()

    def _take(self, libc: ctypes.CDLL) -> None:
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except OSError:
                return
            now, offset = time.monotonic(), 0
            while offset < len(data):
                number, mask, _, size = _HEAD.unpack_from(data, offset)
                offset += _HEAD.size
                name = os.fsdecode(data[offset : offset + size].rstrip(b"\0"))
                offset += size
                folder = self._folders.get(number)
                if mask & _OVERFLOW:  # events were dropped: from now on no count is known
                    self._folders.clear()
                    return
                if folder is not None and not mask & _BETWEEN:
                    self._note(libc, f"{folder}/{name}" if folder else name, mask, now)

    def _note(self, libc: ctypes.CDLL, path: str, mask: int, now: float) -> None:
        if mask & _IS_FOLDER:
            self._enter(libc, path)
        elif mask & (_CLOSE_WRITE | _MOVED_TO):
            writes = self._writes.setdefault(path, _Writes())
            writes.first_at = writes.first_at or now
            writes.count += 1

    def _enter(self, libc: ctypes.CDLL, folder: str) -> None:
        """Watch a new folder if it is wanted, and note what it holds already: those writes came before the
        watch."""
        if not any(one == folder or one.startswith(folder + "/") for one in self._wanted):
            return
        self._watch(libc, folder)
        with contextlib.suppress(OSError), os.scandir(self.root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    self._enter(libc, path)
                else:
                    self._writes.setdefault(path, _Writes()).seen_at = time.monotonic()


def _folders_below(root: Path, tree: str) -> Iterator[str]:
    """Yield `tree`, relative to `root` or absolute, and the folders below it, except for hidden and installed
    ones."""
    for folder, folders, _ in os.walk(root / tree):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        path = folder if tree.startswith("/") else os.path.relpath(folder, root)
        yield path if path != "." else ""
