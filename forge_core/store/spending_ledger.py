"""What all sessions have spent, by day: a file per month beside the session index that all processes share.

Every line is `{"day": "2026-11-23", "usd": "0.0123"}`. Where a local endpoint has reported the cost,
`"local"` holds its host. An amount may be negative: a bill that is lower than the estimate it replaces. A
file only grows, so that no process can lose what another has written; lines that are damaged are skipped.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.store.spending_reservations import SpendingReservations

_LOCK_TRIES = 50
_LOCK_WAIT_S = 0.002
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class SpendingLedger:
    """Adds up amounts of US dollars by day. Reads only what was added since it was last asked.

    `on_trouble` is called with a message for the user when an amount cannot be written, once until writing
    succeeds again. Such amounts count in this process, and are written as soon as possible.
    """

    def __init__(
        self,
        folder: Path,
        on_trouble: Callable[[str], None] = lambda text: None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.reservations = SpendingReservations(folder)
        """What running calls will probably cost; it counts in no total."""
        self._folder = folder
        self._on_trouble = on_trouble
        self._today = today
        self._unwritten: list[tuple[str, Decimal, str]] = []
        self._has_failed = False
        self._month = ""
        self._sums: dict[str, Decimal] = {}
        """The days of the month, as far as they were read."""
        self._charging: set[str] = set()
        self._read_bytes = 0

    def add(self, usd: Decimal, local: str = "") -> None:
        """Add an amount to the present day. `local`: the host of a local endpoint that charges it."""
        if not usd:
            return
        if local:
            self._charging.add(local)
        self._unwritten.append((self._today().isoformat(), usd, local))
        try:
            self._write()
            self._has_failed = False
        except OSError as error:
            if not self._has_failed:
                reason, folder = error.strerror or str(error), str(self._folder)
                self._on_trouble(f"What was spent cannot be recorded in {folder!r} ({reason}).")
            self._has_failed = True

    def day(self) -> Decimal:
        """Return the total of the present day."""
        return self._total(self._today().isoformat())

    def month(self) -> Decimal:
        """Return the total of the present month."""
        return self._total(self._today().isoformat()[:7])

    def has_charged(self, local: str) -> bool:
        """Return whether a local endpoint has reported a cost this month, to this process or another."""
        self._read(self._today().isoformat()[:7])
        return local in self._charging

    def _total(self, prefix: str) -> Decimal:
        self._read(prefix[:7])
        amounts = [*self._sums.items(), *((day, usd) for day, usd, _ in self._unwritten)]
        return sum((usd for day, usd in amounts if day.startswith(prefix)), Decimal(0))

    def _path(self, month: str) -> Path:
        return self._folder / f"spending-{month}.ndjson"

    def _write(self) -> None:
        make_private_folder(self._folder)
        while self._unwritten:
            day, usd, local = self._unwritten[0]
            entry = {"day": day, "usd": f"{usd:f}", **({"local": local} if local else {})}
            _append(self._path(day[:7]), json.dumps(entry).encode() + b"\n")
            self._unwritten.pop(0)

    def _read(self, month: str) -> None:
        """Add what was written since the last time, by this process or another."""
        try:
            with self._path(month).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if month != self._month or size < self._read_bytes:
                    self._month, self._sums, self._read_bytes = month, {}, 0
                file.seek(self._read_bytes)
                data = file.read(size - self._read_bytes)
        except FileNotFoundError:
            self._month, self._sums, self._read_bytes = month, {}, 0
            return
        except OSError:  # what was read before is the best that is known
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for day, usd, local in _amounts(whole):
            if local:
                self._charging.add(local)
            self._sums[day] = self._sums.get(day, Decimal(0)) + usd


def _append(path: Path, line: bytes) -> None:
    """Write one line. Raises OSError when the whole line cannot be written."""
    fd = os.open(path, _APPEND, 0o600)
    try:
        _lock(fd)
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":  # torn by a kill or a full disk
            line = b"\n" + line
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    """Lock a file until it is closed, for file systems that do not append atomically. Where another process
    holds the lock for too long, go on without it."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_WAIT_S)
        except OSError:  # a file system without locks
            return
        else:
            return


def _amounts(data: bytes) -> Iterator[tuple[str, Decimal, str]]:
    """Yield the day and the amount of each line that holds them, and the local endpoint or ""."""
    for line in data.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError, InvalidOperation, RecursionError):
            entry = json.loads(line)
            day, usd = date.fromisoformat(entry["day"]).isoformat(), Decimal(entry["usd"])
            if usd.is_finite():
                yield day, usd, str(entry.get("local", ""))
