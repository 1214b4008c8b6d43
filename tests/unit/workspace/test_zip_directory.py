"""The names in zip archives: as `zipfile` reads them, and no more of them than are asked for."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
from itertools import islice
from pathlib import Path

import pytest

from forge_core.workspace.zip_directory import zip_names

NAMES = ["a.py", "src/b c.py", "日本語.txt", "empty/"]


def write_zip(path: Path, *, comment: bytes = b"", before: bytes = b"") -> Path:
    path.write_bytes(before)
    with zipfile.ZipFile(path, "a") as archive:
        for name in NAMES:
            archive.writestr(name, "text")
        archive.comment = comment
    return path


def huge_zip(path: Path, entries: int) -> Path:
    """An archive of so many empty members, in the form of ZIP64. Only its directory is written."""
    entry = struct.pack("<4s4B4H3L5H2L", b"PK\1\2", 45, 3, 45, *[0] * 8, 8, *[0] * 6)
    with path.open("wb") as file:
        file.writelines(entry + b"%08d" % number for number in range(entries))
        size = file.tell()
        wide = (b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, size, 0)
        file.write(struct.pack("<4sQ2H2L4Q", *wide))
        file.write(struct.pack("<4sLQL", b"PK\6\7", 0, size, 1))
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    return path


@pytest.mark.parametrize(
    "options", [{}, {"comment": b"a comment"}, {"before": b"#!/bin/sh\n"}], ids=["", "comment", "program"]
)
def test_the_names_are_those_of_zipfile(tmp_path: Path, options: dict[str, bytes]) -> None:
    path = write_zip(tmp_path / "a.zip", **options)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [*(zip_names(path) or ())] == NAMES
    path = huge_zip(tmp_path / "wide.zip", 3)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [*(zip_names(path) or ())] == ["00000000", "00000001", "00000002"]


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"PK\5\6", b"text" * 9, b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_zip_has_no_names(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    assert zip_names(path) is None


def test_a_damaged_entry_ends_the_names(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip")
    data = path.read_bytes()
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    path.write_bytes(data[:second] + b"damaged"[:4] + data[second + 4 :])
    assert list(zip_names(path) or ()) == NAMES[:1]


def test_the_first_names_of_a_huge_archive_need_little_memory(tmp_path: Path) -> None:
    path = huge_zip(tmp_path / "huge.zip", 100_000)
    tracemalloc.start()
    try:
        assert len(list(islice(zip_names(path) or (), 5_000))) == 5_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
