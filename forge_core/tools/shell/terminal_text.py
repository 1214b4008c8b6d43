"""The output of a command as a terminal would show it: without colours, and with the last state of each line.

A pipe is not a terminal, but many programs can be told to write as if it were (`--color=always`,
`--progress`). Complete sequences (ECMA-48: CSI; OSC, DCS and the other strings; the common short ones) take
effect within their line or are removed. Malformed ones are kept, with visible stand-ins for their control
characters. Moves to another line are ignored.
"""

from __future__ import annotations

import codecs
import re

from forge_core.sanitize import visible_controls
from forge_core.text_width import character_width

MAX_ROW_CELLS = 4_096
"""A longer line wraps, and a carriage return goes back to the beginning of its last row, as in a terminal."""
MAX_SEQUENCE = 4_096
"""Characters in a sequence with a text of its own, such as a link's address."""
_RIGHT_EDGE = 200
"""Cells: as far as the cursor is moved over blanks."""

_TEXT = rf"[^\x00-\x1f\x7f]{{0,{MAX_SEQUENCE}}}+"
_ARGUMENTS = r"[0-?]{0,63}+"
_BETWEEN = r"[ -/]{0,4}+"
_SEQUENCE = re.compile(
    rf"\x1b(?:\[(?:([0-9]{{0,4}}[CDGJK])|{_ARGUMENTS}{_BETWEEN}[@-~])"
    rf"|\]{_TEXT}(?:\x07|\x1b\\)|[PX^_]{_TEXT}\x1b\\|[()*+][0-9A-Za-z]|[78=>])"
)
"""Its group is what takes effect in the line."""
_BEGUN = re.compile(rf"\x1b(?:\[{_ARGUMENTS}{_BETWEEN}|[\]PX^_]{_TEXT}\x1b?|[()*+])?\Z")
_LONGEST_BEGUN = MAX_SEQUENCE + 3
_MOVE = re.compile("(\r+|\b+)")


class TerminalText:
    """Converts bytes to text, with replacement characters for invalid UTF-8.

    Dropping invalid bytes could form a new control sequence across a removed one. `feed` and `row` together
    give the same text however the bytes are split. Time is linear, and memory is bounded.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """The beginning of a sequence whose rest is still to come."""
        self._cells: list[str] = []
        """One character per cell of the last row; a wide character is followed by an empty cell."""
        self._column = 0

    @property
    def row(self) -> str:
        """The end of the output that may still be rewritten: what has come since the last line end."""
        return "".join(self._cells)

    def feed(self, data: bytes) -> str:
        """Return the text that has become final."""
        text = self._held + self._decoder.decode(data)
        # A sequence that the data ends within waits for its rest: at most _LONGEST_BEGUN characters.
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST_BEGUN)) if "\x1b" in text else None
        self._held = text[begun.start() :] if begun else ""
        return self._shown(text[: begun.start()] if begun else text)

    def finish(self) -> str:
        """Return the text that becomes final at the end of the output, including the last row. Incomplete
        sequences are malformed."""
        text = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        settled = self._shown(text) + self.row
        self._begin_row()
        return settled

    def _shown(self, text: str) -> str:
        settled: list[str] = []
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        parts = _SEQUENCE.split(text) if "\x1b" in text else [text]
        # split() returns texts and sequences in turn; the sequences that have no effect in a line are None.
        if any(parts[1::2]):
            for number, part in enumerate(parts):
                if number % 2 == 0:
                    self._write(part, settled)
                elif part:
                    self._obey(part)
        else:
            self._write("".join(parts[::2]), settled)
        return "".join(settled)

    def _write(self, text: str, settled: list[str]) -> None:
        if "\r" not in text and "\b" not in text:
            self._print(visible_controls(text), settled)
            return
        for number, part in enumerate(_MOVE.split(text)):
            if number % 2 == 0:
                self._print(visible_controls(part), settled)
            elif part[0] == "\r":
                self._column = 0
            else:
                self._column = max(0, self._column - len(part))

    def _print(self, text: str, settled: list[str]) -> None:
        first, newline, rest = text.partition("\n")
        if first:
            self._put(first, settled)
        if newline:
            lines, last_end, last = rest.rpartition("\n")
            settled += (self.row, "\n", lines, last_end)
            self._begin_row()
            self._put(last, settled)

    def _put(self, text: str, settled: list[str]) -> None:
        """Write into the row at the cursor, over existing cells."""
        new = list(text) if text.isascii() else _cells(text)
        at = 0
        while at < len(new):
            if self._column >= MAX_ROW_CELLS:
                settled.append(self.row)
                self._begin_row()
            part = new[at : at + MAX_ROW_CELLS - self._column]
            self._make_room(len(part))
            self._cells[self._column : self._column + len(part)] = part
            self._column += len(part)
            at += len(part)

    def _make_room(self, size: int) -> None:
        """Fill the row up to the cursor; half of a wide character that is written over leaves a blank."""
        cells, column = self._cells, self._column
        cells += " " * (column - len(cells))
        if column < len(cells):
            if cells[column] == "" and column:
                cells[column - 1] = " "
            if column + size < len(cells) and cells[column + size] == "":
                cells[column + size] = " "

    def _obey(self, order: str) -> None:
        """Execute CUF, CUB, CHA, ED or EL of ECMA-48 and xterm."""
        cells, kind, number = self._cells, order[-1], int(order[:-1] or 0)
        match kind:
            case "C":
                self._column = max(self._column, min(self._column + (number or 1), _RIGHT_EDGE))
            case "D":
                self._column = max(0, self._column - (number or 1))
            case "G":
                self._column = min(max(number, 1) - 1, max(len(cells), _RIGHT_EDGE))
            case "J" | "K" if number == 0:
                del cells[self._column :]
            case "K" if number == 1:
                end = min(self._column + 1, len(cells))
                cells[:end] = " " * end
            case "K" if number == 2:
                cells.clear()

    def _begin_row(self) -> None:
        self._cells = []
        self._column = 0


def _cells(text: str) -> list[str]:
    cells: list[str] = []
    for character in text:
        cells.append(character)
        if character_width(character) == 2:
            cells.append("")
    return cells
