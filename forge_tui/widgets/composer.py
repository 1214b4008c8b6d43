"""Where the person writes: several lines, history, completion. Enter sends, a paste never does."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from forge_core.sanitize import safe_text
from forge_tui.keymap import Where, bindings
from forge_tui.widgets.completion import CompletionPopup

PLACEHOLDER = "Ask about this folder, or say what to change"
HISTORY_LIMIT = 1000


def nothing_queued() -> str | None:
    """No message waits."""
    return None


class Composer(TextArea):
    """The input. Grows from one line to eight; the cursor does not blink."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 10;
        padding: 0 1;
        color: $foreground;
        background: $background;
        border: round $forge-faint;
        scrollbar-size-vertical: 1;
        &:focus { border: round $forge-muted; }
        & .text-area--placeholder { color: $forge-muted; }
        & .text-area--cursor { color: $background; background: $foreground; text-style: none; }
        &:light .text-area--cursor { color: $background; background: $foreground; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.COMPOSER)]

    class Submitted(Message):
        """Enter was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        popup: CompletionPopup,
        recall: Callable[[], str | None] = nothing_queued,
    ) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
        )
        self.cursor_blink = False
        self._popup = popup
        self._recall = recall
        self._history: list[str] = []
        self._position = 0
        """Index into the history; its length means the draft."""
        self._draft = ""

    @property
    def is_blank(self) -> bool:
        return not self.text

    def replace_text(self, text: str) -> None:
        """Put other text in, the cursor at its end; one step of undo."""
        self.replace(text, self.document.start, self.document.end)
        self.move_cursor(self.document.end)

    def take(self) -> str:
        """The text, which is then cleared."""
        text = self.text
        self.load_text("")
        return text

    def remember(self, text: str) -> None:
        """Add a sent line to the history."""
        if not self._history or self._history[-1] != text:
            self._history = [*self._history, text][-HISTORY_LIMIT:]
        self._position = len(self._history)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._follow()

    def _follow(self) -> None:
        self._popup.follow(self.text if self.cursor_at_end_of_text else "")
        if self._popup.is_open:  # it floats right above, and nothing else moves
            self._popup.styles.margin = (0, 2, self.screen.size.height - self.region.y, 2)

    async def _on_key(self, event: events.Key) -> None:
        """Carry out our keys at once: a binding's way through the app would let later letters overtake it."""
        if event.key.endswith("\r"):  # Enter with a modifier, as xterm's modifyOtherKeys reports it
            self.action_newline()
        elif not await self._run_bound(event.key):
            return
        event.prevent_default()
        event.stop()

    async def _run_bound(self, key: str) -> bool:
        """Whether an action of ours is bound to this key and took it."""
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert what was pasted, its control characters made visible, and never submit."""
        event.prevent_default()
        event.stop()
        text = safe_text(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        start, end = self.selection
        result = self.replace(text, start, end, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def action_submit(self) -> None:
        self._follow()  # keys that came in one burst overtake the Changed message
        chosen = self._popup.candidate
        if chosen is not None and not chosen.is_sure:
            self.action_complete()
            return
        row, column = self.cursor_location
        if chosen is None and column and self.document[row][column - 1] == "\\" and self.selection.is_empty:
            self.replace("\n", (row, column - 1), (row, column))
            return
        if chosen is not None:
            self.replace_text(chosen.line)
        text = self.take()
        self._popup.close("")
        self.post_message(self.Submitted(text))

    def action_newline(self) -> None:
        start, end = self.selection
        result = self.replace("\n", start, end, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def action_complete(self) -> None:
        self._follow()
        chosen = self._popup.candidate
        if chosen is not None:
            self.replace_text(chosen.line + (" " if chosen.takes_argument else ""))

    def action_cursor_up(self, select: bool = False) -> None:
        if self._popup.is_open and not select:
            self._popup.move(-1)
        elif select or not self._is_on_row(0):
            super().action_cursor_up(select)
        elif self.is_blank and (queued := self._recall()) is not None:
            self.replace_text(queued)
        else:
            self._step_history(-1)

    def action_cursor_down(self, select: bool = False) -> None:
        if self._popup.is_open and not select:
            self._popup.move(1)
        elif select or not self._is_on_row(self.wrapped_document.height - 1):
            super().action_cursor_down(select)
        else:
            self._step_history(1)

    def action_cursor_line_start(self, select: bool = False) -> None:
        self._leave_to_screen_when_empty()
        super().action_cursor_line_start(select)

    def action_cursor_line_end(self, select: bool = False) -> None:
        self._leave_to_screen_when_empty()
        super().action_cursor_line_end(select)

    def action_cursor_page_up(self) -> None:
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        raise SkipAction

    def action_copy(self) -> None:
        raise SkipAction  # Ctrl+C has several meanings: the screen decides

    def action_delete_right(self) -> None:
        self._leave_to_screen_when_empty()  # Ctrl+D on nothing leaves
        super().action_delete_right()

    def _leave_to_screen_when_empty(self) -> None:
        if self.is_blank:
            raise SkipAction

    def _is_on_row(self, row: int) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == row

    def _step_history(self, by: int) -> None:
        position = min(max(self._position + by, 0), len(self._history))
        if position == self._position:
            return
        if self._position == len(self._history):
            self._draft = self.text
        self._position = position
        text = self._history[position] if position < len(self._history) else self._draft
        self._popup.close(text)
        self.replace_text(text)
        if by < 0:
            self.selection = Selection.cursor((0, 0))
