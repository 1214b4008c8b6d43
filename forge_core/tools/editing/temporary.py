"""New files on their way to another name, and the sweeping of those whose writer was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAME = re.compile(r"\.forge-([1-9][0-9]{0,8})-([0-9a-f]{8})-[0-9a-f]{8}\.tmp")
_RUN = secrets.token_hex(4)
"""Tells this process from one of the same number before it, as the first of a container always is."""


@contextlib.contextmanager
def temporary_file(folder: int) -> Iterator[tuple[str, int]]:
    """Name and descriptor of a new file in the folder, which is gone afterwards unless it was renamed.

    It is locked as long as it is written: what is no longer locked, and whose process is gone, is left over.
    """
    name = f".forge-{os.getpid()}-{_RUN}-{secrets.token_hex(4)}.tmp"
    descriptor = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):  # a file system without locks; there nothing is ever swept
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield name, descriptor
    finally:
        os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def sweep(folder: int) -> None:
    """Removes what killed writers left in the folder. What cannot be listed or removed stays."""
    with contextlib.suppress(OSError):
        descriptor = os.open(".", _FOLDER, dir_fd=folder)
        try:
            with os.scandir(descriptor) as entries:
                names = [entry.name for entry in entries]
            for name in names:
                found = _NAME.fullmatch(name)
                if found is not None and _is_gone(int(found[1]), found[2]):
                    _remove(folder, name)
        finally:
            os.close(descriptor)


def _is_gone(process: int, run: str) -> bool:
    if process == os.getpid():
        return run != _RUN
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's, but there
        return False
    return False


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(name, _LOOK, dir_fd=folder)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(descriptor)
