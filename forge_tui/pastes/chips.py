"""Chips: folded parts of the composer's text, each shown as one label that is edited as one character.

In the document a chip is its label between the marks of `folded_text`, which are drawn as brackets. Its text
is kept beside the document, so undo, redo and moving lines need to know nothing of it.
"""

from __future__ import annotations

from forge_tui.pastes import folded_text
from forge_tui.pastes.folded_text import BEGIN, END, FOLDED, IMAGE

_BRACKETS = str.maketrans({BEGIN: "[", END: "]"})


class Chips:
    """The texts of the chips in one document, by their labels."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __bool__(self) -> bool:
        """Return whether there have been any since `clear`."""
        return bool(self._texts)

    def clear(self) -> None:
        """Forget all texts: the document, its undo history included, contains no chip any more."""
        self._texts.clear()

    def fold(self, text: str) -> str:
        """Return text for the document, with a chip for each folded part. The rest must be safe to show."""
        text = folded_text.images_folded(text)
        return FOLDED.sub(lambda found: self._chip(found[1]), text) if BEGIN in text else text

    def unfold(self, document: str) -> str:
        """Return a part of the document with the text of each chip between marks."""
        if BEGIN not in document:
            return document
        return FOLDED.sub(lambda found: folded_text.folded(self._texts.get(found[1], found[1])), document)

    @property
    def size(self) -> int:
        """The number of characters in all texts."""
        return sum(map(len, self._texts.values()))

    def _chip(self, text: str) -> str:
        if text in self._texts:  # text of the document itself, as a completed line is
            return folded_text.folded(text)
        known = next((label for label, other in self._texts.items() if other == text), None)
        label = known or folded_text.label(len(self._texts) + 1, text)
        self._texts[label] = text
        return folded_text.folded(label)


def spans(line: str) -> list[tuple[int, int]]:
    """Return where the chips of a line of the document begin and end."""
    return [found.span() for found in FOLDED.finditer(line)] if BEGIN in line else []


def drawn(line: str) -> str:
    """Return a line of the document as it is shown."""
    return line.translate(_BRACKETS) if BEGIN in line else line


def touched(line: str, column: int) -> tuple[int, int] | None:
    """Return the chip that a cursor at this column is beside."""
    return next((span for span in spans(line) if span[0] <= column <= span[1]), None)


def expandable(line: str, column: int) -> tuple[int, int] | None:
    """Return the chip that a cursor at this column is beside, unless it is an image, which has no text."""
    span = touched(line, column)
    return None if span is None or line.startswith(IMAGE, span[0] + 1) else span


def around(line: str, column: int) -> tuple[int, int]:
    """Return the chip that the column is inside of, or the column itself as an empty span."""
    return next((span for span in spans(line) if span[0] < column < span[1]), (column, column))


def snapped(line: str, column: int, previous: int | None) -> int:
    """Return the column at a border of the chip that it is inside of: the far one if the cursor comes from a
    border, at column `previous` of the line, else the near one."""
    start, end = around(line, column)
    if previous == start:
        return end
    if previous == end or column - start < end - column:
        return start
    return end
