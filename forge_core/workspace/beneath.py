"""Opens a folder below another one without following a single link on the way.

A path that was resolved and then judged may lead elsewhere a moment later, when somebody puts a link in the
place of one of its folders. So whoever writes opens the folder here, from the real path that was judged, and
does the rest relative to the descriptor. Linux does it in one call, openat2(2) with RESOLVE_BENEATH; where
that is missing each folder is opened from the one before it, with O_NOFOLLOW.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_SYS_OPENAT2 = 437
"""The same number on every architecture but Alpha."""
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_TRIES = 8

OpenAt2 = Callable[[int, str], int]


@contextmanager
def opened_folder(folder: Path, base: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of `folder` for calls with `dir_fd`. Both are real paths, `folder` is `base` or below it.

    With `make`, missing folders are made. Raises OSError, NotADirectoryError or one with ELOOP when a link
    has come into the way.
    """
    descriptor = open_folder(folder, base, make=make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_folder(folder: Path, base: Path, *, make: bool = False) -> int:
    """The descriptor behind `opened_folder`, which the caller closes."""
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


def walk(start: int, parts: tuple[str, ...], *, make: bool = False) -> int:
    """Goes down from the folder of descriptor `start`, one folder at a time."""
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
    with suppress(FileExistsError):  # somebody else has just made it
        os.mkdir(part, dir_fd=here)
    return os.open(part, flags, dir_fd=here)


@cache
def openat2() -> OpenAt2 | None:
    """Opens a folder below a descriptor by openat2(2); None where the system has no such call."""
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
