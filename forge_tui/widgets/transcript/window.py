"""The scroll view that paints a `Layout`: only rows that changed are painted, nothing is ever laid out.

Textual's own ways are gone round where they cost per line of history: `virtual_size` and the scroll offset
are set without their watchers (each would reflow the screen), and `render_lines` hands out finished strips
instead of passing each row through the styles cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import TRANSPARENT
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from forge_tui.widgets.transcript import selection as selecting
from forge_tui.widgets.transcript.layout import Frame, Layout
from forge_tui.widgets.transcript.rows import NO_LINE, Row
from forge_tui.widgets.transcript.styles import TranscriptStyles

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
    ALLOW_SELECT: ClassVar[bool] = True
    can_focus = False

    new_below: var[bool] = var(False)
    """Whether something was added below what shows, not seen yet."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.model = Layout()
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
        self._move(lambda: self.model.scroll(-max(1, self.size.height - 2)))

    def page_down(self) -> None:
        self._move(lambda: self.model.scroll(max(1, self.size.height - 2)))

    def selected_text(self) -> str:
        """What is selected here, as logical lines; "" when nothing is."""
        chosen = self.text_selection
        return "" if chosen is None else selecting.selected_text(self.model, chosen)

    def show(self) -> None:
        """Brings the screen up to date with the blocks, painting only the rows that differ."""
        if not self._is_ready():
            return
        old = self._frame.rows
        self._update_frame()
        new = self._frame.rows
        changed = [
            y
            for y in range(max(len(old), len(new)))
            if y >= len(old) or y >= len(new) or new[y] is not old[y]
        ]
        for first, last in _runs(changed):
            self.refresh(Region(0, first, self.size.width, last - first + 1))
        if self.model.follows_end:
            self.new_below = False

    def paint_now(self) -> None:
        """Paints what `show()` left to be painted, without waiting for the screen's next tick of 1/60 s.

        Relies on Textual 8.2.8's `Screen._on_timer_update` (which that tick calls) with `_dirty_widgets` and
        `_layout_required`. Whatever needs more than a repaint is left to the tick.
        """
        screen = self.screen
        if self._repaint_required and screen is self.app.screen and not screen._layout_required:
            screen._dirty_widgets.add(self)
            self._repaint_required = False
            screen._on_timer_update()

    def _move(self, step: Callable[[], None]) -> None:
        if self._is_ready():
            self._configure()
            step()
            self.show()

    def _is_ready(self) -> bool:
        return self.is_attached and self.size.width > 0 and self.size.height > 0

    # Frame

    def _configure(self) -> None:
        self._painted = (self.size, self._current_styles())
        width = max(1, self.size.width - self.scrollbar_size_vertical)
        self.model.configure(width, self.size.height, self._current_styles())

    def _update_frame(self) -> None:
        self._configure()
        self._frame = frame = self.model.frame()
        self.set_reactive(Widget.virtual_size, Size(self.size.width, frame.total))
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
        chosen = self.text_selection
        width = self.size.width
        strips = [self._strip(y, width, styles, chosen) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self._background) for strip in strips]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _strip(self, y: int, width: int, styles: TranscriptStyles, chosen: Selection | None) -> Strip:
        if y >= len(self._frame.rows):
            return Strip.blank(width, styles.base)
        row = self._frame.rows[y]
        if chosen is not None:
            segments = selecting.highlighted(row, self._frame.places[y][0], chosen, styles.selection)
            if segments is not row.segments:
                return _finished(segments, width, styles.base)
        if row.final is None:
            row.final = _finished(row.segments, width, styles.base)
        return row.final

    def render_line(self, y: int) -> Strip:
        """A row with text offsets in its segments' meta, for `Compositor.get_widget_and_offset_at`, which
        alone asks for single rows. In what is painted they would make every segment's style unique."""
        if not 0 <= y < len(self._frame.places):
            return selecting.past_the_end(self.model)
        block, number = self._frame.places[y]
        return selecting.with_offsets(self.model.rendered(block), block, number)

    # Events

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Someone scrolled: a little way by exact rows, a long way to the estimated place."""
        if not self._is_ready():
            return
        delta = round(new_value) - self._frame.offset
        self._configure()
        if abs(delta) <= 2 * self.size.height:
            self.model.scroll(delta)
        else:
            self.model.jump(round(new_value))
        self.show()
        self._move_scrollbar()

    def on_resize(self, event: events.Resize) -> None:
        self.show()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selecting.selected_text(self.model, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    async def _on_click(self, event: events.Click) -> None:
        """One click folds what folds, two take a word, three a paragraph; Textual's two would take it all."""
        event.prevent_default()
        if not 0 <= event.y < len(self._frame.places):
            return
        block, number = self._frame.places[event.y]
        row = self._frame.rows[event.y]
        if event.chain == 1:
            if self.text_selection is None:
                self._toggle(block, number)
        elif row.line != NO_LINE:
            at = self._character_at(row, event.x)
            word = selecting.word_at(self.model, block, row.line, at) if event.chain == 2 else None
            chosen = selecting.line_at(self.model, block, row.line) if event.chain == 3 else word
            if chosen is not None:
                self.screen.selections = {self: chosen}

    def _character_at(self, row: Row, x: int) -> int:
        strip = Strip([Segment(segment.text) for segment in row.segments])
        return row.start + len(strip.crop(0, x).text) - row.skip

    def _toggle(self, block: int, number: int) -> None:
        self.model.stay()
        if self.model.blocks[block].toggle(number):
            self.block_toggled(block)
        self.model.settle()
        self.show()

    def block_toggled(self, index: int) -> None:
        """Called when block `index` was folded or unfolded."""


def _finished(segments: list[Segment], width: int, base: Style) -> Strip:
    return Strip(segments).adjust_cell_length(width).apply_style(base)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as ranges without gaps, both ends included."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
