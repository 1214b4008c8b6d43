"""Deletes the undo folders of other sessions, the oldest first; never those in use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path

KEPT_BYTES = 1024 * 1024 * 1024
"""For all sessions together."""
KEPT_SECONDS = 30 * 24 * 3600.0
LOCK = "lock"


def lock(folder: Path) -> int:
    """Mark a session's folder as in use until the returned descriptor is closed.

    Raises OSError when another process uses it.
    """
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def prune_others(own: Path) -> None:
    """Delete undo folders of other sessions: those that are too old, and the oldest beyond KEPT_BYTES.

    `own` is this session's folder, `…/<session>/<name>`; the others have the same name.
    """
    folders = [
        (*_measure(path), path)
        for path in own.parent.parent.glob(f"*/{own.name}")
        if path != own and not path.is_symlink() and (path / LOCK).is_file()
    ]
    total = 0
    # The latest first, so that the limit of size meets the oldest.
    for used_at, size, path in sorted(folders, reverse=True):
        total += size
        if total > KEPT_BYTES or time.time() - used_at > KEPT_SECONDS:
            _remove_unused(path)


def _measure(path: Path) -> tuple[float, int]:
    """Return when a folder was last used, and its size."""
    size, used_at = 0, 0.0
    with contextlib.suppress(OSError):
        for entry in path.rglob("*"):
            status = entry.lstat()
            size += status.st_size
            used_at = max(used_at, status.st_mtime)
    return used_at, size


def _remove_unused(path: Path) -> None:
    with contextlib.suppress(OSError):
        # Raises where a session uses the folder, which is then kept.
        fd = lock(path)
        try:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(fd)
