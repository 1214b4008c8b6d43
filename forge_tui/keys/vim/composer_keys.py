"""Connects the Vim engine to the composer: its keys, its selection, its undo history and its chips."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.widgets.text_area import Location, Selection

from forge_tui.keys.vim.engine import Mode, Vim
from forge_tui.keys.vim.text import Lines, Position, characters, to_lines, to_text
from forge_tui.pastes.folded_text import plain_text
from forge_tui.terminal.cursor_shape import CursorShape

if TYPE_CHECKING:
    from forge_tui.widgets.completion import CompletionPopup
    from forge_tui.widgets.composer import Composer

_NAMED = {
    "backspace": "backspace",
    "delete": "delete",
    "ctrl+r": "ctrl+r",
    "left": "h",
    "right": "l",
}
"""Textual's names of keys that type nothing, and what they are to the engine."""
COPY_KEYS = ("ctrl+c", "super+c")
_VISUAL_NAMED = {"up": "k", "down": "j", "home": "0", "end": "$"}


def turn_vim(is_on: bool, composer: Composer, popup: CompletionPopup, longest: int) -> None:
    """Turn the keys of Vim on or off in the composer; on, the message is in insert mode."""
    if isinstance(composer.key_mode, VimKeys):
        composer.key_mode.show(is_over=True)
    composer.key_mode = VimKeys(composer, popup, longest) if is_on else None
    if composer.key_mode is not None:
        composer.key_mode.show()


class VimKeys:
    """Handles the composer's keys in Vim's modes. Enter and the app's own keys remain what they are."""

    def __init__(self, composer: Composer, popup: CompletionPopup, longest: int) -> None:
        """`popup` is closed with insert mode; `longest` is the most characters that the composer may hold."""
        self._composer = composer
        self._popup = popup
        self._longest = longest
        self._vim = Vim(lambda: composer.app.clipboard, composer.app.copy_to_clipboard)
        self._shown: Selection | None = None
        """The selection as this set it, for a cursor that the composer cannot show."""

    @property
    def mark(self) -> str:
        """The first letter of the mode; empty in insert mode."""
        return self._vim.mode[:1]

    def reset(self, unfold: Callable[[str], str]) -> None:
        """Begin a new message in insert mode. Chips in the register become text."""
        self._vim.reset(lambda text: plain_text(unfold(text)))
        self.show()

    def show(self, *, is_over: bool = False) -> None:
        """Name the mode in the border, unless it is insert mode, in which the cursor is a bar; `is_over` ends
        both."""
        shell = "! your shell" if self._composer.has_class("-shell") else ""
        title = " · ".join(filter(None, (shell, "" if is_over else self._vim.mode))) or None
        is_insert = not is_over and self._vim.mode is Mode.INSERT
        self._composer.caret_shape = CursorShape.BAR if is_insert else CursorShape.BLOCK
        if title != self._composer.border_title:
            self._composer.border_title = title
            self._composer.notify_style_update()

    def handle(self, event: events.Key) -> bool:
        """Handle a key; return False if it is not Vim's in this mode."""
        if not self._handle(event):
            return False
        event.prevent_default()
        event.stop()
        if event.key == "escape":
            self._popup.close(self._composer.text)
        return True

    def _handle(self, event: events.Key) -> bool:
        vim = self._vim
        key = self._key(event)
        if key == "escape":
            if vim.mode is Mode.NORMAL and not vim.pending:
                return False
        elif vim.mode is Mode.INSERT:
            return False
        if not key and not (event.key in COPY_KEYS and vim.mode.is_visual):
            vim.forget_keys()
            return False
        self._load()
        if not key:  # the selection that the composer shows lacks the character under the cursor
            for key in '"+y':
                vim.press(key)
            self._show()
            return True
        if vim.mode is Mode.NORMAL and not vim.pending and self._steps_history(key):
            return True
        outcome = vim.press(key)
        if outcome.undo:
            self._undo(outcome.undo)
        else:
            self._show()
        return True

    def _key(self, event: events.Key) -> str:
        """Return the engine's name of a key; "" for one that it does not know."""
        if event.key == "escape":
            return event.key
        if event.key == "enter" and self._vim.pending:
            return event.key
        if self._vim.mode.is_visual and event.key in _VISUAL_NAMED:
            return _VISUAL_NAMED[event.key]
        return _NAMED.get(event.key) or ((event.character or "") if event.is_printable else "")

    def _steps_history(self, key: str) -> bool:
        """Show another message for k on the first line and j on the last; return whether it was that."""
        row, rows = self._vim.cursor.row, len(self._vim.lines)
        if key == "k" and row == 0:
            self._composer.action_cursor_up()
        elif key == "j" and row == rows - 1:
            self._composer.action_cursor_down()
        else:
            return False
        self._load()
        self._show()
        return True

    def _load(self) -> None:
        """Read the composer's text and cursor."""
        self._vim.lines = to_lines(self._composer.text)
        if self._composer.selection != self._shown:
            self._vim.move_to(self._position(self._composer.cursor_location))

    def _show(self) -> None:
        """Change the composer's text, as one step of undo, and its selection."""
        composer, vim = self._composer, self._vim
        old, new = composer.text.split("\n"), to_text(vim.lines).split("\n")
        if old != new and sum(map(len, new)) + len(new) <= self._longest:
            first = 0
            while first < min(len(old), len(new)) - 1 and old[first] == new[first]:
                first += 1
            last = 0
            while last < min(len(old), len(new)) - first - 1 and old[-1 - last] == new[-1 - last]:
                last += 1
            end = len(old) - 1 - last
            composer.history.checkpoint()
            composer.replace("\n".join(new[first : len(new) - last]), (first, 0), (end, len(old[end])))
            composer.history.checkpoint()
        composer.selection = self._selection()
        self._shown = composer.selection
        composer.scroll_cursor_visible()
        self.show()

    def _undo(self, steps: int) -> None:
        before = self._vim.lines
        for _ in range(abs(steps)):
            if steps > 0:
                self._composer.undo()
            else:
                self._composer.redo()
        self._load()
        self._vim.return_to(_first_difference(before, self._vim.lines))
        self._show()

    def _selection(self) -> Selection:
        """Return what the composer shows as selected: the cursor's own cell is part of a selection."""
        vim = self._vim
        cursor, anchor = self._location(vim.cursor), self._location(vim.anchor)
        if vim.mode is Mode.VISUAL_LINE:
            first, last = sorted((vim.anchor.row, vim.cursor.row))
            begin, end = (first, 0), (last, sum(map(len, vim.lines[last])))
            return Selection(begin, end) if vim.cursor.row == last else Selection(end, begin)
        if vim.mode is Mode.VISUAL:
            if cursor < anchor:
                anchor = self._location(vim.anchor.to_column(vim.anchor.column + 1))
            return Selection(anchor, cursor)
        return Selection.cursor(cursor)

    def _location(self, position: Position) -> Location:
        """Return the composer's location, which counts code points."""
        row = min(position.row, len(self._vim.lines) - 1)
        return row, sum(map(len, self._vim.lines[row][: position.column]))

    def _position(self, location: Location) -> Position:
        row, column = location
        return Position(row, len(characters(self._composer.document[row][:column])))


def _first_difference(before: Lines, after: Lines) -> Position:
    row = next(
        (row for row, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None
    )
    if row is None:
        return Position(min(len(before), len(after) - 1), 0)
    pairs = zip(before[row], after[row], strict=False)
    shorter = min(len(before[row]), len(after[row]))
    return Position(row, next((column for column, (one, other) in enumerate(pairs) if one != other), shorter))
