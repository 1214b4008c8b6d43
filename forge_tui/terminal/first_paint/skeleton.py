"""A screen that is painted without Textual, with one input line. Standard library only.

Named tuples instead of dataclasses: creating a dataclass takes a millisecond, which would delay the first
frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from forge_core.text_width import cell_len

MakeSkeleton: TypeAlias = "Callable[[int, int], Skeleton]"
"""Returns the screen for the width and height of the terminal."""


class Line(NamedTuple):
    """The input line."""

    row: int
    column: int
    width: int
    """In cells, including the cursor's. Row and column count from 0."""
    placeholder: str
    text_sgr: str
    placeholder_sgr: str
    cursor_sgr: str

    @property
    def room(self) -> int:
        """The cells that text may take: the cursor follows it."""
        return self.width - 1

    def painted(self, text: str) -> str:
        """Return the sequences that show `text`, or the placeholder if it is empty, and the cursor."""
        under, after = (" ", "") if text else (self.placeholder[:1] or " ", self.placeholder[1:])
        cells = cell_len(text)
        gap = " " * (self.width - cells - cell_len(under + after))
        place = f"\x1b[{self.row + 1};{self.column + 1 + cells}H"
        return (
            f"\x1b[{self.row + 1};{self.column + 1}H{self.text_sgr}{text}"
            f"{place}{self.cursor_sgr}{under}{self.placeholder_sgr}{after}{self.text_sgr}{gap}\x1b[0m{place}"
        )


class Skeleton(NamedTuple):
    """All rows of a screen."""

    rows: tuple[str, ...]
    """Including colours, each as wide as the screen."""
    line: Line | None = None
    """None if there is no room."""

    def painted(self, text: str | None) -> str:
        """Return the sequences that draw the whole screen; for None with an empty input line."""
        rows = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(self.rows, 1))
        return f"{rows}\x1b[0m" + (self.line.painted(text) if self.line and text is not None else "")
