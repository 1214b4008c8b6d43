"""The records of a journal, read from the file when they are asked for: only their places are in memory."""

from __future__ import annotations

import os
import sys
import weakref
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from forge_core.errors import JournalError
from forge_core.store.journal import usable_record
from forge_core.workspace.record_file import Record, decoded_record

_BLOCK_BYTES = 1 << 18


class JournalRecords(Sequence[Record]):
    """The complete records of a journal, in order, each a new object whenever it is read.

    A record has a `type`, a dict as its `data`, and a `timestamp` that can be shown as a time, 0 where it was
    unusable. Its other values are not checked. The file is kept open, so that it can be read even if it is
    deleted; lines that are appended to it later do not count.

    Raises:
        JournalError: the file cannot be opened or read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places = array("Q")
        """The offset of each record."""
        self._sizes = array("Q")
        self.types: list[str] = []
        """The type of each record."""
        self.damaged = 0
        """Lines that could not be read."""
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failure(error) from error
        weakref.finalize(self, os.close, self._fd)

    def scan(self) -> Iterator[Record]:
        """Yield all records, and note their places; to be called once, before anything else is asked for."""
        at = 0
        for line in self._lines():
            if line.strip():
                record = usable_record(decoded_record(line))
                if record is None:
                    self.damaged += 1
                else:
                    self._places.append(at)
                    self._sizes.append(len(line))
                    self.types.append(sys.intern(record["type"]))
                    yield record
            at += len(line)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self._read(at) for at in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._read(index % len(self))

    def __iter__(self) -> Iterator[Record]:
        return map(self._read, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _lines(self) -> Iterator[bytes]:
        try:
            with os.fdopen(os.dup(self._fd), "rb", _BLOCK_BYTES) as file:
                yield from file
        except OSError as error:
            raise self._failure(error) from error

    def _read(self, at: int) -> Record:
        try:
            line = os.pread(self._fd, self._sizes[at], self._places[at])
        except OSError as error:
            raise self._failure(error) from error
        if (record := usable_record(decoded_record(line))) is None:
            raise JournalError(f"The session's record {str(self._path)!r} was changed while it was read.")
        return record

    def _failure(self, error: OSError) -> JournalError:
        return JournalError(f"The session's record {str(self._path)!r} cannot be read: {error.strerror}.")
