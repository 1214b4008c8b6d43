"""Puts new bytes in a file's place so that a crash, a full disk or a second writer never leaves half of
them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO
from weakref import WeakValueDictionary

from forge_core.errors import ToolError
from forge_core.tools.editing.text import sha256
from forge_core.tools.output import write_all

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


def lock_for(path: Path) -> asyncio.Lock:
    """The lock that edits of this (real) path take, one at a time."""
    key = (id(asyncio.get_running_loop()), str(path))
    lock = _locks.get(key)
    if lock is None:
        lock = _locks[key] = asyncio.Lock()
    return lock


def check_writable(path: Path) -> None:
    """Raises ToolError for a file marked read-only, also for root, who could write it all the same."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ToolError(f"{path.name!r} cannot be written: {error.strerror}.") from error
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise ToolError(
            f"{path.name!r} is read-only. Nothing was written. Ask the user before changing its mode."
        )


def write_file(path: Path, data: bytes, expected: str | None) -> None:
    """Replaces the content of `path` (a real path, links resolved) by `data`; on any failure the old bytes
    stay.

    `expected` is the sha256 of the bytes that must still be there, None for a file that must not exist yet.
    Mode, owner and extended attributes are kept; a file with several names, or in a folder where no new file
    can be made, is written in place. Raises ToolError.
    """
    try:
        if expected is None:
            _create(path, data)
        elif not _replace(path, data, expected):
            _write_in_place(path, data, expected)
    except OSError as error:
        raise ToolError(_failure(path, error)) from error


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, file = _temporary(path)
    try:
        with file:
            write_all(file, data)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        try:
            path.hardlink_to(temporary)  # unlike a rename, this never replaces a file that has just appeared
        except FileExistsError:
            raise ToolError(f"{path.name!r} exists by now. Nothing was written. Read it first.") from None
        except OSError:
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _replace(path: Path, data: bytes, expected: str) -> bool:
    """Writes a new file and renames it over the old one; False where that would lose something."""
    status = path.stat()
    if status.st_nlink > 1:
        return False
    try:
        temporary, file = _temporary(path)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        raise
    try:
        with file:
            write_all(file, data)
            if not _take_over(file.fileno(), path, status):
                return False
            os.fsync(file.fileno())
        _check_unchanged(path, expected)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def _take_over(descriptor: int, path: Path, status: os.stat_result) -> bool:
    """Gives the new file the old one's owner, mode and attributes; False when that is not allowed."""
    own = os.fstat(descriptor)
    try:
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        if hasattr(os, "listxattr"):
            for name in os.listxattr(path):
                os.setxattr(descriptor, name, os.getxattr(path, name))
    except OSError as error:
        return error.errno == errno.ENOTSUP
    return True


def _write_in_place(path: Path, data: bytes, expected: str) -> None:
    """Overwrites the bytes of the same inode; puts the old ones back when that fails half-way."""
    with path.open("r+b", buffering=0) as file:
        before = path.read_bytes()
        if sha256(before) != expected:
            raise ToolError(_CHANGED)
        try:
            _overwrite(file, data)
        except OSError:
            with contextlib.suppress(OSError):
                _overwrite(file, before)
            raise


def _overwrite(file: BinaryIO, data: bytes) -> None:
    file.seek(0)
    write_all(file, data)
    file.truncate(len(data))
    os.fsync(file.fileno())


_CHANGED = "the file was changed by somebody else just now. Nothing was written. Read it again."


def _check_unchanged(path: Path, expected: str) -> None:
    if sha256(path.read_bytes()) != expected:
        raise ToolError(_CHANGED)


def _temporary(path: Path) -> tuple[Path, BinaryIO]:
    descriptor, name = tempfile.mkstemp(prefix=".forge-", suffix=".tmp", dir=path.parent)
    return Path(name), os.fdopen(descriptor, "wb", buffering=0)


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself last; not every file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    """The process's umask, read where that is possible without setting it (which would race)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/self/status").read_text("ascii", "replace")
        return int(text.split("Umask:", 1)[1].split(None, 1)[0], 8)
    return 0o022


def _failure(path: Path, error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"the disk is full: {path.name!r} could not be written and is as it was."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"{str(path)!r} may not be written: {error.strerror}."
        case errno.ENOTDIR | errno.EEXIST:
            return f"{str(path)!r} cannot be made: a part of its path is a file."
        case errno.ENAMETOOLONG:
            return f"the name {path.name[:60]!r}… is too long for the file system."
        case _:
            return f"{str(path)!r} could not be written: {error.strerror or error}. It is as it was."
