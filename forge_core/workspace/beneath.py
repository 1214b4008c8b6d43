"""Opens a folder below another one without following any link in the path, and files without blocking.

A path that was resolved and then checked may lead elsewhere a moment later, when one of its folders is
replaced by a link. So code that writes opens the folder here, from the real path that was checked, and does
the rest relative to the descriptor. Linux does it in one call, openat2(2) with RESOLVE_BENEATH; where that is
missing each folder is opened from its parent, with O_NOFOLLOW.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

_SYS_OPENAT2 = 437
"""The same number on every architecture but Alpha."""
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_TRIES = 8

OpenAt2 = Callable[[int, str], int]


@contextmanager
def opened_folder(folder: Path, base: Path, *, make: bool = False) -> Iterator[int]:
    """Open `folder` for calls with `dir_fd`. Both are real paths, `folder` is `base` or below it.

    With `make`, missing folders are created. Raises OSError: NotADirectoryError, or one with ELOOP, when a
    folder in the path has become a link.
    """
    descriptor = open_folder(folder, base, make=make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_folder(folder: Path, base: Path, *, make: bool = False) -> int:
    """Return a descriptor as `opened_folder` does; the caller closes it."""
    parts = folder.relative_to(base).parts
    if ".." in parts:
        raise OSError(errno.EXDEV, "leads out of its base", str(folder))
    start = os.open(base, _FOLDER)
    try:
        if not parts:
            return os.dup(start)
        at_once = openat2()
        if at_once is not None:
            try:
                return at_once(start, str(Path(*parts)))
            except FileNotFoundError:
                if not make:
                    raise
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL):
                    raise
        return walk(start, parts, make=make)
    finally:
        os.close(start)


def open_file(path: str | Path, flags: int = 0, *, dir_fd: int | None = None) -> BinaryIO:
    """Open a regular file for reading. Never blocks: a hostile project may hold a FIFO under any name.

    Raises OSError, also for what is not a regular file, or ValueError for an impossible name.
    """

    def opener(name: str, mode: int) -> int:
        return os.open(name, mode | os.O_NONBLOCK | flags, dir_fd=dir_fd)

    file = open(path, "rb", opener=opener)  # noqa: SIM115  Path.open takes no opener
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes: os.write may write fewer without an exception, on a full disk above all."""
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def walk(start: int, parts: tuple[str, ...], *, make: bool = False) -> int:
    """Open the folders of `parts` one after the other, starting from the descriptor `start`."""
    here = os.dup(start)
    try:
        for part in parts:
            below = _step(here, part, make)
            os.close(here)
            here = below
    except BaseException:
        os.close(here)
        raise
    return here


def _step(here: int, part: str, make: bool) -> int:
    flags = _FOLDER | os.O_NOFOLLOW
    try:
        return os.open(part, flags, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # another process has just created it
        os.mkdir(part, dir_fd=here)
    return os.open(part, flags, dir_fd=here)


@cache
def openat2() -> OpenAt2 | None:
    """Return a function that opens a folder below a descriptor by openat2(2); None where it is not
    available."""
    if sys.platform != "linux":
        return None
    import ctypes

    class How(ctypes.Structure):
        _fields_ = (
            ("flags", ctypes.c_uint64),
            ("mode", ctypes.c_uint64),
            ("resolve", ctypes.c_uint64),
        )

    library = ctypes.CDLL(None, use_errno=True)
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS
    how = How(_FOLDER, 0, resolve)

    def call(start: int, path: str) -> int:
        for _ in range(_TRIES):
            found: int = library.syscall(
                _SYS_OPENAT2, start, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how)
            )
            if found >= 0:
                return found
            code = ctypes.get_errno()
            if code not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: something was renamed meanwhile
                raise OSError(code, os.strerror(code), path)
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)

    try:
        root = os.open("/", _FOLDER)
        try:
            os.close(call(root, "."))
        finally:
            os.close(root)
    except OSError:
        return None
    return call
