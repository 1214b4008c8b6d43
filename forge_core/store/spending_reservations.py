"""What the running model calls of all processes will probably cost, so that together they stay below a limit.

Each session keeps its sum in a separate file beside the ledger, locked while a call is running. When the
process ends, however that happens, the lock is gone and the file no longer counts. A check and the
reservation that follows are made under a lock that all processes share (`exclusive`).
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import secrets
import time
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from forge_core.private_folders import make_private_folder

_PREFIX, _SUFFIX = "spending-reserved-", ".json"
_LOCK_TRIES = 100
_LOCK_WAIT_S = 0.002
_LONGEST_S = 3600.0
"""After which a reservation counts no more where the file system has no locks."""
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class SpendingReservations:
    """The reservations of one session, and the sum of all others'.

    A folder that cannot be written costs other processes the sight of these reservations, nothing else.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        self._held: dict[int, Decimal] = {}
        self._numbers = itertools.count()
        self._fd: int | None = None

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from reserving. Where one holds the lock for too long, go on without it."""
        fd = None
        try:
            with contextlib.suppress(OSError):
                make_private_folder(self._folder)
                fd = os.open(self._folder / "spending.lock", _OPEN, 0o600)
                _lock(fd)
            yield
        finally:
            if fd is not None:
                os.close(fd)

    def reserve(self, usd: Decimal) -> int:
        """Add a call; return its number for `release`. To be called within `exclusive`."""
        number = next(self._numbers)
        self._held[number] = usd
        self._write()
        return number

    def release(self, number: int) -> None:
        """Remove a call; do nothing if it is removed already."""
        if self._held.pop(number, None) is not None:
            self._write()

    def total(self) -> Decimal:
        """Return the sum of all running calls, this session's too. To be called within `exclusive`."""
        return sum(self._held.values(), self._of_others())

    def of_others(self) -> Decimal:
        """Return the sum of the others' running calls."""
        with self.exclusive():
            return self._of_others()

    def _of_others(self) -> Decimal:
        """Return the same; delete the files of processes that have ended. A file that is just being created
        looks like one of these, hence the lock."""
        try:
            names = [entry.name for entry in os.scandir(self._folder)]
        except OSError:
            return Decimal(0)
        paths = [self._folder / name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
        return sum((_reserved(path) for path in paths if path != self._path), Decimal(0))

    def _write(self) -> None:
        """Bring the file up to date; without a running call there is none."""
        if not self._held:
            self._remove()
            return
        data = json.dumps({"usd": f"{sum(self._held.values(), Decimal(0)):f}"}).encode()
        with contextlib.suppress(OSError):
            if self._fd is None:
                self._fd = os.open(self._path, _OPEN, 0o600)
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, data, 0)

    def _remove(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = None


def _lock(fd: int) -> None:
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_WAIT_S)
        else:
            return


def _reserved(path: Path) -> Decimal:
    """Return what a file holds; nothing if its process has ended."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return Decimal(0)
    try:
        if not _is_held(fd, path):
            path.unlink()
            return Decimal(0)
        usd = Decimal(json.loads(os.read(fd, 4096))["usd"])
        return usd if usd.is_finite() else Decimal(0)
    except (OSError, ValueError, TypeError, KeyError, InvalidOperation):
        return Decimal(0)
    finally:
        os.close(fd)


def _is_held(fd: int, path: Path) -> bool:
    """Return whether the process that wrote a file still has it locked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return time.time() - os.fstat(fd).st_mtime < _LONGEST_S and _is_running(path)
    return False


def _is_running(path: Path) -> bool:
    try:
        os.kill(int(path.name.removeprefix(_PREFIX).partition("-")[0]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
