"""Bytes by their sha256, in append-only segment files: one write a blob, nothing to open or rename.

A segment is a row of records, each a header and its payload (zlib where that is shorter). A torn record at
the end, as a kill -9 leaves it, is cut off when the segment is opened; every blob is compared with its hash
when it is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Collection
from pathlib import Path

from forge_core.undo.storage.file_tree import write_all

SEGMENT_BYTES = 16 * 1024 * 1024
"""A new segment begins once one is larger than this."""
_HEADER = struct.Struct(">4sB32sQ")
_MAGIC = b"FUB1"
_RAW, _ZLIB = 0, 1
_MIN_PACKED = 128
"""Shorter blobs do not gain from compression."""


class _Place:
    __slots__ = ("flag", "length", "offset", "segment")

    def __init__(self, segment: int, offset: int, length: int, flag: int) -> None:
        self.segment = segment
        self.offset = offset
        self.length = length
        self.flag = flag


class BlobStore:
    """The blobs of one session; used from one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, _Place] = {}
        self._current = 0
        self._fd: int | None = None
        self._end = 0
        self.total_bytes = 0
        """On disk, dead blobs included."""

    def open(self) -> None:
        """Makes the folder, reads what is there. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in sorted(self._folder.glob("*.blobs")):
            if path.stem.isdigit():
                self._read_segment(int(path.stem))

    def __contains__(self, digest: str) -> bool:
        return digest in self._places

    def put(self, data: bytes, digest: str, *, packed: bool = True) -> int:
        """Keeps `data`; gives the bytes that the store grew by. Raises OSError, leaving nothing half."""
        if digest in self._places:
            return 0
        flag, payload = _RAW, data
        if packed and len(data) >= _MIN_PACKED:
            short = zlib.compress(data, 1)
            if len(short) < len(data) * 0.9:
                flag, payload = _ZLIB, short
        fd = self._writable()
        header = _HEADER.pack(_MAGIC, flag, bytes.fromhex(digest), len(payload))
        try:
            write_all(fd, header + payload)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._end)
            raise
        self._places[digest] = _Place(self._current, self._end + _HEADER.size, len(payload), flag)
        grown = _HEADER.size + len(payload)
        self._end += grown
        self.total_bytes += grown
        return grown

    def get(self, digest: str) -> bytes | None:
        """The bytes of this hash; None when they are not there or damaged."""
        place = self._places.get(digest)
        if place is None:
            return None
        try:
            with self._path(place.segment).open("rb", buffering=0) as file:
                payload = os.pread(file.fileno(), place.length, place.offset)
            data = zlib.decompress(payload) if place.flag == _ZLIB else payload
        except (OSError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def size_of(self, digests: Collection[str]) -> int:
        """What these blobs take on disk."""
        found = (self._places.get(digest) for digest in digests)
        return sum(place.length + _HEADER.size for place in found if place is not None)

    def keep_only(self, digests: Collection[str]) -> None:
        """Drops every other blob: what lives is written anew, then the old segments go. Raises OSError."""
        old = {place.segment for place in self._places.values()} | {self._current}
        living = [(digest, place) for digest, place in self._places.items() if digest in digests]
        self.close()
        self._current = max(old) + 1
        self._end = 0
        places, self._places = self._places, {}
        before = self.total_bytes
        try:
            for digest, place in living:
                with self._path(place.segment).open("rb", buffering=0) as file:
                    payload = os.pread(file.fileno(), place.length, place.offset)
                self._append_raw(digest, place.flag, payload)
        except OSError:
            self._places = places | self._places
            raise
        self.total_bytes -= before
        for segment in old:
            self._path(segment).unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _append_raw(self, digest: str, flag: int, payload: bytes) -> None:
        fd = self._writable()
        write_all(fd, _HEADER.pack(_MAGIC, flag, bytes.fromhex(digest), len(payload)) + payload)
        self._places[digest] = _Place(self._current, self._end + _HEADER.size, len(payload), flag)
        self._end += _HEADER.size + len(payload)
        self.total_bytes += _HEADER.size + len(payload)

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
                if magic != _MAGIC or offset + _HEADER.size + length > size:
                    break
                self._places[digest.hex()] = _Place(segment, offset + _HEADER.size, length, flag)
                offset += _HEADER.size + length
            if offset < size:
                os.ftruncate(fd, offset)
        finally:
            os.close(fd)
        self._current = max(self._current, segment)
        self.total_bytes += offset
