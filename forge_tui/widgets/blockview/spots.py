"""Places in the text of a transcript that are held on to while blocks, widths and rows change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from forge_tui.widgets.blockview.rows import NO_LINE, Row


@dataclass(slots=True, eq=False, weakref_slot=True)
class Spot:
    """A character of a logical line. A layout that holds it moves it with its text."""

    block: int
    line: int
    at: int

    @property
    def order(self) -> tuple[int, int, int]:
        """For telling which of two comes first."""
        return self.block, self.line, self.at

    def copy(self) -> Spot:
        return Spot(self.block, self.line, self.at)


@dataclass(slots=True, eq=False)
class Hold:
    """What stands at the top of the screen, by its text."""

    spot: Spot
    """The first character of the first row with text, or the end of the last one where none follows; its line
    is NO_LINE where the block has no text."""
    above: int
    """Rows from the top to that row."""
    top: tuple[int, int]
    """Block and row where that was found last."""
    shape: object
    """What the block's rows depended on then; None where they must be looked at again."""


def hold_of(rows: Sequence[Row], block: int, row: int, shape: object) -> Hold:
    """What row `row` of a block shows, to be found again by `row_of_hold`."""
    around = chain(range(row, len(rows)), range(min(row, len(rows)) - 1, -1, -1))
    number = next((number for number in around if rows[number].line != NO_LINE), None)
    if number is None:
        return Hold(Spot(block, NO_LINE, 0), 0, (block, row), shape)
    at = rows[number].start if number >= row else rows[number].end
    return Hold(Spot(block, rows[number].line, at), number - row, (block, row), shape)


def row_of_hold(rows: Sequence[Row], hold: Hold) -> int:
    """The row that now shows what was held."""
    if hold.spot.line == NO_LINE:
        return min(hold.top[1], max(0, len(rows) - 1))
    row = row_of(rows, hold.spot.line, hold.spot.at) - hold.above
    return min(max(0, row), max(0, len(rows) - 1))


def row_of(rows: Sequence[Row], line: int, at: int) -> int:
    """The row that shows character `at` of a logical line, or the nearest one before."""
    nearest, exact = 0, -1
    for number, row in enumerate(rows):
        for part in row.parts:
            if part.line != NO_LINE and (part.line, part.start) <= (line, at):
                nearest = number
                exact = number if part.line == line else exact
    return nearest if exact < 0 else exact
