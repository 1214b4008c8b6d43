"""A scroll view over blocks: the transcript, and the pane of the diff viewer.

It paints a `Layout`: only rows that changed are painted, and there is never a layout. Textual's own ways are
bypassed where they cost time per line of history: `virtual_size` and the scroll offset are set without their
watchers (each would reflow the screen), and `render_lines` returns finished strips instead of passing each
row through the styles cache.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import TRANSPARENT
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollTo
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.terminal import internals
from forge_tui.terminal.compositor import DirtyRegionScreen
from forge_tui.terminal.output import depth_of
from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.block_layout import Frame, Layout
from forge_tui.widgets.blockview.finder import Finder
from forge_tui.widgets.blockview.mouse import Mouse
from forge_tui.widgets.blockview.rows import Row
from forge_tui.widgets.blockview.selection import TextSelection
from forge_tui.widgets.blockview.styles import TranscriptStyles

_SCROLLBAR_S = 0.25
"""Between two moves of the scroll bar while blocks are added: each costs a repaint of its column."""
COPIED = "copied"
"""The key of a link's style under which the text is that a click copies, if that is not its URL."""
_PAINTED_ROWS = 300
"""Rows whose strips are kept, if no more than these are visible: with what Textual caches in them, each takes
10 KB."""


class BlockView(ScrollView):
    """A view of blocks, scrolled by the wheel, the bar and the methods below; it needs no focus."""

    DEFAULT_CSS = """
    BlockView {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
    }
    """
    ALLOW_SELECT: ClassVar[bool] = False  # Textual's selection; `Mouse` has ours
    can_focus = False

    class SelectionMade(Message):
        """The mouse has made a new selection."""

    class CopyRequested(Message):
        """A click has asked for a text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class LinkClicked(Message):
        """A click on a link."""

        def __init__(self, url: str, text: str) -> None:
            super().__init__()
            self.url = url
            self.text = text
            """What to copy where the link cannot be opened."""

    new_below: var[bool] = var(False)
    """Whether blocks have been added below what shows, and not been seen yet."""
    find_status: var[str] = var("")
    """ "3/17", "no match", or empty if there is no search."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Layout()
        self.frame = Frame((), (), 0, 0)
        """What was shown last."""
        self.selected: TextSelection | None = None
        self.mouse = Mouse(self)
        self.finder = Finder(self)
        self._painted: tuple[Size, TranscriptStyles | None] = (Size(0, 0), None)
        self._variables: dict[str, str] | None = None
        self._background = TRANSPARENT
        self._finished: deque[Row] = deque()
        """The rows with a strip, the one painted first at the left."""
        self._block_styles: TranscriptStyles | None = None
        self._scrollbar_handle: asyncio.TimerHandle | None = None

    @property
    def at_end(self) -> bool:
        """Whether the view follows the end."""
        return self.model.follows_end

    def reset(self) -> None:
        """Remove all blocks, and forget the selection and what was found."""
        self.mouse.reset()
        self.select(None)
        self.model.clear()
        self.finder.reset()
        self.new_below = False

    # Scrolling

    def scroll_to_end(self) -> None:
        self.model.follows_end = True
        self.show()

    def scroll_to_start(self) -> None:
        self.move(lambda: self.model.jump(0))

    def page(self, direction: int) -> None:
        """Turn the page of a long output in view, otherwise scroll by a screen: up (-1) or down (1)."""
        screen = self.size.height - 2
        y = self._turn_page(direction)
        rows = screen if y is None else y - 1 if direction > 0 else screen - y
        self.scroll_rows(direction * max(1, rows))

    def scroll_rows(self, delta: int) -> None:
        """Scroll by exactly so many rows."""
        self.move(lambda: self.model.scroll(delta))

    def landmark(self, direction: int) -> None:
        """Scroll to the next landmark (a message of the user) before (-1) or after (1) the top; after the
        last one, to the end."""

        def go() -> None:
            block = self.model.landmark(direction)
            if block is not None:
                self.model.move_to(block, self.model.blocks[block].gap)
            elif direction > 0:
                self.model.follows_end = True

        self.move(go)

    def move(self, step: Callable[[], None]) -> None:
        """Scroll by `step`, which acts on the layout."""
        if self._is_ready():
            self._configure()
            step()
            self.show()

    # Selecting

    def selected_text(self) -> str:
        """Return the selected text as logical lines; "" if nothing is selected."""
        return "" if self.selected is None else selecting.selected_text(self.model, self.selected)

    def select(self, selected: TextSelection | None) -> None:
        if selected is not self.selected:
            self.selected = selected
            self.refresh()

    def announce_selection(self) -> None:
        self.post_message(self.SelectionMade())

    def request_copy(self, text: str) -> None:
        self.post_message(self.CopyRequested(text))

    def follow_link(self, x: int, y: int) -> bool:
        """Ask for the link at a cell of the view to be opened; return whether there is one."""
        at = 0
        for segment in self.frame.rows[y].segments:
            at += segment.cell_length
            if x < at:
                style = segment.style
                if style is None or style.link is None:
                    return False
                self.post_message(self.LinkClicked(style.link, style.meta.get(COPIED, style.link)))
                return True
        return False

    # Folding

    @property
    def pointed_block(self) -> int | None:
        """The index of the block under the pointer, or None."""
        if self.mouse.pointer is None or not self.is_mouse_over:
            return None
        self.show()  # blocks added since the last frame may have moved another one there
        place = self.mouse.place_at(self.mouse.pointer[1])
        return None if place is None else place[0]

    def fold_pointed(self) -> bool:
        """Fold or unfold what is under the pointer; return whether anything changed."""
        if self.mouse.pointer is None or self.pointed_block is None:
            return False
        y = self.mouse.pointer[1]
        block, number = self.frame.places[y]
        return self.toggle_at(y, lambda: self.model.blocks[block].fold_at(number))

    def toggle_at(self, y: int, act: Callable[[], bool]) -> bool:
        """Fold or unfold something at row `y` and keep its first row there; return whether it changed."""
        block, number = self.frame.places[y]
        self.model.follows_end = False
        has_changed = act()
        if has_changed:
            self.model.rendered(block)  # `row_to_keep` is known once the block is rendered
            self.model.scroll_to(block, self.model.blocks[block].row_to_keep(number), y)
        self.model.follow_if_at_end()
        self.show()
        return has_changed

    def _turn_page(self, direction: int) -> int | None:
        """Turn the page that a row in view offers; return that row, or None if there is none."""
        if not self._is_ready():
            return None
        self.show()
        places = [(y, *place) for y, place in enumerate(self.frame.places)]
        for y, block, number in places[::direction]:
            if self.model.blocks[block].page_at(number) == direction:
                self.toggle_at(y, lambda: self.model.blocks[block].toggle(number))  # noqa: B023 - called at once
                return y
        return None

    # Frame

    def show(self) -> None:
        """Update the screen; paint only the rows that differ."""
        if self._is_ready():
            self._refresh_rows(self._changed_rows())

    def show_now(self) -> None:
        """Like `show()`, but without waiting for the screen's next tick."""
        if not self._is_ready():
            return
        changed = self._changed_rows()
        screen, styles = self.screen, self._painted[1]
        assert styles is not None, "the frame was made with them"
        if isinstance(screen, DirtyRegionScreen) and screen.paint_rows(self, self._strips(changed, styles)):
            return
        self._refresh_rows(changed)
        internals.paint_now(self)

    def report_exception(self, error: Exception) -> None:
        """Let the app end with an error of an event loop callback."""
        internals.report_exception(self.app, error)

    def _is_ready(self) -> bool:
        return self.is_attached and self.size.width > 0 and self.size.height > 0

    def _changed_rows(self) -> list[int]:
        """Update the frame; return the rows of the view that change."""
        old = self.frame.rows
        self._update_frame()
        new = self.frame.rows
        if self.model.follows_end:
            self.new_below = False
        both = min(len(old), len(new))
        changed = [y for y in range(both) if new[y] is not old[y]]
        changed.extend(range(both, max(len(old), len(new))))
        return changed

    def _refresh_rows(self, rows: list[int]) -> None:
        for first, last in _runs(rows):
            self.refresh(Region(0, first, self._text_width, last - first + 1))

    @property
    def _text_width(self) -> int:
        """Cells beside the scroll bar, which is painted when it moves."""
        return self.size.width - self.scrollbar_size_vertical

    def _configure(self) -> None:
        size, styles = self.size, self._current_styles()
        self._painted = (size, styles)
        self.model.configure(max(1, size.width - self.scrollbar_size_vertical), size.height, styles)

    def _update_frame(self) -> None:
        self._configure()
        self.frame = frame = self.model.frame()
        # Without the watchers, which would reflow the whole screen for each new row.
        self.set_reactive(Widget.virtual_size, Size(self._painted[0].width, frame.total))
        self.set_reactive(Widget.scroll_y, float(frame.offset))
        self.set_reactive(Widget.scroll_target_y, float(frame.offset))
        # The scroll bar follows at most every 0.25 s.
        if self._scrollbar_handle is None:
            loop = asyncio.get_running_loop()
            self._scrollbar_handle = loop.call_later(_SCROLLBAR_S, self._move_scrollbar)

    def _move_scrollbar(self) -> None:
        self._scrollbar_handle = None
        if not self.is_attached or not self.show_vertical_scrollbar:
            return
        bar = self.vertical_scrollbar
        bar.window_virtual_size = self.virtual_size.height
        bar.window_size = self.size.height
        bar.position = self.scroll_y

    def _current_styles(self) -> TranscriptStyles:
        background = self.background_colors[1]
        # App.get_css_variables() returns a new dict for every theme, so comparing identities is enough.
        variables = self.app.theme_variables
        styles = self._block_styles
        if styles is None or self._variables is not variables or self._background != background:
            self._variables, self._background = variables, background
            new = TranscriptStyles.from_theme(variables, background, depth_of(self.app))
            if new != styles:
                self._block_styles = styles = new
        assert styles is not None
        return styles

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return finished strips, without the styles cache: there is no border, padding or tint here."""
        if not self._is_ready():
            return [Strip.blank(crop.width)] * crop.height
        styles = self._current_styles()
        if self._painted != (self.size, styles):
            self._update_frame()
        width = self.size.width
        strips = [
            strip.adjust_cell_length(width, styles.base) for _, strip in self._strips(crop.line_range, styles)
        ]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _strips(self, rows: Iterable[int], styles: TranscriptStyles) -> list[tuple[int, Strip]]:
        """Return rows of the view as they are painted beside the scroll bar."""
        width = self._text_width
        strips = [(y, self._strip(y, width, styles)) for y in rows]
        for line_filter in self.get_line_filters():
            strips = [(y, strip.apply_filter(line_filter, self._background)) for y, strip in strips]
        return strips

    def _strip(self, y: int, width: int, styles: TranscriptStyles) -> Strip:
        if y >= len(self.frame.rows):
            return Strip.blank(width, styles.base)
        row = self.frame.rows[y]
        segments = self._highlighted(row, self.frame.places[y][0], styles)
        if segments is not row.segments:
            return _finished(segments, width, styles.base)
        if row.final is None:
            row.final = _finished(row.segments, width, styles.base)
            self._finished.append(row)
            while len(self._finished) > max(_PAINTED_ROWS, 2 * self.size.height):
                self._finished.popleft().final = None
        return row.final

    def _highlighted(self, row: Row, block: int, styles: TranscriptStyles) -> list[Segment]:
        """Return the row's segments with the selection and the matches marked."""
        segments = row.segments
        if self.selected is not None:
            side = selecting.side_of(self.model, self.selected)
            segments = selecting.highlighted(row, block, self.selected, side, styles.selection)
        return self.finder.highlighted(segments, row, block, styles)

    # Events

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll a short way by exact rows, a long way to the estimated position.

        Both ends are reached exactly, although the total of rows may be an estimate.
        """
        if not self._is_ready():
            return
        row = round(new_value)
        delta = row - self.frame.offset
        # Up to two screens away, rows are exact; farther away, rendering all on the way would take too long.
        is_inside = 0 < row < self.frame.total - self.size.height
        self._configure()
        if not delta or (is_inside and abs(delta) <= 2 * self.size.height):
            self.model.scroll(delta)
        else:
            self.model.jump(row)
        self.show()
        self._move_scrollbar()

    def on_resize(self, event: events.Resize) -> None:
        self.show()

    def on_unmount(self) -> None:
        self.finder.cancel()
        if self._scrollbar_handle is not None:
            self._scrollbar_handle.cancel()

    def _on_scroll_to(self, message: ScrollTo) -> None:
        """Scroll to an end if the bar is dragged there: its thumb covers more than its share of rows."""
        if not self.vertical_scrollbar.grabbed:
            return
        y = self.app.mouse_position.y - self.region.y
        if 0 < y < self.size.height - 1:
            return
        message.stop()
        message.prevent_default()
        (self.scroll_to_start if y <= 0 else self.scroll_to_end)()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.mouse.wheel(event, -1)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.mouse.wheel(event, 1)

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        self.mouse.press(event)

    def _on_mouse_move(self, event: events.MouseMove) -> None:
        self.mouse.move(event)

    async def _on_mouse_up(self, event: events.MouseUp) -> None:
        self.mouse.release(event)

    def _on_mouse_release(self, event: events.MouseRelease) -> None:
        self.mouse.stop_selecting()

    def _on_leave(self, event: events.Leave) -> None:
        if event.node is self:
            self.mouse.leave()

    async def _on_click(self, event: events.Click) -> None:
        self.mouse.click(event)


def _finished(segments: list[Segment], width: int, base: Style) -> Strip:
    used = sum(segment.cell_length for segment in segments)
    if used > width:
        return Strip(segments).adjust_cell_length(width).apply_style(base)
    # Same result as the line above, but one Strip instead of three: each has half a dozen caches.
    styled = [Segment(text, base + style if style is not None else base) for text, style, _ in segments]
    if used < width:
        styled.append(Segment(" " * (width - used), base))
    return Strip(styled, width)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as ranges without gaps, both ends included."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
