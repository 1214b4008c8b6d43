"""Checks of paths that raise nothing and follow no link unasked, and a path held by a descriptor."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def mode_of(path: Path, *, follow: bool = False) -> int | None:
    """Return the mode of `path`, of a link itself unless `follow`; None when nothing can be seen there."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return None


def is_there(path: Path) -> bool:
    """Return whether `path` leads to something."""
    return mode_of(path, follow=True) is not None


def is_folder(path: Path) -> bool:
    """Return whether `path` leads to a folder."""
    mode = mode_of(path, follow=True)
    return mode is not None and stat.S_ISDIR(mode)


def is_own_folder(path: Path) -> bool:
    """Return whether `path` is a folder and no link to one."""
    mode = mode_of(path)
    return mode is not None and stat.S_ISDIR(mode)


@contextlib.contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    """Close the descriptor at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_anchored(path: Path) -> int:
    """Return an O_PATH descriptor of exactly `path`, certain to lead through no link.

    Between the check of a path and its mount, a command in the background may put a link in its place: then a
    key would be shown, or the repository of another user made writable. A descriptor keeps what was checked.
    Raises OSError when it is gone or a link leads there; the caller closes it.
    """
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - names may be no valid Path text
        if found != os.fspath(path) or stat.S_ISLNK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ESTALE, "the path was replaced", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
