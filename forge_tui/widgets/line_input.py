"""Inputs of one line, for prompts."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from forge_core.sanitize import safe_line
from forge_tui.widgets.key_input import handle_key

NEWLINE = safe_line("\n")
"""The symbol for a newline in a line."""


class LineInput(Input):
    """One line, without a border or a blinking cursor; pasted text becomes one line, safe to show."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus {
        border: none;
        padding: 0 2;
        height: 1;
        background: $panel;
    }
    """

    keeps_invisible = True
    """Whether characters that show nothing are pasted as they are."""

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        """Run the line's keys, and insert characters that Textual's Input ignores."""
        await handle_key(self, event, self.write)

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        line = " ".join(part.strip() for part in event.text.splitlines() if part.strip())
        self.write(safe_line(line, keep_invisible=self.keeps_invisible))

    def write(self, text: str) -> None:
        """Insert text at the cursor, in place of the selection. The text must be safe to show."""
        self.replace(text, *self.selection)


class DrivenLine(LineInput, can_focus=False):
    """A line whose owner has the focus and passes the keys on; it looks focused."""

    def begin(self, text: str, cursor: int) -> None:
        """Set the text and show the cursor. The text must be safe to show."""
        self.value = text
        self.cursor_position = cursor
        self.has_focus = True

    def end(self) -> None:
        """Hide the cursor."""
        self.has_focus = False


class LabelledLine(Horizontal):
    """A line with a label before it."""

    DEFAULT_CSS = """
    LabelledLine {
        height: 1;
        background: $panel;
        & > Static { width: auto; padding: 0 0 0 2; background: $panel; color: $accent; }
        & > DrivenLine, & > DrivenLine:focus { width: 1fr; padding: 0 2 0 1; background-tint: transparent; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.input = DrivenLine()
        self._label = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.input

    @property
    def label(self) -> str:
        """The label; never untrusted text."""
        return str(self._label.content)

    @label.setter
    def label(self, label: str) -> None:
        self._label.update(Content(label))
