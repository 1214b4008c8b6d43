"""The find bar. It takes the place of the activity line, and moves nothing."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from forge_core.text_width import cell_len, clip
from forge_tui.keymap import KeyContext, bindings
from forge_tui.keys.effective import effective_keys
from forge_tui.terminal import internals
from forge_tui.widgets.activity import mouse_released
from forge_tui.widgets.edges import RIGHT_MARGIN, TEXT_COLUMN
from forge_tui.widgets.line_input import LineInput
from forge_tui.widgets.role_strip import role_strip

STATUS_CELLS = 18
_ROOM_FOR_HINTS = 96
"""Cells of the bar from which the keys are shown."""


class FindLine(LineInput):
    """The text to find."""

    DEFAULT_CSS = """
    FindLine, FindLine:focus { width: 1fr; padding: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.FIND)]
    keeps_invisible = False  # the conversation, in which it is looked for, makes them visible

    class Stepped(Message):
        """Go to the match before (-1) or after (1)."""

        def __init__(self, direction: int) -> None:
            super().__init__()
            self.direction = direction

    class Closed(Message):
        """Finding has ended."""

        def __init__(self, *, is_kept: bool) -> None:
            super().__init__()
            self.is_kept = is_kept
            """Whether the view stays at the match."""

    def __init__(self) -> None:
        super().__init__()
        internals.unbind(self, "ctrl+f")

    def action_older(self) -> None:
        self.post_message(self.Stepped(-1))

    def action_newer(self) -> None:
        self.post_message(self.Stepped(1))

    def action_close(self) -> None:
        self.post_message(self.Closed(is_kept=True))

    def action_go_back(self) -> None:
        self.post_message(self.Closed(is_kept=False))


class FindStatus(Widget):
    """The number of matches, and the keys; a note replaces both for a moment."""

    DEFAULT_CSS = """
    FindStatus {
        height: 1;
        width: 18;
        color: $forge-muted;
        &.-wide, &.-note { width: 57; }
        &.-note { max-width: 75%; color: $foreground; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._status = ""
        self._note = ""
        self._is_mouse_released = False

    def show(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self.refresh()

    def show_note(self, text: str) -> None:
        """Show a note until it is set to ""."""
        self._note = text
        self.set_class(bool(text), "-note")
        self.refresh()

    def show_mouse_released(self, is_released: bool) -> None:
        """Show whether the terminal has the mouse."""
        self._is_mouse_released = is_released
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        text = clip(self._note or self._status_text(width), width)
        return role_strip(self, "find", [("plain", " " * max(0, width - cell_len(text)) + text)])

    def _status_text(self, width: int) -> str:
        status = clip(self._status, STATUS_CELLS)
        if width <= STATUS_CELLS:
            return f"{status} · F9" if self._is_mouse_released else status
        hints = mouse_released()[0] if self._is_mouse_released else _hints()
        return f"{status}{' ' * (STATUS_CELLS - cell_len(status))}   {hints}"


def _hints() -> str:
    """Return the keys of the bar."""
    keys = effective_keys()
    older, newer = keys.hint("Enter", "find.previous_match"), keys.hint("Down", "find.next_match")
    return f"{older} older · {newer} newer · {keys.hint('Esc', 'find.close')} close"


class FindBar(Horizontal):
    """The text to find, and the result."""

    DEFAULT_CSS = f"""
    FindBar {{
        padding: 0 {RIGHT_MARGIN} 0 {TEXT_COLUMN};
        height: 1;
        & > Static {{ width: 4; color: $accent; }}
    }}
    """

    class Changed(Message):
        """The text to find has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.line = FindLine()
        self.status = FindStatus()

    def compose(self) -> ComposeResult:
        yield Static("Find", markup=False)
        yield self.line
        yield self.status

    def begin(self) -> None:
        """Take the focus. The last text is selected, to be used again or typed over."""
        self.line.placeholder = "in the conversation"
        self.screen.set_focus(self.line)  # `focus()` is deferred, and the next letters would be lost
        self.line.select_all()

    def on_resize(self) -> None:
        self.status.set_class(self.size.width >= _ROOM_FOR_HINTS, "-wide")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())
