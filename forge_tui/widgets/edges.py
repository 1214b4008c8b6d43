"""The two columns at which everything on the screen begins. Does not import Textual: the launcher uses them.

Columns count from 0, at the left edge of the screen or of a panel's border.
"""

from __future__ import annotations

MARK_COLUMN = 1
"""Of marks: the signs of cards, the spinner, the bar beside a message, the sign of what is selected."""
TEXT_COLUMN = 3
"""Of text."""
RIGHT_MARGIN = 2
"""Cells left free at the right of text without a border."""
BORDER = 1
FRAMED_TEXT = TEXT_COLUMN - BORDER
"""Cells between a border and text."""
TEXT_INSET = TEXT_COLUMN - MARK_COLUMN
"""Cells from a mark to its text."""
