"""Reads the lines that an engine prints, as they come."""

from __future__ import annotations

import os
import re

from forge_core.tools.searching.query import MAX_COLUMNS, Line

_ROW = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_OMITTED = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")
_MAX_ROW = 1024 * 1024


class LineReader:
    """Collects `Line`s until `matches` of them are matches, and the context after the last one; at most
    `most` lines."""

    def __init__(self, matches: int | None, most: int) -> None:
        self._most = most
        self.lines: list[Line] = []
        self.matches = 0
        self._wanted = matches
        self._rest = b""

    def feed(self, data: bytes) -> bool:
        """Takes a piece of output; False when no more is wanted."""
        rows = (self._rest + data).split(b"\n")
        self._rest = rows.pop()
        for row in rows:
            line = _line(row)
            if line is None:
                continue
            if line.is_match:
                if self._wanted is not None and self.matches == self._wanted:
                    return False
                self.matches += 1
            self.lines.append(line)
            if len(self.lines) >= self._most:
                return False
        if len(self._rest) > _MAX_ROW:
            self._rest = self._rest[:_MAX_ROW]
        return True


def _line(row: bytes) -> Line | None:
    path, separator, rest = row.partition(b"\0")
    found = _ROW.fullmatch(rest)
    if not separator or found is None:
        return None
    text = found[3].decode("utf-8", "replace").rstrip("\r")
    if len(found[3]) > MAX_COLUMNS:
        text = _OMITTED.sub("", text)
    return Line(os.fsdecode(path).removeprefix("./"), int(found[1]), text, found[2] == b":")
