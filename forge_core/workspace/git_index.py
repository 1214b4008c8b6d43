"""The entries of a git index and the ids of blobs, without running git.

Source: git's Documentation/gitformat-index.txt, https://git-scm.com/docs/index-format.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

_ID_OFFSET = 40
"""Bytes of an entry before its object id."""
_MODE_OFFSET = 24
_REGULAR = 0o100000
_LINK = 0o160000
_EXTENDED = 0x4000
"""The flag of an entry with two more bytes of flags."""
_STAGE = 0x3000


class IndexEntry(NamedTuple):
    """One entry of an index."""

    name: str
    """Relative to the top of the work tree."""
    object_id: bytes
    mode: int
    stage: int
    """0, or the side of a merge conflict."""

    @property
    def is_regular(self) -> bool:
        return self.mode & 0o170000 == _REGULAR

    @property
    def is_link(self) -> bool:
        """Whether it stands for a commit of another repository: a submodule."""
        return self.mode & 0o170000 == _LINK


def parse_index(data: bytes, id_bytes: int = 20) -> Iterator[IndexEntry]:
    """Yield the entries of an index of version 2, 3 or 4, whose object ids have `id_bytes` bytes.

    Raises ValueError or IndexError for anything else.
    """
    if data[:4] != b"DIRC" or (version := index_version(data)) not in (2, 3, 4):
        raise ValueError("no git index of a known version")
    end_of_id = _ID_OFFSET + id_bytes
    offset, previous = 12, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        mode = int.from_bytes(data[offset + _MODE_OFFSET : offset + _MODE_OFFSET + 4], "big")
        flags = int.from_bytes(data[offset + end_of_id : offset + end_of_id + 2], "big")
        start = offset + end_of_id + (4 if flags & _EXTENDED else 2)
        if version == 4:  # the previous name without its last `cut` bytes, then new bytes
            cut, start = _variable_int(data, start)
            stop = data.index(b"\0", start)
            name = previous[: len(previous) - cut] + data[start:stop]
            following = stop + 1
        else:  # NULs pad an entry to a multiple of eight bytes
            stop = data.index(b"\0", start)
            name = data[start:stop]
            following = offset + (stop - offset + 8) // 8 * 8
        object_id = data[offset + _ID_OFFSET : offset + end_of_id]
        yield IndexEntry(os.fsdecode(name), object_id, mode, (flags & _STAGE) >> 12)
        previous, offset = name, following


def blob_id(data: bytes, algorithm: str = "sha1") -> bytes:
    """Return the id of the blob that git makes of `data`; `algorithm` is sha1 or sha256."""
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def index_version(data: bytes) -> int:
    return int.from_bytes(data[4:8], "big")


def _variable_int(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number at `offset`, and the offset after it."""
    byte = data[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = data[offset]
        value = (value + 1) << 7 | (byte & 0x7F)
    return value, offset + 1
