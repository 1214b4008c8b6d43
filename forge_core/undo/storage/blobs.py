"""Bytes by their sha256, in append-only segment files: one write per blob, no file to open or rename.

A segment is a sequence of records, each a header and its payload (zlib where that is shorter). A torn record
at the end, as a kill -9 leaves it, is cut off when the segment is opened; every blob is compared with its
hash when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from forge_core.private_folders import make_private_folder
from forge_core.workspace.beneath import write_all

SEGMENT_BYTES = 16 * 1024 * 1024
"""A segment that is larger than this is followed by a new one."""
_HEADER = struct.Struct(">4sB32sQ")
_MAGIC = b"FUB1"
_RAW, _ZLIB = 0, 1
_MIN_PACKED = 128
"""Shorter blobs do not gain from compression."""


@dataclass(slots=True)
class _Location:
    segment: int
    offset: int
    length: int
    flag: int


class BlobStore:
    """The blobs of one session; used from one thread at a time. The methods raise OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locations: dict[str, _Location] = {}
        self._current = 0
        self._fd: int | None = None
        self._end = 0
        self.total_bytes = 0
        """On disk, dead blobs included."""

    def open(self) -> None:
        """Create the folder, and read the headers of existing segments."""
        make_private_folder(self._folder)
        for path in sorted(self._folder.glob("*.blobs")):
            if path.stem.isdigit():
                self._read_segment(int(path.stem))

    def __contains__(self, digest: str) -> bool:
        return digest in self._locations

    def put(self, data: bytes, digest: str, *, packed: bool = True) -> None:
        """Store `data` under its hash, under which nothing is stored; a failed write leaves no partial
        record."""
        flag, payload = _RAW, data
        if packed and len(data) >= _MIN_PACKED:
            short = zlib.compress(data, 1)
            if len(short) < len(data) * 0.9:
                flag, payload = _ZLIB, short
        self._append(digest, flag, payload)

    def get(self, digest: str) -> bytes | None:
        """Return the bytes with this hash; None when they are missing or damaged."""
        location = self._locations.get(digest)
        if location is None:
            return None
        try:
            payload = self._payload(location)
            data = zlib.decompress(payload) if location.flag == _ZLIB else payload
        except (OSError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def size_of(self, digests: Collection[str]) -> int:
        """Return the size of these blobs on disk."""
        found = (self._locations.get(digest) for digest in digests)
        return sum(location.length + _HEADER.size for location in found if location is not None)

    def keep_only(self, digests: Collection[str]) -> None:
        """Drop every other blob: copy the ones that are kept to new segments, then delete the old
        segments."""
        old = {location.segment for location in self._locations.values()} | {self._current}
        living = [(digest, location) for digest, location in self._locations.items() if digest in digests]
        self.close()
        self._current = max(old) + 1
        self._end = 0
        # Copied to new segments before an old one is deleted: a kill in between leaves blobs twice, never
        # none.
        locations, self._locations = self._locations, {}
        before = self.total_bytes
        try:
            for digest, location in living:
                self._append(digest, location.flag, self._payload(location))
        except OSError:
            # The old segments are still there: blobs that were not copied keep their place in them.
            self._locations = locations | self._locations
            raise
        self.total_bytes -= before
        for segment in old:
            self._path(segment).unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _payload(self, location: _Location) -> bytes:
        with self._path(location.segment).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), location.length, location.offset)

    def _append(self, digest: str, flag: int, payload: bytes) -> None:
        fd = self._writable()
        record = _HEADER.pack(_MAGIC, flag, bytes.fromhex(digest), len(payload)) + payload
        try:
            write_all(fd, record)
        except OSError:
            with contextlib.suppress(OSError):
                # A torn record would hide all that follow it: `_read_segment` stops there.
                os.ftruncate(fd, self._end)
            raise
        self._locations[digest] = _Location(self._current, self._end + _HEADER.size, len(payload), flag)
        self._end += len(record)
        self.total_bytes += len(record)

    def _writable(self) -> int:
        if self._fd is not None and self._end > SEGMENT_BYTES:
            self.close()
            self._current += 1
        if self._fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path(self._current), flags, 0o600)
            self._end = os.fstat(self._fd).st_size
        return self._fd

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:06d}.blobs"

    def _read_segment(self, segment: int) -> None:
        fd = os.open(self._path(segment), os.O_RDWR | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            offset = 0
            while offset + _HEADER.size <= size:
                magic, flag, digest, length = _HEADER.unpack(os.pread(fd, _HEADER.size, offset))
                # Without a valid header the beginning of the next record is unknown.
                if magic != _MAGIC or offset + _HEADER.size + length > size:
                    break
                self._locations[digest.hex()] = _Location(segment, offset + _HEADER.size, length, flag)
                offset += _HEADER.size + length
            if offset < size:
                os.ftruncate(fd, offset)
        finally:
            os.close(fd)
        self._current = max(self._current, segment)
        self.total_bytes += offset
