"""The terminal's own cursor at the caret of the text that is edited: input methods show their window there.

Relies on `TextArea._draw_cursor` of Textual 8.2.8, which decides whether the cursor is drawn.
"""

from __future__ import annotations

from textual.geometry import Offset
from textual.widgets import TextArea

from forge_tui.terminal.cursor_shape import CursorShape


class CaretTextArea(TextArea):
    """A text area whose caret is the terminal's own cursor where the app shows that, and else is drawn."""

    caret_shape: CursorShape = CursorShape.BLOCK

    @property
    def _draw_cursor(self) -> bool:
        return super()._draw_cursor and not getattr(self.app, "has_terminal_cursor", False)

    def caret(self) -> Offset:
        """Return the cell of the caret on the screen, within the text that shows."""
        x, y = self.cursor_screen_offset
        left, top, width, height = self.content_region
        return Offset(min(max(x, left), left + width), min(max(y, top), top + max(height - 1, 0)))
