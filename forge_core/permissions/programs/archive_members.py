"""The names of the files that an archive would bring, read cheaply and before it is unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Protocol, cast

from forge_core.workspace.zip_directory import zip_names

_MAX_MEMBERS = 5_000
_MAX_BYTES = 16_000_000
"""Of a tar archive, unpacked: about 80 ms. What is behind them is not found."""
_EXTRACTS = re.compile(r"-?[A-Za-z]*x[A-Za-z]*|--extract|--get")
_LISTS_ZIP = re.compile(r"-[A-Za-z]*[clptvzZ][A-Za-z]*")
_ZIP_TARGET = re.compile(r"-[A-Za-z]*d")


def unpacked_files(program: str, words: Sequence[str], folders: Sequence[Path]) -> Iterator[str]:
    """Yield the paths that `tar x` or `unzip` would write, relative to the folder that it runs in. `words`
    are those behind the program."""
    if program == "unzip":
        if any(map(_LISTS_ZIP.fullmatch, words)):
            return
        archives = [word for word in words if not word.startswith("-")][:1]
        target = _value(words, _ZIP_TARGET)
    elif program in ("tar", "gtar", "bsdtar") and any(map(_EXTRACTS.fullmatch, words[:3])):
        archives = [
            following
            for word, following in pairwise((*words, ""))
            if re.fullmatch(r"-?[A-Za-z]*f|--file", word)
        ]
        archives += [word.partition("=")[2] for word in words if word.startswith("--file=")]
        target = _value(words, re.compile(r"-C|--directory")) or next(
            (word.partition("=")[2] for word in words if word.startswith("--directory=")), ""
        )
    else:
        return
    for folder in folders:
        for name in archives:
            for member in _members(folder / name):
                yield os.path.normpath(f"{target or '.'}/{member}")


def _value(words: Sequence[str], option: re.Pattern[str]) -> str:
    return next((following for word, following in pairwise(words) if option.fullmatch(word)), "")


def _members(path: Path) -> tuple[str, ...]:
    try:
        status = path.stat()
        if not path.is_file():
            return ()
    except (OSError, ValueError):
        return ()
    return _listed(str(path), (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=16)
def _listed(path: str, _stamp: tuple[int, ...]) -> tuple[str, ...]:
    import lzma
    import tarfile
    import zlib

    names: list[str] = []
    try:
        if (zipped := zip_names(Path(path))) is not None:
            names.extend(islice(zipped, _MAX_MEMBERS))
            return tuple(names)
        with (
            _unpacked(path) as file,
            tarfile.open(fileobj=cast(IO[bytes], _Beginning(file)), mode="r|") as members,
        ):
            for member in islice(members, _MAX_MEMBERS):
                names.append(member.name)
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error, lzma.LZMAError):
        pass  # no archive, or one that is cut off: the names before that count
    return tuple(names)


def _unpacked(path: str) -> AbstractContextManager[_Readable]:
    import bz2
    import gzip
    import lzma

    with Path(path).open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if magic.startswith(b"BZh"):
        return bz2.open(path)
    return lzma.open(path) if magic == b"\xfd7zXZ\0" else Path(path).open("rb")


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Beginning:
    """The first `_MAX_BYTES` of a file."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self._left = _MAX_BYTES

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data
