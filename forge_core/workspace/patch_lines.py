"""The lines of a diff by git, each with its path and its number in the file after the change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a hunk."""

    path: str
    """As in the repository; invalid UTF-8 is kept as surrogates. Empty for a file that was deleted."""
    kind: str
    """"+", "-" or " "."""
    number: int
    """From 1, in the file after the change; of a removed line that of the line that follows."""
    text: str
    """Without its line end."""


def patch_lines(patch: str) -> Iterator[PatchLine]:
    """Yield the lines of all hunks, in order. A line of a file is never taken for a header: hunks are
    counted."""
    path, number, old, new = "", 0, 0, 0
    for line in patch.split("\n"):
        if old > 0 or new > 0:
            kind = line[:1] or " "
            if kind in "+- ":
                yield PatchLine(path, kind, number, line[1:].removesuffix("\r"))
            old -= kind in "- "
            new -= kind in "+ "
            number += kind in "+ "
        elif line.startswith("+++ "):
            named = unquoted_path(line[4:].removesuffix("\t"))
            path = "" if named == "/dev/null" else named.removeprefix("b/")
        elif (hunk := _HUNK.match(line)) is not None:
            old, new = (1 if count is None else int(count) for count in (hunk[1], hunk[3]))
            number = int(hunk[2])


def added_lines(patch: str) -> Iterator[PatchLine]:
    """Yield the added lines."""
    return (line for line in patch_lines(patch) if line.kind == "+")


def text_lines(text: str) -> list[str]:
    """Return the lines of a text as git counts them: only a line feed ends one."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def unquoted_path(path: str) -> str:
    """Return a path as it is: git quotes one with control characters, quotes or bytes outside ASCII, as C
    does."""
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path
    return os.fsdecode(_ESCAPE.sub(_byte, path[1:-1].encode("utf-8", "surrogateescape")))


def _byte(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)
