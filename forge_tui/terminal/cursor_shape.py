"""The looks of the terminal's own cursor. Standard library only."""

from __future__ import annotations

import os
from enum import Enum


class CursorShape(Enum):
    """A steady cursor, or none; the value is the parameter of DECSCUSR."""

    HIDDEN = -1
    BLOCK = 2
    BAR = 6


SHOW, HIDE = "\x1b[?25h", "\x1b[?25l"
_HAS_SHAPES = os.environ.get("TERM") != "linux"
"""Older consoles of Linux would print a part of the sequence."""
RESET_SHAPE = "\x1b[0 q" if _HAS_SHAPES else ""
"""Selects the shape that the user has configured."""


def cursor_code(shape: CursorShape) -> str:
    """Return the sequences that show the cursor in a shape, or hide it."""
    if shape is CursorShape.HIDDEN:
        return HIDE
    return f"\x1b[{shape.value} q{SHOW}" if _HAS_SHAPES else SHOW
