"""The input for messages: several lines, history, completion. Enter sends, pasting never does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from forge_core.sanitize import safe_text
from forge_tui.keymap import KeyContext, bindings
from forge_tui.pastes import chips, folded_text
from forge_tui.pastes.chips import Chips
from forge_tui.terminal import internals
from forge_tui.terminal.caret import CaretTextArea
from forge_tui.widgets.completion import CompletionPopup
from forge_tui.widgets.edges import BORDER, FRAMED_TEXT, MARK_COLUMN
from forge_tui.widgets.key_input import KeyMode, handle_key, is_newline
from forge_tui.widgets.pacing import FramePacer
from forge_tui.widgets.role_strip import draw_over, role_style
from forge_tui.widgets.welcome.welcome_text import MARK, PLACEHOLDER

HISTORY_LIMIT = 1000
"""Messages of this session, and earlier ones, that Up brings back."""
LONGEST = 1_000_000
"""The most characters that a paste may lead to: more than any model reads, and all of them are wrapped."""


@dataclass(frozen=True, slots=True)
class _DrawnFrame:
    """The composer as it was drawn, and what that depended on besides its text."""

    variables: Mapping[str, str]
    key: object
    strips: Sequence[Strip]


class Recall:
    """What Up brings back, and the place in it: earlier messages of the folder, those of this session, and
    the draft."""

    def __init__(self) -> None:
        self._earlier: dict[str, None] = {}
        """Messages of earlier sessions, each once, the oldest first."""
        self._sent: list[str] = []
        self._back = 0
        """How many messages before the draft the composer is."""
        self._draft = ""
        self._pasted: set[str] = set()

    def add(self, text: str, *, has_paste: bool = False) -> None:
        """Add a message, `has_paste` if any part of it may have been pasted. The composer is empty."""
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent, text][-HISTORY_LIMIT:]
            self._pasted.intersection_update(self._sent)
        if has_paste:
            self._pasted.add(text)
        else:
            self._pasted.discard(text)
        self._earlier.pop(text, None)
        self._back = 0

    def set_earlier(self, texts: Iterable[str]) -> None:
        """Set the messages of earlier sessions, the oldest first; of equal ones the last counts."""
        sent, found = set(self._sent), dict.fromkeys(reversed([*texts]))
        newest = [text for text in found if text not in sent][:HISTORY_LIMIT]
        self._earlier = dict.fromkeys(reversed(newest))

    def step(self, by: int, text: str) -> str | None:
        """Return the message `by` places later, or None if there is none; `text` is what the composer holds,
        which comes back as the draft."""
        messages = [*self._earlier, *self._sent]
        back = min(max(self._back - by, 0), len(messages))
        if back == self._back:
            return None
        if not self._back:
            self._draft = text
        self._back = back
        return messages[-back] if back else self._draft

    def was_pasted(self, text: str) -> bool:
        """Return whether any part of a message of this session may have been pasted."""
        return text in self._pasted


class Composer(CaretTextArea):
    """The input. Grows from one line to eight; the cursor does not blink."""

    DEFAULT_CSS = f"""
    Composer {{
        padding: 0 1 0 {FRAMED_TEXT};
        height: auto; min-height: 3; max-height: 10;
        color: $foreground;
        background: $background;
        border: round $forge-faint;
        scrollbar-size-vertical: 1;
        &:focus {{ border: round $mode-ask; }}
        &.-accept-edits:focus {{ border: round $mode-accept-edits; }}
        &.-plan:focus {{ border: round $mode-plan; }}
        &.-auto:focus {{ border: round $mode-auto; }}
        &.-yolo:focus {{ border: round $mode-yolo; }}
        &.-shell:focus {{ border: round $warning; border-title-color: $warning; }}
        &.-shell > .composer--mark {{ color: $warning; }}
        & > .composer--mark {{ color: $forge-user; text-style: bold; }}
        & .text-area--placeholder {{ color: $forge-muted; }}
        & .text-area--cursor {{ color: $background; background: $foreground; text-style: none; }}
        &:light .text-area--cursor {{ color: $background; background: $foreground; }}
        & .composer--chip {{ color: $accent; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--chip", "composer--mark"}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(KeyContext.COMPOSER)]

    class Submitted(Message):
        """Enter was pressed."""

        def __init__(self, text: str, *, has_paste: bool = True) -> None:
            super().__init__()
            self.text = text
            """With folded parts: see `folded_text`."""
            self.has_paste = has_paste
            """Whether any part of it may have been pasted."""

    class PasteRefused(Message):
        """A paste was too long; nothing of it was inserted."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        popup: CompletionPopup,
        recall: Callable[[], str | None],
        may_send: Callable[[], bool],
        on_edit: Callable[[], None] = lambda: None,
        take_paste: Callable[[str], bool] = lambda text: False,
    ) -> None:
        """`recall` removes the last queued message and returns it; `may_send` returns whether Enter sends;
        `on_edit` is called when the text has changed; `take_paste` returns whether it inserts a paste."""
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
        )
        self.cursor_blink = False
        self.first_text = ""
        """Text from before the composer existed; folded parts become chips."""
        for key in ("ctrl+f", "ctrl+v", "ctrl+z"):  # the screen's keys for find, paste and suspend
            internals.unbind(self, key)
        self._popup = popup
        self._recall = recall
        self._may_send = may_send
        self._on_edit, self._take_paste = on_edit, take_paste
        self._mode = ""
        self.recall = Recall()
        self._has_paste = False
        self._chips = Chips()
        self.key_mode: KeyMode | None = None
        self._pacer = FramePacer(time.monotonic)
        self._frame: _DrawnFrame | None = None
        """The frame around the text as drawn last; None if the styles have changed since."""

    def on_mount(self) -> None:
        if self.first_text:
            self.replace_text(self.first_text)

    def show_mode(self, mode: str) -> None:
        """Draw the border in the colour of the permission mode; the status bar has its name."""
        if mode != self._mode:
            self.remove_class(f"-{self._mode}")
            self.add_class(f"-{mode}")
            self._mode = mode

    @property
    def is_blank(self) -> bool:
        return not self.text

    @property
    def typed(self) -> str:
        """The text with folded parts in place of chips: see `folded_text`."""
        return self._chips.unfold(self.text)

    @property
    def has_chips(self) -> bool:
        return folded_text.BEGIN in self.text

    def replace_text(self, text: str) -> None:
        """Replace the text, with the cursor at the end; one step of undo. The text must be safe; folded parts
        become chips."""
        self._has_paste = self._has_paste or folded_text.BEGIN in text
        self.replace(self._chips.fold(text), self.document.start, self.document.end)
        self.move_cursor(self.document.end)

    def replace_edited(self, text: str) -> None:
        """Replace the text by one that was not typed here: see `Submitted.has_paste`."""
        self._has_paste = True
        self.replace_text(text)

    def take(self) -> str:
        """Return the text with folded parts, and clear it."""
        text = self.typed
        self.load_text("")
        if self.key_mode is not None:
            self.key_mode.reset(self._chips.unfold)
        self._chips.clear()
        self._has_paste = False
        return text

    def clear_into_history(self) -> bool:
        """Clear the text; return whether there was any. Up restores it: the key may have been meant for a
        turn that has just ended."""
        has_paste, text = self._has_paste, self.take()
        if is_any := bool(text.strip()):
            self.remember(text, has_paste=has_paste)
        return is_any

    @property
    def cursor_index(self) -> int:
        """The number of characters before the cursor, in the text with folded parts."""
        before = self.get_text_range(self.document.start, self.cursor_location)
        return len(self._chips.unfold(before))

    def restore_draft(self, text: str, cursor: int) -> None:
        """Append text that was typed elsewhere, with the cursor `cursor` characters into it."""
        text, before = safe_text(text, keep_invisible=True), self.typed
        self._has_paste = True
        if len(before) + len(text) > LONGEST:
            self.post_message(self.PasteRefused(text))
            return
        if before and not before[-1].isspace():
            before += " "
        self.replace_text(before + text)
        lines = self._chips.fold(before + text[:cursor]).split("\n")
        self.move_cursor((len(lines) - 1, len(lines[-1])))

    def remember(self, text: str, *, has_paste: bool = False) -> None:
        """Add a message to the history; see `Submitted.has_paste`."""
        self.recall.add(text, has_paste=has_paste)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._on_edit()
        if self._pacer.wait_s() <= 0:  # otherwise with the screen's next tick: keys may come in a burst
            with self._pacer.frame():
                internals.paint_now(self)
        self._follow()  # searching many files may take longer than drawing the key

    def _follow(self, *, waits: bool = False) -> None:
        if (is_shell := self.text.startswith("!")) != self.has_class("-shell"):
            self.border_title = "! your shell" if is_shell else None
            self.set_class(is_shell, "-shell")
            if self.key_mode is not None:
                self.key_mode.show()
        row, column = self.cursor_location
        before = self.document[row][:column] if self.selection.is_empty and not is_shell else ""
        self._popup.follow(self.text if self.cursor_at_end_of_text else "", row, before, waits=waits)

    def notify_style_update(self) -> None:
        self._frame = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        # TextArea looks up all its styles and draws its border at every repaint: most of the cost of a key.
        variables, size, filters = self.app.theme_variables, self.outer_size, self.get_line_filters()
        key = (size, self.show_vertical_scrollbar, self.border_subtitle, filters)
        frame = self._frame
        if crop != size.region or frame is None or frame.variables is not variables or frame.key != key:
            strips = super().render_lines(crop)
            if self.content_size.width > 0:
                mark = (self.key_mode and self.key_mode.mark) or MARK
                style = self.rich_style + role_style(self, "composer", "mark")
                draw_over(strips, MARK_COLUMN - crop.x, BORDER - crop.y, Segment(mark, style))
            self._frame = _DrawnFrame(variables, key, strips) if crop == size.region else None
            return strips
        gutter, width, background = self.gutter, self.content_size.width, self.background_colors[1]
        under = Style.from_color(bgcolor=background.rich_color)
        strips = list(frame.strips)
        for y in range(gutter.top, len(strips) - gutter.bottom):
            line = self.render_line(y - gutter.top).adjust_cell_length(width).apply_style(under)
            for line_filter in filters:
                line = line.apply_filter(line_filter, background)
            drawn = strips[y]
            strips[y] = Strip.join([drawn.crop(0, gutter.left), line, drawn.crop(gutter.left + width)])
        return strips

    def render_line(self, y: int) -> Strip:
        # Textual 8.2.8 wraps the placeholder to a width of 0, and fails.
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    async def _on_key(self, event: events.Key) -> None:
        """Insert typed text, and run our keys."""
        if self.key_mode is not None and self.key_mode.handle(event):
            return
        if is_newline(event.key):
            self.action_newline()
            event.prevent_default()
            event.stop()
        else:
            await handle_key(self, event, lambda text: self._write(folded_text.without_marks(text)))

    async def _on_mouse_release(self, event: events.MouseRelease) -> None:
        # Textual 8.2.8 would continue to select after F9 has taken the mouse away.
        await self._on_hide(events.Hide())

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if not self._take_paste(event.text):
            self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert pasted text, with its control characters made visible; never send it.

        All of it or nothing: half a text in a message is worse than none. A big one becomes a chip.
        """
        if len(text) + len(self.text) + self._chips.size > LONGEST:
            self.post_message(self.PasteRefused(text))
            return
        self._has_paste = True
        text = safe_text(text.replace("\r\n", "\n").replace("\r", "\n"), keep_invisible=True)
        text = folded_text.without_marks(text)
        self.insert_folded(text) if folded_text.is_big(text) else self._write(text)

    def insert_folded(self, text: str) -> None:
        """Insert text, which must be safe to show, as a chip."""
        self._has_paste = True
        self._write(self._chips.fold(folded_text.folded(text)))

    def _write(self, text: str) -> None:
        """Insert text at the cursor, in place of the selection."""
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    # Chips

    def expand_chip(self) -> bool:
        """Replace the chip that the cursor is beside by its text; return whether there is one."""
        row, column = self.cursor_location
        if not self.has_focus or (span := chips.expandable(self.document[row], column)) is None:
            return False
        start, end = (row, span[0]), (row, span[1])
        text = folded_text.plain_text(self._chips.unfold(self.get_text_range(start, end)))
        self.history.checkpoint()
        self.replace(text, start, end, maintain_selection_offset=False)
        return True

    @property
    def selected_text(self) -> str:
        return folded_text.plain_text(self._chips.unfold(super().selected_text))

    def edit(self, edit: Edit) -> EditResult:
        # No edit leaves a part of a chip: what deletes one character of it deletes all of it.
        (top_row, top), (bottom_row, bottom) = edit.top, edit.bottom
        first, last = chips.around(self.document[top_row], top), (bottom, bottom)
        if bottom_row < self.document.line_count:
            last = chips.around(self.document[bottom_row], bottom)
        start, end = (top_row, first[0]), (bottom_row, last[1])
        if (start, end) != (edit.top, edit.bottom):
            if edit.top == edit.bottom:  # an insertion: after the chip
                start = end
            edit = Edit(edit.text, start, end, edit.maintain_selection_offset)
        return super().edit(edit)

    def undo(self) -> None:
        self._leave_for(self.history.undo_stack)
        super().undo()

    def redo(self) -> None:
        self._leave_for(self.history.redo_stack)
        super().redo()

    def _leave_for(self, steps: Sequence[object]) -> None:
        """Move the cursor to where every document has a line: Textual 8.2.8 looks at its line before it
        restores the selection, and fails if undo or redo has removed that line."""
        if steps:
            self.selection = Selection.cursor((0, 0))

    def clamp_visitable(self, location: Location) -> Location:
        row, column = super().clamp_visitable(location)
        before_row, before = self.selection.end
        return row, chips.snapped(self.document[row], column, before if before_row == row else None)

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if found := chips.spans(line.plain):
            line.plain = chips.drawn(line.plain)
            style = self.get_component_rich_style("composer--chip", partial=True)
            for start, end in found:
                line.stylize(style, start, end)
        return line

    def on_resize(self, event: events.Resize) -> None:
        if internals.is_wrapped_to_width(self):
            event.prevent_default()  # Textual wrapped it all when the scroll bar appeared
        self._popup.styles.margin = (0, 0, self.screen.size.height - self.region.y, 0)  # right above

    def action_submit(self) -> None:
        if not self._may_send():
            return
        self._follow(waits=True)  # keys of one burst are handled before the Changed message
        chosen = self._popup.candidate
        if chosen is not None and not chosen.is_sure:
            self.action_complete()
            return
        row, column = self.cursor_location
        if chosen is None and column and self.document[row][column - 1] == "\\" and self.selection.is_empty:
            self.replace("\n", (row, column - 1), (row, column))
            return
        if chosen is not None:
            self.replace_text(safe_text(chosen.line, keep_invisible=True))
        has_paste, text = self._has_paste, self.take()
        self._popup.close("")
        self.post_message(self.Submitted(text, has_paste=has_paste))

    def action_newline(self) -> None:
        self._write("\n")

    def action_complete(self) -> None:
        self._follow(waits=True)
        chosen = self._popup.completion
        if chosen is not None and chosen.column is not None:
            self._popup.taken(chosen)
            row, column = self.cursor_location
            result = self.replace(chosen.line, (row, chosen.column), (row, column))
            self.move_cursor(result.end_location)
        elif chosen is not None:
            self.replace_text(
                safe_text(chosen.line, keep_invisible=True) + (" " if chosen.takes_argument else "")
            )

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
        self._leave_to_screen_when_empty()  # Ctrl+D in an empty input exits
        super().action_delete_right()

    def _leave_to_screen_when_empty(self) -> None:
        if self.is_blank:
            raise SkipAction

    def _is_on_row(self, row: int) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == row

    def _step_history(self, by: int) -> None:
        text = self.recall.step(by, self.typed)
        if text is None:
            return
        self._popup.close(text)
        self._has_paste = self._has_paste or self.recall.was_pasted(text)
        self.replace_text(text)
        if by < 0 and self.wrapped_document.height > 1:
            self.selection = Selection.cursor((0, 0))
