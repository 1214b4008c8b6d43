"""Text for the Vim engine: lines of characters, positions in them, and Vim's classes of characters.

A character is a string: one code point with the marks that combine with it, or a chip of the composer.
The position after a line's last character is that of its end.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple, TypeAlias

from forge_tui.pastes.folded_text import BEGIN, END

Lines: TypeAlias = list[list[str]]
"""At least one line; without line breaks."""

_CHARACTER = re.compile(f"{BEGIN}[^{BEGIN}{END}]*{END}|.[\u0300-\u036f\u200d\ufe0e\ufe0f]*", re.DOTALL)


class Position(NamedTuple):
    row: int
    column: int
    """Counts characters; that of the line's end is the number of characters in the line."""

    def to_column(self, column: int) -> Position:
        """Return the position at another column of the row."""
        return Position(self.row, column)


def characters(line: str) -> list[str]:
    """Return the characters of a line."""
    return list(line) if line.isascii() else _CHARACTER.findall(line)


def to_lines(text: str) -> Lines:
    """Return the lines of a text."""
    return [characters(line) for line in text.split("\n")]


def to_text(lines: Lines) -> str:
    """Return lines as one text."""
    return "\n".join(map("".join, lines))


def character_class(character: str, *, is_big: bool = False) -> int:
    """Return Vim's class: 0 for a blank or "" (the end of a line), 1 for punctuation, others for words.

    With `is_big`, anything that is not blank has the same class.
    """
    if character in ("", " ", "\t"):
        return 0
    if is_big:
        return 1
    if character[0] == BEGIN:
        return 3
    code = ord(character[0])
    if code < 0x100:
        return 2 if character.isalnum() or character == "_" else 1
    for group, (first, last) in enumerate(_SCRIPTS, 4):
        if first <= code <= last:
            return group
    return 1 if unicodedata.category(character[0])[0] in "PSZ" else 2


_SCRIPTS = ((0x3040, 0x309F), (0x30A0, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0x1F000, 0x1FAFF))
"""Scripts without spaces, in which a change of the script ends a word."""


def at(lines: Lines, position: Position) -> str:
    """Return the character at the position; "" at the end of a line."""
    line = lines[position.row]
    return line[position.column] if position.column < len(line) else ""


def indent(line: list[str]) -> int:
    """Return the number of blanks that the line begins with."""
    return next((column for column, one in enumerate(line) if one not in " \t"), len(line))


def first_non_blank(lines: Lines, row: int) -> Position:
    """Return where the text of a line begins, or its last character if it is blank."""
    line = lines[row]
    return Position(row, min(indent(line), max(len(line) - 1, 0)))


def limited(lines: Lines, position: Position) -> Position:
    """Return the position on the nearest character: the cursor of normal mode."""
    row = min(position.row, len(lines) - 1)
    return Position(row, max(0, min(position.column, len(lines[row]) - 1)))


class Walk:
    """A position that moves over characters and ends of lines, as Vim's own `inc()` and `dec()`."""

    def __init__(self, lines: Lines, start: Position, *, is_big: bool = False) -> None:
        self.lines = lines
        self.row, self.column = start
        self._is_big = is_big

    @property
    def position(self) -> Position:
        return Position(self.row, self.column)

    @property
    def kind(self) -> int:
        """The class of the character here."""
        return character_class(at(self.lines, self.position), is_big=self._is_big)

    @property
    def is_on_empty_line(self) -> bool:
        return not self.lines[self.row]

    @property
    def is_on_last_line(self) -> bool:
        return self.row == len(self.lines) - 1

    def forward(self) -> int:
        """Move on by one; return -1 at the text's end, 1 in a new line, 2 at the end of a line, else 0."""
        line = self.lines[self.row]
        if self.column < len(line):
            self.column += 1
            return 0 if self.column < len(line) else 2
        if self.is_on_last_line:
            return -1
        self.row, self.column = self.row + 1, 0
        return 1

    def back(self) -> int:
        """Move back by one; return -1 at the beginning of the text, 1 in another line, else 0."""
        if self.column > 0:
            self.column -= 1
            return 0
        if self.row == 0:
            return -1
        self.row -= 1
        self.column = len(self.lines[self.row])
        return 1

    def skip_forward(self, kind: int) -> bool:
        """Move past characters of this class; return whether the text does not end before."""
        while self.kind == kind:
            if self.forward() == -1:
                return False
        return True

    def skip_back(self, kind: int) -> bool:
        """Move back past characters of this class; return whether the text does not begin before."""
        while self.kind == kind:
            if self.back() == -1:
                return False
        return True
