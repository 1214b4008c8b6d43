"""A file's lines with something left out of each, so that texts which differ only in that are found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from itertools import accumulate

from forge_core.tools.editing.fold import folded, sources
from forge_core.tools.editing.lines import Lines

BLANKS = " \t"
_RUN = re.compile(r"[ \t]+")


class Key(Enum):
    """What is left of a line."""

    BARE = "all but the line end"
    TRIMMED = "without trailing blanks"
    FOLDED = "and with look-alike characters made equal"
    COLLAPSED = "and with each run of blanks after the indentation as one"
    STRIPPED = "folded, without indentation"

    def of(self, lines: Sequence[str]) -> list[str]:
        if self is Key.BARE:
            return list(lines)
        if self is not Key.TRIMMED:
            lines = [line if line.isascii() else folded(line) for line in lines]
        if self is Key.STRIPPED:
            return [line.strip(BLANKS) for line in lines]
        trimmed = [line.rstrip(BLANKS) for line in lines]
        return trimmed if self is not Key.COLLAPSED else [_collapsed(line) for line in trimmed]


class View:
    """The keys of all lines as one text, each line with \\n before and after it, and the way back."""

    def __init__(self, lines: Lines, key: Key) -> None:
        self.lines = lines
        self.key = key
        self.keys = key.of(lines.bare)
        self.text = "\n" + "\n".join(self.keys) + "\n"
        self._cuts: dict[int, dict[int, tuple[int, int]]] = {}
        self._starts = [*accumulate((len(one) + 1 for one in self.keys), initial=1)]

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position; the line after the last one has no columns."""
        line = bisect_right(self._starts, position) - 1
        return line, position - self._starts[line]

    def source(self, line: int, column: int, *, is_end: bool) -> int | None:
        """The position in the file of a column of a key that keeps the indentation; None where no cut is
        possible. What was left out there stays outside: before a start, after an end."""
        if line == len(self.keys):
            return self.lines.part.stop
        if self.key is Key.FOLDED:
            if line not in self._cuts:
                self._cuts[line] = sources(self.lines.bare[line])
            cut = self._cuts[line].get(column)
            if cut is None:
                return None
            column = cut[0 if is_end else 1]
        return self.lines.starts[line] + column


class Views:
    """The views of a part of a text, each made when it is first needed."""

    def __init__(self, text: str, part: range) -> None:
        self.lines = Lines(text, part)
        self._made: dict[Key, View] = {}

    def __getitem__(self, key: Key) -> View:
        if key not in self._made:
            self._made[key] = View(self.lines, key)
        return self._made[key]


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _collapsed(line: str) -> str:
    rest = line.lstrip(BLANKS)
    if "  " not in rest and "\t" not in rest:
        return line
    return line[: len(line) - len(rest)] + _RUN.sub(" ", rest)
