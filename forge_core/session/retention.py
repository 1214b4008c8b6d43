"""Deleting the sessions that the user does not want to keep any longer, at most once a day.

The file `sessions/pruned` holds the time of the last pruning. It is locked meanwhile, so of several processes
that start at once, one prunes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from forge_core.session.saved_sessions import SavedSessions, SessionSummary

_DAY_S = 24 * 3600
_MAX_STAMP_BYTES = 64


def prune_daily(
    sessions: SavedSessions, state_dir: Path, keep_days: int, clock: Callable[[], float] = time.time
) -> Sequence[SessionSummary]:
    """Delete the sessions below `state_dir` that have not been used for `keep_days` days, and return them;
    do nothing if that was done within the last 24 hours.

    A session that is open in any process is kept. Blocks; never raises OSError.
    """
    with contextlib.suppress(OSError), _locked(state_dir / "sessions" / "pruned") as fd:
        now = clock()
        if fd is None or 0 <= now - _last(fd) < _DAY_S:
            return ()
        # First of all, so that a failure is not repeated at every start.
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{now:.0f}".encode(), 0)
        return sessions.prune(now - keep_days * _DAY_S)[0]
    return ()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int | None]:
    """Open a file of the user's own and lock it; give its descriptor, or None if another process has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield fd
    finally:
        os.close(fd)


def _last(fd: int) -> float:
    """Return the time that the file holds; 0 if it holds none."""
    try:
        return float(os.pread(fd, _MAX_STAMP_BYTES, 0))
    except ValueError:
        return 0.0
