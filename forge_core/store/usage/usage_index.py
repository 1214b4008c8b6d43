"""The index of what all sessions have used: `sessions/usage.json`, brought up to date by what is new.

For each journal it holds how far it was read, and its sums by local day. A journal that has only grown is
read on from there; one that was changed in any other way makes all of them be read again. The figures of a
session that was deleted stay, without the name of its folder. The file may be deleted or damaged at any time:
then the journals that exist are read again. Its first line holds the checksum of the second, by which damage
is noticed: a figure that is wrong looks like any other.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from forge_core.config.project_state import locked
from forge_core.store.journal import is_session_id
from forge_core.store.usage.journal_usage import JournalUsage, marks_of, sum_of
from forge_core.store.usage.usage_figures import Usage

_VERSION = 2
_FILE = "usage.json"
_LOCK = ".usage-lock"
_TAIL_BYTES = 128
"""Before the place up to which a journal was read: what they hold tells whether it has only grown."""
_MAX_BYTES = 256 * 1024 * 1024
"""A larger index is not ours."""
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What an entry raises that holds something else than it should."""


class _Place(NamedTuple):
    """How far a journal was read."""

    size: int = 0
    """Of the file then, like the next one."""
    changed_ns: int = 0
    read_bytes: int = 0
    """The whole lines that were read."""
    tail: int = 0
    """The CRC-32 of the last of them."""
    is_gone: bool = False
    """Whether the journal was deleted."""


class _JournalReplacedError(Exception):
    """A journal was changed in another way than by adding records to it."""


class UsageIndex:
    """Adds up the calls of all sessions below a state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "sessions"
        self._entries: dict[str, dict[str, Any]] = {}
        """By the id of the session: its `place`, and what `JournalUsage.as_json` returns."""
        self._has_changed = False

    def update(
        self,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
        *,
        only: Collection[str] | None = None,
    ) -> Usage:
        """Read what is new, save the index, and return the sums. Journals that cannot be read are left out.

        Blocks. `on_progress` is called after each journal that was read, with the number of those that are
        done and of all. `only` are the ids of the sessions whose journals are read, by default all. An index
        that cannot be written costs only time. Another process that updates it is waited for.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a folder that is missing, or not ours to write to
                # An older index that another process saves later would lack what was deleted meanwhile.
                stack.enter_context(locked(self._folder / _LOCK))
            return self._update(on_progress, only)

    def _update(self, on_progress: Callable[[int, int], None], only: Collection[str] | None) -> Usage:
        journals = self._journals()
        read = journals.keys() if only is None else journals.keys() & only
        try:
            self._entries, self._has_changed = self._load(), False
            self._read(journals, read, on_progress)
            usage = sum_of(self._entries.values())
        except (_JournalReplacedError, *_DAMAGE) as error:
            is_kept = isinstance(error, _JournalReplacedError)
            self._entries = {
                name: one for name, one in self._entries.items() if is_kept and _place(one).is_gone
            }
            self._read(journals, read, on_progress, left_out=(OSError, *_DAMAGE))
            usage = sum_of(self._entries.values())
        if self._has_changed:
            self._save()
        return usage

    def _journals(self) -> dict[str, os.stat_result]:
        """Return the journals by their id; the oldest first, so that a call counts where it was made."""
        found = {}
        with contextlib.suppress(OSError), os.scandir(self._folder) as files:
            for file in files:
                name, _, kind = file.name.rpartition(".")
                if kind == "jsonl" and is_session_id(name):
                    with contextlib.suppress(OSError):  # deleted meanwhile
                        found[name] = file.stat()
        return dict(sorted(found.items()))

    def _read(
        self,
        journals: dict[str, os.stat_result],
        read: Collection[str],
        on_progress: Callable[[int, int], None],
        left_out: tuple[type[Exception], ...] = (OSError,),
    ) -> None:
        """Read what is new of these journals. One that fails in one of the ways `left_out` is not counted."""
        for name, entry in self._entries.items():
            if name not in journals and not _place(entry).is_gone:
                self._entries[name] = _without_project(entry)
                self._has_changed = True
        new = [one for one, status in journals.items() if not self._is_current(one, status) and one in read]
        if not new:
            return
        self._has_changed = True
        for name in new:
            if name in self._entries and _place(self._entries[name]).is_gone:  # it was restored
                del self._entries[name]
        taken = set(chain.from_iterable(map(marks_of, self._entries.values())))
        for count, name in enumerate(new, start=1):
            with contextlib.suppress(*left_out):  # deleted meanwhile, or not ours to read
                self._read_journal(name, taken)
            on_progress(count, len(new))

    def _is_current(self, name: str, status: os.stat_result) -> bool:
        entry = self._entries.get(name)
        if entry is None:
            return False
        place = _place(entry)
        return (place.size, place.changed_ns, place.is_gone) == (status.st_size, status.st_mtime_ns, False)

    def _read_journal(self, name: str, taken: set[int]) -> None:
        """Read a journal on from where it was read. Raises OSError, and _JournalReplacedError if that place
        is another one now."""
        entry = self._entries.get(name)
        place = _Place() if entry is None else _place(entry)
        usage = JournalUsage() if entry is None else JournalUsage.from_json(entry)
        with (self._folder / f"{name}.jsonl").open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size < place.read_bytes or _tail(file.fileno(), place.read_bytes) != place.tail:
                raise _JournalReplacedError
            file.seek(place.read_bytes)
            at = place.read_bytes

            def lines() -> Iterator[bytes]:
                nonlocal at
                for line in file:
                    if not line.endswith(b"\n"):  # is being written
                        return
                    at += len(line)
                    yield line

            usage.read(lines(), taken)
            place = _Place(status.st_size, status.st_mtime_ns, at, _tail(file.fileno(), at))
        self._entries[name] = {"place": [*place], **usage.as_json()}

    def _load(self) -> dict[str, dict[str, Any]]:
        """Return the entries of the file; none if there is no usable one."""
        path = self._folder / _FILE
        try:
            if path.stat().st_size > _MAX_BYTES:
                return {}
            head, _, body = path.read_bytes().partition(b"\n")
            entries = json.loads(body) if json.loads(head) == _head(body) else None
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(entries, dict) or not all(isinstance(one, dict) for one in entries.values()):
            return {}
        return entries

    def _save(self) -> None:
        with contextlib.suppress(OSError):
            fd, name = tempfile.mkstemp(dir=self._folder, prefix=".usage-")  # 0600
            try:
                body = json.dumps(self._entries, separators=(",", ":")).encode("ascii")
                with os.fdopen(fd, "wb") as file:
                    file.write(json.dumps(_head(body)).encode("ascii") + b"\n" + body)
                Path(name).replace(self._folder / _FILE)
            except OSError:
                Path(name).unlink(missing_ok=True)


def _head(body: bytes) -> dict[str, int]:
    return {"v": _VERSION, "crc32": zlib.crc32(body)}


def _place(entry: dict[str, Any]) -> _Place:
    return _Place(*entry["place"])


def _without_project(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a journal that was deleted."""
    usage = JournalUsage.from_json(entry)
    usage.forget_project()
    return {"place": [*_place(entry)._replace(is_gone=True)], **usage.as_json()}


def _tail(fd: int, end: int) -> int:
    """Return the CRC-32 of the bytes before `end`."""
    start = max(end - _TAIL_BYTES, 0)
    return zlib.crc32(os.pread(fd, end - start, start))
