"""What the screen shows of a transcript at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge_tui.widgets.blockview.rows import Row


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows in the window, and where they come from."""

    rows: Sequence[Row]
    """From the top; fewer than the screen's height where the transcript is shorter."""
    places: Sequence[tuple[int, int]]
    """Block and row of each."""
    offset: int
    """Rows above the first one, as far as is known."""
    total: int
    """Rows in all, as far as is known."""
