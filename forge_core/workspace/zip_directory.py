"""The names in a zip archive, read one by one: `zipfile` reads all of them before it returns the first.

Source: PKWARE's APPNOTE.TXT, sections 4.3.12 to 4.3.16. The directory is searched as `zipfile` does it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_END = struct.Struct("<4s8x2L2x")
"""Signature, size and offset of the directory."""
_END_64_LOCATOR = struct.Struct("<4s16x")
_END_64 = struct.Struct("<4s36x2Q")
_ENTRY = struct.Struct("<4s4xH18x3H12x")
"""Signature, flags, and the lengths of the name, the extra field and the comment."""
_LONGEST_COMMENT = 65_535
_IS_UTF8 = 0x800


def zip_names(path: Path) -> Iterator[str] | None:
    """Return the names in their order, up to the first entry that is damaged; None for no zip archive.

    Raises OSError if the file cannot be read, also while the names are read.
    """
    with path.open("rb") as file:
        found = _directory(file)
    return None if found is None else _names(path, *found)


def _names(path: Path, start: int, size: int) -> Iterator[str]:
    with path.open("rb") as file:
        file.seek(start)
        while size >= _ENTRY.size:
            header = file.read(_ENTRY.size)
            if len(header) < _ENTRY.size:
                return
            signature, flags, *lengths = _ENTRY.unpack(header)
            if signature != b"PK\1\2":
                return
            name = file.read(lengths[0])
            file.seek(lengths[1] + lengths[2], os.SEEK_CUR)
            size -= _ENTRY.size + sum(lengths)
            yield name.decode("utf-8" if flags & _IS_UTF8 else "cp437", "replace").partition("\0")[0]


def _directory(file: BinaryIO) -> tuple[int, int] | None:
    """Return where the directory begins, and its size in bytes."""
    length = file.seek(0, os.SEEK_END)
    before = max(0, length - _END.size - _LONGEST_COMMENT)
    file.seek(before)
    tail = file.read()
    has_comment = not (tail[-_END.size :].startswith(b"PK\5\6") and tail.endswith(b"\0\0"))
    at = tail.rfind(b"PK\5\6") if has_comment else len(tail) - _END.size
    if at < 0 or len(tail) - at < _END.size:
        return None
    _, size, offset = _END.unpack_from(tail, at)
    end = before + at
    file.seek(max(0, end - _END_64_LOCATOR.size - _END_64.size))
    wide = file.read(_END_64.size + _END_64_LOCATOR.size)
    if wide[_END_64.size :].startswith(b"PK\6\7") and wide.startswith(b"PK\6\6"):
        _, size, offset = _END_64.unpack_from(wide)
        end -= len(wide)
    # Something may be before the archive, so that its offsets are too small.
    start = end - size
    return (start, size) if start >= 0 and offset <= start else None
