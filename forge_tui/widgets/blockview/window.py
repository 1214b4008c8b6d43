"""The scroll view that paints a `Layout`: only rows that changed are painted, nothing is ever laid out.

Textual's own ways are gone round where they cost per line of history: `virtual_size` and the scroll offset
are set without their watchers (each would reflow the screen), and `render_lines` hands out finished strips
instead of passing each row through the styles cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import TRANSPARENT
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.terminal import internals
from forge_tui.terminal.compositor import FrugalScreen
from forge_tui.widgets.blockview import selection as selecting
from forge_tui.widgets.blockview.frame import Frame
from forge_tui.widgets.blockview.layout import Layout
from forge_tui.widgets.blockview.rows import Row
from forge_tui.widgets.blockview.selection import Selected
from forge_tui.widgets.blockview.styles import TranscriptStyles

_SCROLLBAR_S = 0.25
"""Between two moves of the scroll bar while the transcript grows: each costs a repaint of its column."""


class Window(ScrollView):
    """A window onto blocks. Scrolls by wheel, bar and the methods below; needs no focus."""

    DEFAULT_CSS = """
    Window {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
    }
    """
    ALLOW_SELECT: ClassVar[bool] = False  # Textual's way of selecting; `Pointing` has our own
    can_focus = False

    new_below: var[bool] = var(False)
    """Whether something was added below what shows, not seen yet."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.model = Layout()
        self.selected: Selected | None = None
        self._frame = Frame((), (), 0, 0)
        self._painted: tuple[Size, TranscriptStyles | None] = (Size(0, 0), None)
        self._variables: dict[str, str] | None = None
        self._background = TRANSPARENT
        self._transcript_styles: TranscriptStyles | None = None
        self._scrollbar_handle: asyncio.TimerHandle | None = None

    @property
    def at_end(self) -> bool:
        """Whether the end is followed."""
        return self.model.follows_end

    def scroll_to_end(self) -> None:
        self.model.follows_end = True
        self.show()

    def scroll_to_start(self) -> None:
        self._move(lambda: self.model.jump(0))

    def page_up(self) -> None:
        self.scroll_rows(-max(1, self.size.height - 2))

    def page_down(self) -> None:
        self.scroll_rows(max(1, self.size.height - 2))

    def scroll_rows(self, delta: int) -> None:
        """Scrolls by exactly so many rows."""
        self._move(lambda: self.model.scroll(delta))

    def landmark(self, direction: int) -> None:
        """Brings the nearest thing that the person sent before (-1) or after (1) the top there; after the
        last one comes the end."""

        def go() -> None:
            block = self.model.landmark(direction)
            if block is not None:
                self.model.move_to(block, self.model.blocks[block].gap)
            elif direction > 0:
                self.model.follows_end = True

        self._move(go)

    def selected_text(self) -> str:
        """What is selected here, as logical lines; "" when nothing is."""
        return "" if self.selected is None else selecting.selected_text(self.model, self.selected)

    def select(self, chosen: Selected | None) -> None:
        """Selects this, or nothing."""
        if chosen is not self.selected:
            self.selected = chosen
            self.refresh()

    def show(self) -> None:
        """Brings the screen up to date with the blocks, painting only the rows that differ."""
        if self._is_ready():
            self._refresh_rows(self._changed_rows())

    def show_now(self) -> None:
        """Like `show()`, without waiting for the screen's next tick."""
        if not self._is_ready():
            return
        changed = self._changed_rows()
        screen, styles = self.screen, self._painted[1]
        assert styles is not None, "the frame was made with them"
        if isinstance(screen, FrugalScreen) and screen.paint_rows(self, self._strips(changed, styles)):
            return
        self._refresh_rows(changed)
        internals.paint_now(self)

    def _changed_rows(self) -> list[int]:
        """Brings the frame up to date; the rows of the window that it changes."""
        old = self._frame.rows
        self._update_frame()
        new = self._frame.rows
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

    def _move(self, step: Callable[[], None]) -> None:
        if self._is_ready():
            self._configure()
            step()
            self.show()

    def _is_ready(self) -> bool:
        return self.is_attached and self.size.width > 0 and self.size.height > 0

    # Frame

    def _configure(self) -> None:
        size, styles = self.size, self._current_styles()
        self._painted = (size, styles)
        self.model.configure(max(1, size.width - self.scrollbar_size_vertical), size.height, styles)

    def _update_frame(self) -> None:
        self._configure()
        self._frame = frame = self.model.frame()
        self.set_reactive(Widget.virtual_size, Size(self._painted[0].width, frame.total))
        self.set_reactive(Widget.scroll_y, float(frame.offset))
        self.set_reactive(Widget.scroll_target_y, float(frame.offset))
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
        # App.get_css_variables() makes a new dict for every theme: its identity tells a change.
        variables = self.app.theme_variables
        styles = self._transcript_styles
        if styles is None or self._variables is not variables or self._background != background:
            self._variables, self._background = variables, background
            new = TranscriptStyles.from_theme(variables, background)
            if new != styles:
                self._transcript_styles = styles = new
        assert styles is not None
        return styles

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Finished strips, without the styles cache: there is no border, padding or tint here."""
        if not self._is_ready():
            return super().render_lines(crop)
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
        """Rows of the window as painted beside the scroll bar."""
        width = self._text_width
        strips = [(y, self._strip(y, width, styles)) for y in rows]
        for line_filter in self.get_line_filters():
            strips = [(y, strip.apply_filter(line_filter, self._background)) for y, strip in strips]
        return strips

    def _strip(self, y: int, width: int, styles: TranscriptStyles) -> Strip:
        if y >= len(self._frame.rows):
            return Strip.blank(width, styles.base)
        row = self._frame.rows[y]
        segments = self.marked(row, self._frame.places[y][0], styles)
        if segments is not row.segments:
            return _finished(segments, width, styles.base)
        if row.final is None:
            row.final = _finished(row.segments, width, styles.base)
        return row.final

    def marked(self, row: Row, block: int, styles: TranscriptStyles) -> list[Segment]:
        """The row's segments with what is selected marked."""
        if self.selected is None:
            return row.segments
        side = selecting.side_of(self.model, self.selected)
        return selecting.highlighted(row, block, self.selected, side, styles.selection)

    def render_line(self, y: int) -> Strip:
        styles = self._current_styles()
        return self._strip(y, self._text_width, styles).adjust_cell_length(self.size.width, styles.base)

    # Events

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Someone scrolled: a little way by exact rows, a long way to the estimated place. Both ends are
        reached though the sum of rows be a guess."""
        if not self._is_ready():
            return
        row = round(new_value)
        delta = row - self._frame.offset
        is_inside = 0 < row < self._frame.total - self.size.height
        self._configure()
        if not delta or (is_inside and abs(delta) <= 2 * self.size.height):
            self.model.scroll(delta)
        else:
            self.model.jump(row)
        self.show()
        self._move_scrollbar()

    def on_resize(self, event: events.Resize) -> None:
        self.show()


def _finished(segments: list[Segment], width: int, base: Style) -> Strip:
    used = sum(segment.cell_length for segment in segments)
    if used > width:
        return Strip(segments).adjust_cell_length(width).apply_style(base)
    # As the above, but a single strip is made: each comes with half a dozen caches.
    styled = [Segment(text, base + style if style is not None else base) for text, style, _ in segments]
    if used < width:
        styled.append(Segment(" " * (width - used), base))
    return Strip(styled, width)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as ranges without gaps, both ends included."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
