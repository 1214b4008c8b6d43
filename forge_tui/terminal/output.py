"""The output stage: writes only the difference to the last frame, and scrolls rows that have moved.

Textual's compositor paints every row of a view that scrolls. Here each frame is compared with the last one:
rows that moved are scrolled by the terminal (a scroll region and line feeds or reverse indexes, which every
terminal since the VT100 has); of the rest only the characters that differ are written. While the terminal
accepts nothing, as on a slow connection, frames are skipped, and the current state is painted afterwards.

Private parts of Textual 8.2.8 that this file relies on, all of them checked by `tests/tui/test_output.py`:
`App._display` (overridden), `_batch_count`, `_running`, `_closed`, `_driver`, `_sync_available`,
`_previous_cursor_position`, `_handle_exception`, `_filters`; `LinuxDriver._writer_thread` (a new one per
start of application mode); `_compositor.ChopsUpdate` and `LayoutUpdate` with their fields; `Screen._size`;
Rich's `Console._color_system`. Updates of any other kind go to Textual.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from rich.color import ColorSystem
from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.filter import Monochrome, NoColor
from textual.geometry import Offset
from textual.screen import Screen

from forge_tui.terminal.caret import CaretTextArea
from forge_tui.terminal.colours import Depth, Palette, depth_of_theme, detect
from forge_tui.terminal.cursor_shape import HIDE, SHOW, CursorShape, cursor_code
from forge_tui.terminal.driver import ForgeDriver
from forge_tui.terminal.screen_model import Piece, ScreenModel, Sgr, palette_codes, true_colour

if TYPE_CHECKING:
    from textual.driver import Driver


_BEGIN = "\x1b[?2026h"
_END = "\x1b[?2026l"
_SYSTEMS = {
    Depth.SIXTEEN: ColorSystem.STANDARD,
    Depth.EIGHT_BIT: ColorSystem.EIGHT_BIT,
    Depth.TRUE: ColorSystem.TRUECOLOR,
}
"""For the output that Textual writes itself."""


class RowDiffOutput(App[None]):
    """A mixin for apps; precedes `App` in the bases. FORGE_OUTPUT=textual disables it."""

    row_diff_enabled: bool = os.environ.get("FORGE_OUTPUT", "") != "textual"

    _model: ScreenModel | None = None
    _model_key: object = None
    _keys_released = False
    _has_skipped = False
    """Whether frames have been skipped because the terminal was behind; the last one is always written."""

    _cursor_shown: CursorShape | None = None
    """The shape of the terminal's cursor in the last frame; None if it is unknown."""

    _palette_key: object = None
    _sgr: Sgr = staticmethod(true_colour)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.depth = detect(os.environ)
        self.console._color_system = _SYSTEMS.get(self.depth)
        self.no_color = self.depth is Depth.NONE  # Textual counts an empty NO_COLOR too
        if self.row_diff_enabled:
            # Textual's filters process every row of every frame; here each style is looked up once.
            self._filters = [one for one in self._filters if not isinstance(one, Monochrome | NoColor)]

    def get_driver_class(self) -> type[Driver]:
        return ForgeDriver

    def forget_screen(self) -> None:
        """Write the next frame in full: something else may have drawn on the terminal."""
        self._model = None

    def on_resize(self, event: events.Resize) -> None:
        # Terminals reflow or truncate what they show.
        self.forget_screen()
        if self.screen._size == event.size:
            # Resized twice before a layout: Textual sees no change and would paint nothing.
            self.call_later(self.screen.refresh)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        driver = self._driver
        if not self._keys_released and self.focused is not None:
            self._keys_released = True
            if isinstance(driver, ForgeDriver):
                driver.release_keys()
        if not (isinstance(renderable, ChopsUpdate | LayoutUpdate) and self._writes(driver)):
            if renderable is not None:
                self._model = None
            super()._display(screen, renderable)
            return
        try:
            self._write_frame(driver, _pieces(renderable))
        except Exception as error:  # as in App._display: a bug while rendering ends the app
            self._model = None
            self._handle_exception(error)
        finally:
            self.post_display_hook()

    def paint_pieces(self, pieces: Sequence[Piece]) -> bool:
        """Write pieces of the screen to the terminal; return False if Textual must do it."""
        driver = self._driver
        if not self._writes(driver):
            return False
        self._write_frame(driver, pieces)
        return True

    def _writes(self, driver: Driver | None) -> TypeGuard[Driver]:
        """Return whether frames are written here, and not by Textual."""
        return (
            driver is not None
            and self.row_diff_enabled
            and not self._batch_count
            and self._running
            and not self._closed
            and not self.is_headless
            and not driver.is_inline
        )

    def _write_frame(self, driver: Driver, pieces: Sequence[Piece]) -> None:
        if self._has_skipped or (isinstance(driver, ForgeDriver) and driver.is_behind(self._catch_up)):
            self._has_skipped = True
            return
        width, height = self.size
        # A new writer thread means that another program had the terminal: what it shows is unknown.
        # Two themes may have a colour in common that they write differently.
        depth = self.theme_depth
        key = (width, height, id(getattr(driver, "_writer_thread", None)), depth)
        if self._model is None or self._model_key != key:
            self._model = ScreenModel(width, height)
            self._model_key = key
            self._cursor_shown = None  # unknown
        written = self._model.update(pieces, self.style_codes())
        shape, cursor = self._cursor()
        if not written and cursor == self._previous_cursor_position and shape == self._cursor_shown:
            return
        looks = "" if shape == self._cursor_shown else cursor_code(shape)
        if not self._sync_available and shape is not CursorShape.HIDDEN and written:
            # It would be seen where the frame is being drawn.
            written, looks = HIDE + written, looks or SHOW
        self._previous_cursor_position, self._cursor_shown = cursor, shape
        frame = f"{written}\x1b[{cursor.y + 1};{cursor.x + 1}H{looks}"
        driver.write(f"{_BEGIN}{frame}{_END}" if self._sync_available else frame)
        driver.flush()

    @property
    def has_terminal_cursor(self) -> bool:
        """Whether the terminal's own cursor is the caret of the composer, so that none is drawn."""
        return self.row_diff_enabled and not self.is_headless

    def _cursor(self) -> tuple[CursorShape, Offset]:
        """Return the looks of the terminal's cursor and its cell."""
        edited = self.focused
        if isinstance(edited, CaretTextArea):
            return edited.caret_shape, self.screen.outer_size.clamp_offset(edited.caret())
        return CursorShape.HIDDEN, self.screen.outer_size.clamp_offset(self.cursor_position)

    def _catch_up(self) -> None:
        """Paint what was skipped, once the terminal has accepted everything."""
        self._has_skipped = False
        if self._running and not self._closed:
            self.screen.refresh()

    def style_codes(self) -> Sgr:
        """Return how styles are written: in their own colours, or in a palette of fewer."""
        if self._palette_key is not self.theme_variables:
            # App.get_css_variables() returns a new dict for every theme, so comparing identities is enough.
            self._palette_key = self.theme_variables
            depth = self.theme_depth
            is_true = depth is Depth.TRUE
            self._sgr = true_colour if is_true else palette_codes(Palette(depth, self.theme_variables))
        return self._sgr

    @property
    def theme_depth(self) -> Depth:
        """The number of colours in which the active theme is written."""
        return depth_of_theme(self.depth, self.theme_variables)


def depth_of(app: App[Any]) -> Depth:
    """Return the number of colours that an app's theme is written in."""
    return app.theme_depth if isinstance(app, RowDiffOutput) else Depth.TRUE


def _pieces(update: ChopsUpdate | LayoutUpdate) -> list[Piece]:
    """Return the content of an update as whole strips with their positions."""
    pieces: list[Piece] = []
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                pieces.append((y, x, strip))
                x += strip.cell_length
        return pieces
    for y, x1, x2 in update.spans:
        for end, (x, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            # Only chops that the span touches: of others the compositor may not have drawn all layers.
            if chop is not None and x < x2 and end > x1:
                pieces.append((y, x, chop))
    return pieces
