"""A screen to paint without Textual, with one line that can be typed into; standard library only.

Named tuples and not data classes: those take a millisecond each to make, and the first frame waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from forge_core.text_width import cell_len

MakeSkeleton: TypeAlias = "Callable[[int, int], Skeleton]"
"""Width and height of the terminal → what to show on it."""


class Line(NamedTuple):
    """Where typed text shows."""

    row: int
    column: int
    width: int
    """In cells, the cursor's included. Row and column count from 0."""
    placeholder: str
    text_sgr: str
    placeholder_sgr: str
    cursor_sgr: str

    @property
    def room(self) -> int:
        """The cells that text may take: the cursor stands behind it."""
        return self.width - 1

    def painted(self, text: str) -> str:
        """The sequences that show `text` with the cursor behind it; the placeholder where there is none."""
        under, after = (" ", "") if text else (self.placeholder[:1] or " ", self.placeholder[1:])
        cells = cell_len(text)
        gap = " " * (self.width - cells - cell_len(under + after))
        place = f"\x1b[{self.row + 1};{self.column + 1 + cells}H"
        return (
            f"\x1b[{self.row + 1};{self.column + 1}H{self.text_sgr}{text}"
            f"{place}{self.cursor_sgr}{under}{self.placeholder_sgr}{after}{self.text_sgr}{gap}\x1b[0m{place}"
        )


class Skeleton(NamedTuple):
    """Every row of a screen."""

    rows: tuple[str, ...]
    """With their colours, as wide as the screen."""
    line: Line | None = None
    """None where there is no room for one."""

    def painted(self, text: str | None) -> str:
        """The sequences that draw all of it, whatever the screen shows; for None with an empty line."""
        rows = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(self.rows, 1))
        return f"{rows}\x1b[0m" + (self.line.painted(text) if self.line and text is not None else "")
