"""A line to write in, where a prompt asks for words."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from forge_core.sanitize import safe_line
from forge_tui.widgets.bound_keys import run_bound
from forge_tui.widgets.typed_text import typed_text


class LineInput(Input):
    """One line, without a border or a blinking cursor; what is pasted comes in as one line, safe to show."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus {
        border: none;
        padding: 0 2;
        height: 1;
        background: $panel;
    }
    """

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False

    def begin(self, text: str, placeholder: str = "") -> None:
        """Take the keys, with this to start from. Only for text that is safe to show."""
        self.placeholder = placeholder
        self.value = text
        self.cursor_position = len(text)
        self.focus()

    async def _on_key(self, event: events.Key) -> None:
        """Carry out the line's keys, and write what Textual's own line leaves out."""
        if not await run_bound(self, event.key):
            if event.is_printable or not (text := typed_text(event)):
                return  # Input sees to it
            self.replace(text, *self.selection)
        event.prevent_default()
        event.stop()

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        line = " ".join(part.strip() for part in event.text.splitlines() if part.strip())
        self.replace(safe_line(line), *self.selection)
